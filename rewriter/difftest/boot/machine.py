"""One boot of a kernel in the emulator, bounded in time and in what it prints."""

from __future__ import annotations

import enum
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rewriter.core.errors import BadUsage
from rewriter.core.target.boots import Boots
from rewriter.difftest.boot.kernel import Kernel
from rewriter.difftest.boot.rules import PANIC, POWERED_OFF
from rewriter.difftest.executed import Plugin
from rewriter.elf.headers import printable
from rewriter.verify.trials.engines.qemu import EmulatorMissing

# Time is counted in instructions, 4 ns each, and jumps ahead where the processor only waits: two
# boots of one kernel then execute the same instructions, and print the same, on any host.
_CLOCK = ("-icount", "shift=2,sleep=off", "-rtc", "base=2001-01-01T00:00:00,clock=vm")
_HOST = ("-display", "none", "-serial", "stdio", "-monitor", "none", "-no-reboot")
_MOST = 16 << 20  # bytes of console: a kernel may print without end
_STEP = 0.05  # seconds between two looks at a running emulator


class Ending(enum.Enum):
    """How a boot ended."""

    OFF = "powers off"
    PANIC = "panics"
    SILENT = "stops without powering off"
    LIMIT = "is still running"
    FLOOD = "prints without end"


class EmulatorRefuses(BadUsage):
    """The emulator does not start with these options."""


@dataclass(frozen=True, slots=True)
class Setup:
    """How to boot.

    `cpu` and `machine` are the emulator's names, `memory` is in MiB, `parameters` are the kernel's,
    `initrd` is the content of the initial file system, and `firmware` that of a firmware that
    stands for the emulator's own.
    """

    machine: str
    memory: int
    parameters: str
    initrd: bytes
    cpu: str | None = None
    firmware: bytes | None = None


@dataclass(frozen=True)
class Boot:
    """What a boot left behind: `seconds` of the host, instructions by owner if counted."""

    kernel: str
    console: str
    ending: Ending
    seconds: float
    executed: Mapping[str, int] | None = None

    @property
    def last(self) -> str:
        """The line that says how it ended: the panic's, or the last one."""
        lines = [line for line in self.console.splitlines() if line.strip()]
        return printable(next((line for line in lines if PANIC in line), (lines or [""])[-1]))

    @property
    def account(self) -> str:
        """How it ended, when, and with which line."""
        last = f"its last line: {self.last}" if self.last else "it printed nothing"
        return f"{self.ending.value} after {self.seconds:.1f} s; {last}"


def boot(
    kernel: Kernel, boots: Boots, setup: Setup, plugin: Plugin | None, limit: float, folder: Path
) -> Boot:
    """Boots a kernel, for at most `limit` seconds; `folder` is for files of this boot."""
    owners = kernel.owners(boots)
    files = _files(kernel, setup, folder)
    command = (*_command(boots, setup), *files, *(plugin.options(owners) if plugin else ()))
    started = time.monotonic()
    console, status, ending = _run(command, limit, folder)
    seconds = time.monotonic() - started
    text = console.decode("utf-8", "backslashreplace")
    if ending is None and status:
        why = (folder / "errors").read_text(encoding="utf-8", errors="replace").split("\n")[0]
        raise EmulatorRefuses(why or f"{boots.emulator} ended with status {status}")
    counted = plugin.executed(owners) if plugin and ending is None else None
    return Boot(kernel.name, text, ending or _ending(text), seconds, counted)


def _files(kernel: Kernel, setup: Setup, folder: Path) -> tuple[str, ...]:
    """What the emulator loads, written to the folder, as its options."""
    contents = {"kernel": kernel.image.data, "initrd": setup.initrd, "bios": setup.firmware}
    options: list[str] = []
    for name, content in contents.items():
        if content is not None:
            (folder / name).write_bytes(content)
            options += (f"-{name}", str(folder / name))
    return tuple(options)


def _command(boots: Boots, setup: Setup) -> tuple[str, ...]:
    program = shutil.which(boots.emulator)
    if program is None:
        raise EmulatorMissing(
            f"{boots.emulator} is not installed", hint=f"apt-get install {boots.package}"
        )
    machine = ("-M", setup.machine, "-m", str(setup.memory), *boots.options)
    cpu = ("-cpu", setup.cpu) if setup.cpu else ()
    return (program, *machine, *cpu, *_HOST, *_CLOCK, "-append", setup.parameters)


def _run(command: tuple[str, ...], limit: float, folder: Path) -> tuple[bytes, int, Ending | None]:
    """Console, the emulator's status, and what stopped it from outside, if anything did."""
    console = folder / "console"
    until = time.monotonic() + limit
    stopped = None
    with console.open("wb") as stdout, (folder / "errors").open("wb") as stderr:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        try:
            while stopped is None and process.poll() is None:
                time.sleep(_STEP)
                stopped = _overrun(console, until)
        finally:
            process.kill()
            process.wait()
    return console.read_bytes()[:_MOST], process.returncode, stopped


def _overrun(console: Path, until: float) -> Ending | None:
    if console.stat().st_size > _MOST:
        return Ending.FLOOD
    return Ending.LIMIT if time.monotonic() > until else None


def _ending(console: str) -> Ending:
    """How a machine that stopped by itself did so."""
    if PANIC in console:
        return Ending.PANIC
    return Ending.OFF if POWERED_OFF in console.splitlines() else Ending.SILENT
