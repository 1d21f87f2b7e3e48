"""A kernel booted under one of our plugins of the emulator: its end, and what the plugin wrote."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import targets
from fixtures.programs import plugin_path
from rewriter.core.target.boots import Boots
from rewriter.difftest.boot.kernel import Kernel
from rewriter.difftest.boot.machine import Boot, Ending, Setup, boot
from rewriter.difftest.executed import Observer
from rewriter.elf.image import Image

_LIMIT = 1800.0  # seconds


def boots_of(image: Image) -> Boots:
    """How a kernel's machine is emulated."""
    boots = targets.of(image).boots
    assert boots is not None, image.name
    return boots


def low_and_high(image: Image) -> tuple[int, int]:
    """Where a kernel's code begins and ends."""
    ranges = image.executable_ranges()
    return min(start for start, _ in ranges), max(end for _, end in ranges)


def observed(
    one: Kernel, cpu: str, initrd: Path, plugin: str, wishes: Mapping[str, str | int]
) -> tuple[Boot, bytes]:
    """One boot on a CPU with an initial file system; RuntimeError if it does not power off.

    `wishes` are arguments of the plugin besides the file that it writes.
    """
    boots = boots_of(one.image)
    machine = boots.machines.get(cpu, boots.machine)
    setup = Setup(machine, boots.memory, boots.parameters, initrd.read_bytes(), boots.cpus[cpu])
    library = plugin_path(plugin)
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "observed"
        told = "".join(f",{key}={value}" for key, value in wishes.items())
        seen = Observer(library, f"{library},out={out}{told}")
        done = boot(one, boots, setup, seen, _LIMIT, Path(name))
        if done.ending is not Ending.OFF:
            raise RuntimeError(f"{one.name} {done.account}")
        return done, out.read_bytes()
