"""Alpha kernels under `qemu-system-alpha`: a Clipper (DP264), from SRM, console on COM1."""

from __future__ import annotations

from rewriter.core.target.boots import Boots, Place, Volatile
from rewriter.core.target.emulation import Emulated

# A machine check's registers: eight bytes each, and what runs when it happens.
_HEX = r"([0-9a-f]{16})"
_REGISTER = rf"\w{{2,3}} ?= {_HEX}"

VOLATILE = (
    Volatile(
        "board cache",
        r"(\d+)K Bcache detected; load hit latency (\d+) cycles, load miss latency (\d+) cycles",
        "guessed from the time of loads, which the emulator does not model",
        Place.MAYBE,
    ),
    Volatile(
        "machine check",
        r"TSUNAMI machine check: vector=0x0 pc=0x([0-9a-f]+) code=0x0",
        "the emulated machine has no display; where the kernel looks for it depends on its layout",
    ),
    Volatile(
        "program counters",
        rf"pc = \[<{_HEX}>\]  ra = \[<{_HEX}>\]  ps = 0000    Not tainted",
        "addresses of code",
    ),
    Volatile(
        "place in a function",
        r"(?:pc|ra) is at \w+\+0x([0-9a-f]+)/0x([0-9a-f]+)",
        "offsets in the function and its size",
    ),
    Volatile(
        "registers",
        rf"{_REGISTER}  {_REGISTER}  {_REGISTER}|gp = {_HEX}  sp = \(____ptrval____\)",
        "scratch registers hold what the code left in them",
    ),
)

_CPUS = {name: f"{name}-alpha-cpu" for name in ("ev4", "ev5", "ev56", "pca56", "ev6", "ev67")}

BOOTS = Boots(
    emulator="qemu-system-alpha",
    package="qemu-system-misc",
    machine="clipper",
    # Debian has no firmware for a display, and none is looked at; no card needs no boot ROM.
    options=("-vga", "none", "-net", "none"),
    parameters="console=ttyS0 panic=-1",
    cpus=_CPUS,
    # The firmware, palcode-clipper, accesses bytes and uses CTTZ: other CPUs stop in it.
    packaged=frozenset({"ev67"}),
    memory=256,
    user_end=1 << 42,  # TASK_SIZE
    volatile=VOLATILE,
)

EMULATED = Emulated(
    emulator="qemu-alpha",
    package="qemu-user",
    cpus=_CPUS,
    cpu="ev67",
    sysroot="/usr/alpha-linux-gnu",
    libraries="libc6.1-alpha-cross",
)
"""Programs of Linux; static ones crash in some versions of the emulator."""
