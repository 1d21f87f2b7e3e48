"""Which routine stands in which place, when the places of the replaced ones are all the room.

A place is free only if the routine that had it is replaced, too.  Its first bundles are the way to
where that one's work is done, unless that is there.  The search goes through routines from the
longest on and stops after a fixed effort, with the best that it has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_EFFORT = 20_000  # choices


@dataclass(frozen=True, slots=True)
class Item:
    """New code: its bytes, and the places (by number) of the routines whose work it does."""

    size: int
    homes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pool:
    """Places as ranges of addresses; code stands on multiples of `alignment`.

    `way` is the size of what leads away from a place.  `allows` says whether these items, by
    their addresses, may stand in a place.
    """

    items: Sequence[Item]
    places: Sequence[range]
    way: int
    alignment: int
    allows: Callable[[int, Mapping[int, int]], bool]

    def best(self) -> dict[int, tuple[int, int]]:
        """Place and address of each item that has one.

        As many routines as can be are replaced, and as many of them where they stand.
        """
        search = _Search(self, sorted(range(len(self.items)), key=self._longest))
        search.run(0)
        return search.found

    def _longest(self, item: int) -> tuple[int, int]:
        return -self.items[item].size, item

    def layout(self, place: int, members: Sequence[int]) -> dict[int, int]:
        """The address of each member, what is at home in a place first."""
        first, found = self.places[place].start, {}
        at = first + self.way
        for member in sorted(members, key=lambda m: place not in self.items[m].homes):
            start = first if place in self.items[member].homes else at + -at % self.alignment
            found[member] = start
            at = start + self.items[member].size
        return found

    def fits(self, place: int, members: Sequence[int]) -> bool:
        """Whether all of them have room in a place."""
        ends = (at + self.items[m].size for m, at in self.layout(place, members).items())
        return max(ends, default=0) <= self.places[place].stop


@dataclass
class _Search:
    """The choices so far: what stands in each place, and where each item went (None: nowhere)."""

    pool: Pool
    order: Sequence[int]
    members: dict[int, list[int]] = field(default_factory=dict)
    chosen: dict[int, int | None] = field(default_factory=dict)
    found: dict[int, tuple[int, int]] = field(default_factory=dict)
    worth: tuple[int, int] = (0, 0)
    effort: int = 0

    def run(self, depth: int) -> None:
        """Tries everything for the items from a depth on."""
        self.effort += 1
        if self.effort > _EFFORT or self._hope(depth) <= self.worth:
            return
        if depth == len(self.order):
            self._keep()
            return
        item = self.order[depth]
        for place in self._places(item):
            self.chosen[item] = place
            if place is not None:
                self.members.setdefault(place, []).append(item)
            self.run(depth + 1)
            if place is not None:
                self.members[place].pop()
            del self.chosen[item]

    def _places(self, item: int) -> Iterator[int | None]:
        """Where an item may go now: home first, at last nowhere."""
        homes = self.pool.items[item].homes
        for place in (*homes, *(p for p in range(len(self.pool.places)) if p not in homes)):
            if self._is_free(place) and self.pool.fits(place, (*self.members.get(place, ()), item)):
                yield place
        if not any(self.members.get(home) for home in homes):
            yield None

    def _is_free(self, place: int) -> bool:
        """Whether the routine that had a place is not one that stays."""
        return all(
            self.chosen[item] is not None
            for item in self.chosen
            if place in self.pool.items[item].homes
        )

    def _hope(self, depth: int) -> tuple[int, int]:
        """What can be had at most: routines replaced, and replaced where they stand."""
        done = [item for item, place in self.chosen.items() if place is not None]
        left = self.order[depth:]
        served = sum(len(self.pool.items[item].homes) for item in (*done, *left))
        at_home = sum(self.chosen[item] in self.pool.items[item].homes for item in done)
        return served, at_home + len(left)

    def _keep(self) -> None:
        """Remembers the choices, if they may stand so and are better than the best."""
        layouts = {p: self.pool.layout(p, members) for p, members in self.members.items()}
        replaced = {
            home
            for item, place in self.chosen.items()
            if place is not None
            for home in self.pool.items[item].homes
        }
        if all(self.pool.allows(place, layouts.get(place, {})) for place in sorted(replaced)):
            self.worth = self._hope(len(self.order))
            self.found = {
                item: (place, at) for place, lay in layouts.items() for item, at in lay.items()
            }
