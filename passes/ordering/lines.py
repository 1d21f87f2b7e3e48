"""Which orders of chains may be: labels keep their sequence, and what stays has its room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from passes.ordering.units import Units

Chain = tuple[int, ...]
"""Units that stand together."""

_MOST = 8
"""So many chains are put elsewhere to make room."""


@dataclass(frozen=True)
class Lines:
    """Orders of the chains of a function."""

    units: Units

    def first_fitting(self, lines: Iterable[list[Chain]]) -> list[Chain] | None:
        """The first of some orders that may be, perhaps with what is not executed further on."""
        return next(filter(None, map(self._roomy, lines)), None)

    def fits(self, line: Sequence[Chain]) -> bool:
        """Whether an order may be."""
        return self._may_be(line) and not self._crowded(line)

    def _may_be(self, line: Sequence[Chain]) -> bool:
        """Whether it is one, but for room."""
        units, order = self.units, [unit for chain in line for unit in chain]
        last = len(units.spans) - 1
        if order[0] != 0 or (units.held_last and order[-1] != last):
            return False
        held = [unit for unit in order if unit in units.held]
        return held == sorted(held) and units.keeps(order)

    def _crowded(self, line: Sequence[Chain]) -> set[int]:
        """The parts between what stays in which there is more than fits."""
        rooms = self.units.rooms
        if len(rooms) == 1:
            return set()
        filled = self.units.filled(unit for chain in line for unit in chain)
        return {part for part, many in filled.items() if part is not None and many > rooms[part]}

    def _roomy(self, line: list[Chain]) -> list[Chain] | None:
        """An order that has room, by chains that are not executed standing further on."""
        if not self._may_be(line):
            return None
        for _ in range(_MOST):
            crowded = self._crowded(line)
            if not crowded:
                return line
            other = next(self._relieved(line, min(crowded)), None)
            if other is None:
                return None
            line = other
        return None

    def _relieved(self, line: list[Chain], part: int) -> Iterator[list[Chain]]:
        """Orders with a chain less in a part, which stands as late as it may."""
        units, here = self.units, 0
        for at, chain in enumerate(line):
            inside = [p for p in units.filled(chain) if p is not None]
            if not inside and here == part and units.reached.isdisjoint(chain):
                rest = [*line[:at], *line[at + 1 :]]
                for behind in range(len(rest), at, -1):
                    moved = [*rest[:behind], chain, *rest[behind:]]
                    if self._may_be(moved) and part not in self._crowded_by(line, moved):
                        yield moved
                        break
            here = max(inside, default=here)

    def _crowded_by(self, before: Sequence[Chain], after: Sequence[Chain]) -> set[int]:
        """The parts that are crowded in one order and were not in another."""
        return self._crowded(after) - self._crowded(before)
