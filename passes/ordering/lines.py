"""Which orders of chains may be: labels keep their sequence, what stays has its room, and branches
reach where they lead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from passes.ordering.reach import Reach
from passes.ordering.units import Units

Chain = tuple[int, ...]
"""Units that stand together."""

_MOST = 8
"""So many chains are put elsewhere to make room."""


class Contents(NamedTuple):
    """Of a chain: the units in which something stays, the labels, and how many instructions there
    are in each room, that of what stands before it first (`Units.filled`)."""

    held: tuple[int, ...]
    labels: tuple[int, ...]
    filled: tuple[tuple[int | None, int], ...]


@dataclass(frozen=True)
class Lines:
    """Orders of the chains of a function."""

    units: Units
    _known: dict[Chain, Contents] = field(default_factory=dict)

    def first_fitting(self, lines: Iterable[list[Chain]]) -> list[Chain] | None:
        """The first of some orders that may be, perhaps with what is not executed further on."""
        return next(filter(None, map(self._roomy, lines)), None)

    def fits(self, line: Sequence[Chain]) -> bool:
        """Whether an order may be."""
        return self._may_be(line) and not self._crowded(line)

    def _of(self, line: Sequence[Chain]) -> list[Contents]:
        """What is in each chain; asked for very often."""
        known = self._known
        return [known.get(chain) or self._contents(chain) for chain in line]

    def _contents(self, chain: Chain) -> Contents:
        units = self.units
        held = tuple(unit for unit in chain if unit in units.held)
        labels = groupby(label for unit in chain for label in units.labels_in(unit))
        filled = _added_up(units.filled(unit) for unit in chain)
        found = Contents(held, tuple(label for label, _ in labels), tuple(filled.items()))
        self._known[chain] = found
        return found

    def _may_be(self, line: Sequence[Chain]) -> bool:
        """Whether it is one, but for room."""
        units = self.units
        if line[0][0] != 0 or (units.held_last and line[-1][-1] != len(units.spans) - 1):
            return False
        contents = self._of(line)
        held = [unit for one in contents for unit in one.held]
        return held == sorted(held) and self._keeps(contents) and self._reach.suffices(line)

    @cached_property
    def _reach(self) -> Reach:
        return Reach(self.units)

    def _keeps(self, contents: Iterable[Contents]) -> bool:
        """Whether labels come in their sequence; any may be left out."""
        wanted = iter(self.units.run_labels)
        here = next(wanted, None)
        for labels in (one.labels for one in contents):
            for label in labels:
                while here != label:
                    here = next(wanted, None)
                    if here is None:
                        return False
        return True

    def _crowded(self, line: Sequence[Chain]) -> set[int]:
        """The parts between what stays in which there is more than fits."""
        rooms = self.units.rooms
        if len(rooms) == 1:
            return set()
        filled = _added_up(one.filled for one in self._of(line))
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
        for at, (chain, one) in enumerate(zip(line, self._of(line), strict=True)):
            inside = [p for p, _ in one.filled if p is not None] if one.held else ()
            if not inside and here == part and units.reached.isdisjoint(chain):
                rest = [*line[:at], *line[at + 1 :]]
                for behind in reversed(self._reach.places(rest, chain)):
                    moved = [*rest[:behind], chain, *rest[behind:]]
                    if behind > at and self._may_be(moved):
                        yield moved
                        break
            here = max(inside, default=here)


def _added_up(parts: Iterable[Iterable[tuple[int | None, int]]]) -> dict[int | None, int]:
    """How many instructions are in each room, where some stand one behind the other."""
    found, here = dict[int | None, int](), None
    for filled in parts:
        for part, many in filled:
            here = here if part is None else part
            found[here] = found.get(here, 0) + many
    return found
