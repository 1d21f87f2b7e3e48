"""What explains a change to Alpha code besides what explains one to any plain code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewriter.core.isa.instruction import Insn
from tests.support.mutants.alpha_copies import Copies, copied
from tests.support.mutants.alpha_run import run
from tests.support.mutants.alpha_ways import Ways
from tests.support.mutants.plain_base import PlainBase
from tests.support.mutants.plain_decide import Access, Changed, PlainDecider
from tests.support.mutants.plain_run import Leaving, Run
from tests.support.mutants.plain_ways import without_hint

_EFFORT = 3_000_000


class Decider(PlainDecider):
    """Decides for one base."""

    ways: Ways

    def __init__(self, base: PlainBase) -> None:
        super().__init__(base, Ways(base), _EFFORT)
        self.copies = Copies(self.ways)

    def run(self, first: int, other: Mapping[int, Insn], last: int) -> Run | None:
        """Up to what transfers control for good."""
        return run(self.ways, first, other, last)

    def is_dead(self, leaving: Leaving, register: int) -> bool:
        """By the ways from where it goes to."""
        return leaving.to is not None and not self.ways.may_read(leaving.to, register)

    def granted(self, accesses: Sequence[Access]) -> list[Any]:
        """That they are aligned."""
        return [address & size - 1 == 0 for _, size, address in accesses if size > 1]

    def each_alone(self, known: Changed) -> str:
        """A hint besides, and a move that was done."""
        if all(without_hint(old) == without_hint(new) for _, old, new in known):
            return "hint of a jump"
        found = super().each_alone(known)
        if not found and all(self._is_there(*one) for one in known):
            return "copied before"
        return found

    def _is_there(self, place: int, old: Insn, new: Insn) -> bool:
        """Whether a move that goes found in its result what it moves, on all ways."""
        pair = copied(old)
        nop = self.base.program.target.is_nop(new)
        return pair is not None and nop and self.copies.hold(place, frozenset(pair))
