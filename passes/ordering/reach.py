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

    def places(self, line: Sequence[Sequence[int]], other: Sequence[int]) -> Sequence[int]:
        """Behind how many chains of a line another one may stand, for all branches to reach."""
        if not self._branches:
            return range(len(line) + 1)
        gap = _Gap.of(self._sizes, line, other)
        found = np.ones(len(line) + 1, dtype=bool)
        for number in np.flatnonzero(gap.matters(self._table)).tolist():
            branch = self._branches[number]
            ahead = gap.distances(branch.source, branch.goal) <= branch.reach
            back = gap.distances(branch.source, branch.behind) <= branch.back
            found &= ahead & (back | gap.followed(branch.source))
        where: list[int] = np.flatnonzero(found).tolist()
        return where

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


@dataclass(frozen=True)
class _Gap:
    """A line of chains, and another one that comes between any two of them, or to an end.

    `starts` and `ends` of the units are counted without the other chain, of which `size` is the
    length, those of its own from its start; `places` is where it may begin, and `firsts` the unit
    there now, or -1.  `following` is what stands behind each unit, or -1.
    """

    other: Sequence[int]
    size: int
    starts: Numbers
    ends: Numbers
    following: Numbers
    places: Numbers
    firsts: Numbers
    inside: NDArray[np.bool_]

    @classmethod
    def of(cls, sizes: Numbers, line: Sequence[Sequence[int]], other: Sequence[int]) -> _Gap:
        """Of units with their sizes."""
        starts, following = np.zeros_like(sizes), np.full_like(sizes, -1)
        inside = np.zeros(len(sizes), dtype=bool)
        inside[[*other]] = True
        for order in ([*chain.from_iterable(line)], [*other]):
            starts[order[1:]] = np.cumsum(sizes[order[:-1]])
            following[order[:-1]] = order[1:]
        firsts = np.array([*(one[0] for one in line), -1])
        places = np.append(starts[firsts[:-1]], sizes[~inside].sum())
        size = int(sizes[inside].sum())
        return cls(other, size, starts, starts + sizes, following, places, firsts, inside)

    def matters(self, table: Numbers) -> NDArray[np.bool_]:
        """For each row of a table of branches, whether it may be out of reach at some place."""
        source, goal, behind, reach, back = table.T
        found = np.zeros(len(table), dtype=bool)
        for to, most in (goal, reach), (behind, back):
            apart = abs(self.starts[to] - self.ends[source]) + self.size > most
            found |= self.inside[source] | self.inside[to] | apart
        return found

    def distances(self, source: int, goal: int) -> Numbers:
        """How far a unit's start is from another's end, by place."""
        end = self.ends[source]
        ends = end + (self.places if self.inside[source] else self.size * (end > self.places))
        start = self.starts[goal]
        starts = start + (self.places if self.inside[goal] else self.size * (start >= self.places))
        return abs(starts - ends)

    def followed(self, source: int) -> NDArray[np.bool_]:
        """Whether the unit behind a unit is the next by number, by place."""
        if source == self.other[-1]:
            return np.equal(self.firsts, source + 1)
        found = np.full(len(self.places), self.following[source] == source + 1)
        if not self.inside[source]:
            found[self.places == self.ends[source]] = self.other[0] == source + 1
        return found


def _reach(insn: Insn) -> int:
    """How many bytes a branch reaches in both directions."""
    form = insn.op.format
    assert form.target is not None
    low, high = form.operands[form.target].limits
    return min(-low, high)
