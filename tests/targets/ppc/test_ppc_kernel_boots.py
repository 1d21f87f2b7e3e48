"""Linux for PowerPC, booted: it does its work, and writes over no code but what is known.

Which stores go into text says a plugin of the emulator (`fixtures/text_stores.c`), for every
machine that a kernel runs on; the analysis reads the file alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import targets
from fixtures import inputs, text_stores
from fixtures.text_stores import Seen
from rewriter.analysis.program import Program, analyse
from rewriter.difftest.boot.kernel import kernel
from rewriter.difftest.boot.machine import Boot, Ending
from rewriter.elf import image
from tests.support.depth import DEEP

pytestmark = pytest.mark.long

MACHINES = (
    ("ppc32-vmlinux", "750"),
    ("ppc32-vmlinux", "7450"),
    ("ppc64el-vmlinux", "power8"),
    ("ppc64el-vmlinux", "power9"),
    ("ppc64el-vmlinux", "power10"),
)


def unknown(program: Program, seen: Seen) -> list[int]:
    """Where something was stored into code that the analysis takes for what it is in the file."""
    listing, held = program.listing, program.held_addresses
    places = (at for at in seen.stored if listing.has(at) and at not in held)
    functions = ((at, program.function_at(at)) for at in places)
    return [at for at, f in functions if f is not None and not program.not_understood(f)]


def _works(boot: Boot) -> bool:
    return boot.ending is Ending.OFF and "init: 0 wrong" in boot.console.splitlines()


@pytest.mark.parametrize(("name", "cpu"), MACHINES if DEEP else MACHINES[:1])
def test_a_kernel_boots(name: str, cpu: str, tmp_path: Path) -> None:
    path = inputs.require(name)
    booted = kernel(path.read_bytes(), name)
    boot, _ = inputs.or_skip(lambda _: text_stores.boot(booted, cpu, tmp_path), name)
    assert _works(boot), boot.account


@pytest.mark.skipif(not DEEP, reason="a boot of some minutes and an analysis for each machine")
@pytest.mark.parametrize("name", sorted({name for name, _ in MACHINES}))
def test_no_code_is_written_over_that_is_not_known(name: str, tmp_path: Path) -> None:
    found = image.load(inputs.require(name))
    target = targets.of(found).sequential
    assert target is not None
    program = analyse(found, target)
    for cpu in (cpu for one, cpu in MACHINES if one == name):
        _, seen = text_stores.boot(kernel(found.data, name), cpu, tmp_path)
        assert len(seen.stored) > 100
        assert not unknown(program, seen), cpu
    free = next(f for f in program.functions if not program.not_understood(f))
    assert unknown(program, Seen({free.start: 0})) == [free.start]
