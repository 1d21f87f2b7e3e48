"""What a kernel executes for system calls while it boots: recorded, as `traced.time` takes it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fixtures import initramfs
from fixtures.programs import plugin_path
from fixtures.trace import Recording, parse
from rewriter.difftest.boot.kernel import KERNEL, kernel
from rewriter.difftest.boot.machine import Ending, Setup, boot
from rewriter.difftest.executed import Observer
from targets.alpha.boots import BOOTS

ENTRY = "entSys"
"""Where Linux for Alpha begins a system call."""

_LIMIT = 900.0  # seconds


def system_calls(path: Path, every: int) -> Recording:
    """Every so many-th system call of a boot with the test initramfs, from entry to return.

    Interrupts that come in between, and what the call's process waits for, are in it.
    """
    booted = kernel(path.read_bytes(), path.name)
    starts = {symbol.name: booted.image.code_address(symbol) for symbol in booted.image.symbols}
    lowest = min(start for start, owner in booted.owners(BOOTS) if owner == KERNEL)
    setup = Setup(
        BOOTS.machine, BOOTS.memory, BOOTS.parameters, initramfs.build().read_bytes(), "ev67"
    )
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "trace"
        library = plugin_path("trace")
        told = (
            f"{library},out={out},base={lowest:#x},user_end={BOOTS.user_end:#x}"
            f",enter={starts[ENTRY]:#x},every={every}"
        )
        done = boot(booted, BOOTS, setup, Observer(library, told), _LIMIT, Path(name))
        if done.ending is not Ending.OFF:
            raise RuntimeError(f"{path.name} {done.account}")
        return parse(out.read_bytes())
