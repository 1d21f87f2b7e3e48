"""What a kernel executes for system calls while it boots: recorded, as `traced.time` takes it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fixtures import initramfs
from fixtures.programs import plugin_path
from fixtures.trace import INSIDE, Recording, parse
from rewriter.difftest.boot.kernel import KERNEL, Kernel, kernel
from rewriter.difftest.boot.machine import Ending, Setup, boot
from rewriter.difftest.executed import Observer
from rewriter.elf.image import Image
from targets.alpha.boots import BOOTS

ENTRY = "entSys"
"""Where Linux for Alpha begins a system call."""
OTHERS = ("entInt", "do_switch_stack")
"""Where it begins an interrupt, and where another process goes on."""

_LIMIT = 900.0  # seconds


def system_calls(path: Path, every: int) -> Recording:
    """Every so many-th system call of a boot with the test initramfs, from entry to return.

    Interrupts that come in between, and what the call's process waits for, are in it.
    """
    booted = kernel(path.read_bytes(), path.name)
    (entry,) = _addresses(booted.image, (ENTRY,))
    return _recorded(booted, initramfs.build(), f"enter={entry:#x},every={every}")


def system_time(path: Path, initrd: Path, every: int, length: int, said: str) -> Recording:
    """What runs in a kernel between programs, from one that is left to one that goes on: system
    calls, page faults and interrupts, `length` of each `every`, those next to one another.

    The console must have the line `said`.
    """
    booted = kernel(path.read_bytes(), path.name)
    return _recorded(booted, initrd, f"every={every},length={length}", said)


def _recorded(booted: Kernel, initrd: Path, which: str, said: str = "") -> Recording:
    lowest = min(start for start, owner in booted.owners(BOOTS) if owner == KERNEL)
    setup = Setup(BOOTS.machine, BOOTS.memory, BOOTS.parameters, initrd.read_bytes(), "ev67")
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "trace"
        library = plugin_path("trace")
        told = f"{library},out={out},base={lowest:#x},user_end={BOOTS.user_end:#x},{which}"
        done = boot(booted, BOOTS, setup, Observer(library, told), _LIMIT, Path(name))
        if done.ending is not Ending.OFF:
            raise RuntimeError(f"{booted.name} {done.account}")
        if said not in ("", *done.console.splitlines()):
            raise RuntimeError(f"{booted.name} did not print: {said}")
        return parse(out.read_bytes())


def undisturbed(recordings: Sequence[Recording], image: Image) -> list[Recording]:
    """Of recordings of the same calls, those that nothing else came into in any of them.

    How many interrupts fall into a call depends on when it is made; two kernels do not make it at
    the same time.
    """
    (entry,) = _addresses(image, (ENTRY,))
    others = np.array(_addresses(image, OTHERS), np.uint64)
    others -= np.uint64(recordings[0].base)
    every = [_calls(one, entry) for one in recordings]
    same = [
        calls
        for calls in zip(*every, strict=False)
        if not any(_meets(call, others) for call in calls)
    ]
    return [
        replace(one, records=np.concatenate(calls))
        for one, calls in zip(recordings, zip(*same, strict=True), strict=True)
    ]


def _calls(one: Recording, entry: int) -> list[NDArray[np.void]]:
    """The records of each call."""
    at = one.records["place"] + one.base == entry
    return np.split(one.records, np.flatnonzero(at & (one.records["kind"] == INSIDE)))[1:]


def _meets(call: NDArray[np.void], places: NDArray[np.uint64]) -> bool:
    """Whether an instruction at one of the places is executed."""
    return bool(np.isin(call["place"][call["kind"] == INSIDE], places).any())


def _addresses(image: Image, names: Sequence[str]) -> list[int]:
    found = {symbol.name: image.code_address(symbol) for symbol in image.symbols}
    return [found[name] for name in names]
