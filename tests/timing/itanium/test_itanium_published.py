"""The model of the Itanium 2 against a time that somebody measured on one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures import inputs
from passes.streams.bundled_walk import Passed
from rewriter.core.isa.instruction import Flow
from rewriter.elf import image
from rewriter.timing.bundled.trace import trace
from targets.ia64.cpus import CPUS
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.registers import PR

MEASURED = 97  # cycles: Chapman and Heiser (2004), Linux's fast path of gettimeofday
ERROR = 0.05

# The path as it goes when the clock is the processor's own and needs no correction: the predicates
# that are false, and where control leaves the straight way.
_OFF = {PR + n for n in (6, 7, 9, 13)}


def _path(code: bytes, start: int) -> Iterator[Passed]:
    """The slots as control passes them; each access finds its line in the first-level cache."""
    for slot in bundles.straight(code, start):
        insn = slot.insn
        predicate = insn.operand("qp") if insn.has("qp") else PR
        accesses = insn.name.startswith(("ld", "st", "cmpxchg"))
        access = insn.operand("r3") << 6 if accesses else None
        behind = slot.address // BUNDLE * BUNDLE + BUNDLE
        target = behind if insn.op.flow is Flow.CALL else None
        yield Passed(slot.address, insn, slot.stop, predicate not in _OFF, access, 8, target)


def test_gettimeofday() -> None:
    """Of another version of the kernel, so not the same code to the letter."""
    kernel = image.load(inputs.require("ia64-vmlinux"))
    (start,) = (s.st_value for s in kernel.symbols if s.name == "fsys_gettimeofday")
    found = kernel.read(start, 0x230)
    cycles = trace(CPUS["itanium2"], list(_path(found, start))).cycles
    assert cycles == pytest.approx(MEASURED, rel=ERROR)
