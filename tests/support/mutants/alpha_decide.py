"""What explains a change to Alpha code besides what explains one to any plain code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import z3

from rewriter.core.isa.instruction import Insn
from targets.alpha.registers import SP, ZERO
from tests.support.mutants.alpha_run import run
from tests.support.mutants.alpha_ways import Ways
from tests.support.mutants.plain_base import PlainBase
from tests.support.mutants.plain_copies import Copies
from tests.support.mutants.plain_decide import Access, Changed, PlainDecider
from tests.support.mutants.plain_run import Leaving, Run
from tests.support.mutants.plain_ways import without_hint

_EFFORT = 3_000_000
_KEPT = frozenset((*range(9, 16), SP))


def moved(insn: Insn) -> tuple[int, int] | None:
    """(source, result) of a move."""
    if insn.name != "bis" or insn.op.format.name != "operate":
        return None
    a, b, result = insn.operands
    return (b if a == ZERO else a, result) if a == b or ZERO in (a, b) else None


class Decider(PlainDecider):
    """Decides for one base."""

    ways: Ways

    def __init__(self, base: PlainBase) -> None:
        ways = Ways(base)
        super().__init__(base, ways, Copies(ways, moved, _KEPT), _EFFORT)

    def run(self, first: int, other: Mapping[int, Insn], last: int) -> Run | None:
        """Up to what transfers control for good."""
        return run(self.ways, first, other, last)

    def is_dead(self, leaving: Leaving, register: int) -> bool:
        """By the ways from where it goes to."""
        return leaving.to is not None and not self.ways.may_read(leaving.to, register)

    def splits(self, address: Any) -> bool:
        """On the stack in kernels, too."""
        distance = z3.simplify(address - z3.BitVec(f"r{SP}", 64))
        return super().splits(address) or bool(z3.is_bv_value(distance))

    def granted(self, accesses: Sequence[Access]) -> list[Any]:
        """That they are aligned."""
        return [address & size - 1 == 0 for _, size, address in accesses if size > 1]

    def each_alone(self, known: Changed) -> str:
        """A hint besides."""
        if all(without_hint(old) == without_hint(new) for _, old, new in known):
            return "hint of a jump"
        return super().each_alone(known)
