"""Whether the branches of a large function still reach where they lead, in another order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from passes.ordering.units import Units
from rewriter.core.isa.instruction import Flow, Insn

_SPARED = 16
"""Of so many parts of a reach one is left for what orders add: jumps, and nops before them."""

Numbers = NDArray[np.int64]


class _Branch(NamedTuple):
    """A conditional branch at the end of a unit: the units that it leads to and that it must lead
    to with the opposite test, and how far either may be, in instructions."""

    source: int
    goal: int
    behind: int
    reach: int
    back: int


@dataclass(frozen=True)
class Reach:
    """The branches of a function that do not reach from everywhere to everywhere."""

    units: Units

    def suffices(self, line: Sequence[Sequence[int]]) -> bool:
        """Whether all reach where they must lead in an order of chains."""
        if not self._branches:
            return True
        order = np.fromiter(chain.from_iterable(line), np.int64, len(self._sizes))
        following = np.full(len(order), -1)
        following[order[:-1]] = order[1:]
        starts = self._starts(order)
        source, goal, behind, reach, back = self._table.T
        ends, after = starts[source] + self._sizes[source], following[source]
        ahead = (after == goal) | (abs(starts[goal] - ends) <= reach)
        opposite = (after == source + 1) | (abs(starts[behind] - ends) <= back)
        return bool((ahead & opposite).all())

    def _starts(self, order: Numbers) -> Numbers:
        """How many instructions stand before each unit."""
        sizes = self._sizes[order]
        starts = np.empty_like(order)
        starts[order] = np.cumsum(sizes) - sizes
        return starts

    @cached_property
    def _sizes(self) -> Numbers:
        return np.array([len(span) for span in self.units.spans])

    @cached_property
    def _table(self) -> Numbers:
        return np.array(self._branches)

    @cached_property
    def _branches(self) -> Sequence[_Branch]:
        return [*self._found()]

    def _found(self) -> Iterator[_Branch]:
        units, starts = self.units, self._starts(np.arange(len(self.units.spans)))
        for unit in range(len(units.spans) - 1):
            insn, goal = units.last(unit)[1], units.goal(unit)
            if insn.op.flow is not Flow.BRANCH or goal is None:
                continue
            most = _reach(insn) // insn.size
            if most < len(units.code.items):
                passed = units.goal(unit + 1) if units.is_passed(unit + 1) else None
                back = most - most // _SPARED
                now = abs(int(starts[goal] - starts[unit + 1]))
                behind = unit + 1 if passed is None else passed
                yield _Branch(unit, goal, behind, max(back, now), back)


def _reach(insn: Insn) -> int:
    """How many bytes a branch reaches in both directions."""
    form = insn.op.format
    assert form.target is not None
    low, high = form.operands[form.target].limits
    return min(-low, high)
