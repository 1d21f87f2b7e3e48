"""Blocks that control passes through one after the other most often stand so.

Chains are made as Pettis and Hansen make them (Profile Guided Code Positioning, PLDI 1990): of all
ways the one that saves most first, where its source ends a chain and its goal begins one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from passes.ordering.lines import Chain, Lines
from passes.ordering.turning import turned
from passes.ordering.units import Units, Way
from rewriter.core.isa.instruction import AWAY


@dataclass
class Chains:
    """Units in chains, each of which stands together, in a line that may be their order.

    `kept` are units behind which the next one stays, and `ways` those to go by.
    """

    units: Units
    kept: Collection[int]
    ways: Sequence[Way]
    _line: list[Chain] = field(init=False)

    def __post_init__(self) -> None:
        self._lines = Lines(self.units)
        self._line = [(unit,) for unit in range(len(self.units.spans))]
        for way in sorted(self.ways, key=self._rank):
            if self._is_kept(way) or way.saves > 0:
                self._join(way)
        self._put_aside()

    def order(self) -> list[int]:
        """All units."""
        return [unit for chain in self._line for unit in chain]

    def _is_kept(self, way: Way) -> bool:
        return way.falls and way.source in self.kept

    def _rank(self, way: Way) -> tuple[bool, int, bool, int]:
        return not self._is_kept(way), -way.saves, not way.falls, way.source

    def _join(self, way: Way) -> None:
        """Two chains become one, where the line stays one that may be."""
        before = next(n for n, chain in enumerate(self._line) if way.source in chain)
        after = next(n for n, chain in enumerate(self._line) if way.goal in chain)
        first, second = self._line[before], self._line[after]
        if first[-1] != way.source or second[0] != way.goal:
            return
        if before == after:
            found = turned(self.ways, first, self._line, self.kept)
            self._line = self._lines.first_fitting([self._with({before: found})]) or self._line
            return
        joined = (*first, *second)
        ways = self._with({before: joined, after: ()}), self._with({before: (), after: joined})
        self._line = self._lines.first_fitting(ways) or self._line

    def _with(self, others: dict[int, Chain]) -> list[Chain]:
        """The line with other chains at some places, or none."""
        line = [*self._line]
        for number, chain in others.items():
            line[number] = chain
        return [chain for chain in line if chain]

    def _put_aside(self) -> None:
        """What control never comes to stands behind the rest, where nothing falls in or out."""
        for chain in list(self._line):
            at = self._line.index(chain)
            if self.units.reached.isdisjoint(chain) and self._stands_alone(at):
                rest = [*self._line[:at], *self._line[at + 1 :]]
                if self._lines.fits([*rest, chain]):
                    self._line = [*rest, chain]

    def _stands_alone(self, at: int) -> bool:
        """Whether control falls neither into a chain nor out of it as it stands."""
        line = self._line
        if at == 0 or (line[at - 1][-1] == line[at][0] - 1 and not self._ends(line[at - 1])):
            return False
        following = line[at + 1][0] if at + 1 < len(line) else -1
        return self._ends(line[at]) or following not in (-1, line[at][-1] + 1)

    def _ends(self, chain: Sequence[int]) -> bool:
        return self.units.last(chain[-1])[1].op.flow in AWAY
