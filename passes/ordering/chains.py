"""Blocks that control passes through one after the other most often stand so.

Chains are made as Pettis and Hansen make them (Profile Guided Code Positioning, PLDI 1990): of all
ways the one that is gone most often first, where its source ends a chain and its goal begins one.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest

from passes.ordering.units import Units, Way


@dataclass
class Chains:
    """Units in chains, each of which stands together.

    `kept` are units behind which the next one stays.
    """

    units: Units
    kept: Collection[int]
    _of: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self._of = [[unit] for unit in range(len(self.units.spans))]
        self._gaps_left = dict(enumerate(self._labels_between()))
        for way in sorted(self.units.ways, key=self._rank):
            if (way.often or way.falls) and self._may_join(way):
                before, after = self._of[way.source], self._of[way.goal]
                gap = self._gap(before, after)
                if gap is not None:
                    del self._gaps_left[gap]
                before += after
                for unit in after:
                    self._of[unit] = before

    def _rank(self, way: Way) -> tuple[bool, int, bool, int]:
        return not (way.falls and way.source in self.kept), -way.often, not way.falls, way.source

    def _may_join(self, way: Way) -> bool:
        units = self.units
        before, after = self._of[way.source], self._of[way.goal]
        if before is after or before[-1] != way.source or after[0] != way.goal or way.goal == 0:
            return False
        if units.held_last and way.source == len(units.spans) - 1:
            return False
        if units.label_at(way.source, -1) != units.label_at(way.goal, 0):
            return False
        gap = self._gap(before, after)
        if gap is not None and not (gap in self._gaps_left and self._may_close(gap, before, after)):
            return False
        return self._has_room(before, after)

    def _has_room(self, before: list[int], after: list[int]) -> bool:
        """Whether chains that join fit between what stays in them and around them."""
        units, rooms = self.units, self.units.rooms
        if len(rooms) == 1:
            return True
        filled = units.filled([*before, *after])
        held = [part for part in filled if part is not None]
        if not held:
            return True
        others = (chain for chain in self._held() if chain not in (before, after))
        leading, first = filled.pop(None, 0), min(held) - 1
        for chain in others:
            for part, many in units.filled(chain).items():
                if part == first:
                    leading += many
                elif part is not None and part in filled:
                    filled[part] += many
        return leading <= (rooms[first] if first >= 0 else 0) and all(
            many <= rooms[part] for part, many in filled.items() if part is not None
        )

    def _held(self) -> list[list[int]]:
        """The chains in which something stays."""
        found = {id(chain): chain for unit in self.units.held for chain in (self._of[unit],)}
        return [*found.values()]

    def _labels_between(self) -> Iterator[tuple[Hashable, ...]]:
        """The labels of what may stand behind each anchor."""
        units, anchors = self.units, [*self.units.anchors]
        for before, behind in zip_longest(anchors, anchors[1:]):
            if behind is not None:
                yield units.label_at(before, -1), units.label_at(behind, 0)
            elif not units.held_last:
                yield (units.label_at(before, -1),)

    def _gap(self, before: list[int], after: list[int]) -> int | None:
        """The number of the anchor behind which nothing else can stand when chains join.

        None where one of them has no anchor, -1 where the anchors do not follow one another.
        """
        anchors = self.units.anchors
        first = max((anchors[unit] for unit in before if unit in anchors), default=None)
        second = min((anchors[unit] for unit in after if unit in anchors), default=None)
        if first is None or second is None:
            return None
        return first if second == first + 1 else -1

    def _may_close(self, gap: int, before: list[int], after: list[int]) -> bool:
        """Whether all that may stand in a gap between anchors may stand elsewhere, too."""
        units, others = self.units, [w for n, w in self._gaps_left.items() if n != gap]
        for label in self._gaps_left[gap]:
            if any(label in one for one in others):
                continue
            inside = {*before, *after, *units.anchors}
            if not self._plain.get(label, frozenset()) <= inside:
                return False
        return True

    @cached_property
    def _plain(self) -> dict[Hashable, set[int]]:
        """By label, the units that are no anchors."""
        found: dict[Hashable, set[int]] = {}
        for unit in range(len(self.units.spans)):
            if unit not in self.units.anchors:
                found.setdefault(self.units.label_at(unit, 0), set()).add(unit)
        return found

    # Their order --------------------------------------------------------------------------

    def order(self) -> list[int]:
        """All units: chains with anchors by these, each other one where its label may stand.

        It stands behind the one that it has most to do with, and where control never comes as
        late as may be.
        """
        chains = [chain for unit, chain in enumerate(self._of) if chain[0] == unit]
        anchors = self.units.anchors
        placed = [chain for chain in chains if not anchors.keys().isdisjoint(chain)]
        placed.sort(key=lambda chain: min(anchors[unit] for unit in chain if unit in anchors))
        left = [chain for chain in chains if anchors.keys().isdisjoint(chain)]
        for chain in sorted(left, key=lambda chain: (not self._is_reached(chain), chain[0])):
            gap = self._best(placed, chain)
            if gap is None:
                return []
            placed.insert(gap, chain)
        return [unit for chain in placed for unit in chain]

    def _best(self, placed: Sequence[list[int]], chain: list[int]) -> int | None:
        """Before which of the chains another one stands best; None where there is no room."""
        gaps = list(self._gaps(placed, chain))
        if len(self.units.rooms) > 1:
            gaps = self._roomy(placed, chain, gaps)
        if not gaps:
            return None
        if not self._is_reached(chain):
            return gaps[-1]
        return max(gaps, key=lambda gap: (self._between(placed[gap - 1], chain), -gap))

    def _gaps(self, placed: Sequence[list[int]], chain: list[int]) -> Iterator[int]:
        """Where a chain may stand by its labels."""
        units, label = self.units, self.units.label_at(chain[0], 0)
        for gap in range(1, len(placed) + (not units.held_last)):
            before = units.label_at(placed[gap - 1][-1], -1)
            behind = units.label_at(placed[gap][0], 0) if gap < len(placed) else None
            if label in (before, behind):
                yield gap

    def _roomy(
        self, placed: Sequence[list[int]], chain: list[int], gaps: Sequence[int]
    ) -> list[int]:
        """Those of the gaps between chains where there is room for another one."""
        units = self.units
        filled = units.filled(unit for one in placed for unit in one)
        size, part, parts = sum(len(units.spans[unit]) for unit in chain), 0, [0]
        for one in placed:
            part = max((p for p in units.filled(one) if p is not None), default=part)
            parts.append(part)
        return [gap for gap in gaps if filled[parts[gap]] + size <= units.rooms[parts[gap]]]

    def _is_reached(self, chain: list[int]) -> bool:
        return not self._reached.isdisjoint(chain)

    @cached_property
    def _reached(self) -> frozenset[int]:
        return frozenset(unit for way in self.units.ways if way.often for unit in way[:2])

    @cached_property
    def _weights(self) -> dict[int, dict[int, int]]:
        """By unit, how often control goes between it and others."""
        found: dict[int, dict[int, int]] = {}
        for way in self.units.ways:
            for one, other in ((way.source, way.goal), (way.goal, way.source)):
                near = found.setdefault(one, {})
                near[other] = near.get(other, 0) + way.often
        return found

    def _between(self, chain: list[int], other: list[int]) -> int:
        there = {*chain}
        near = (self._weights.get(unit, {}) for unit in other)
        return sum(often for one in near for unit, often in one.items() if unit in there)
