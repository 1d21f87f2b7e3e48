"""Where instructions stand in their fetch blocks: the nops before some of them that cost least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_SCARCITIES = (0, 1, 2, 4, 16, 256)
"""What a slot of room costs, where there is less of it than all wishes together need."""


class Wish(NamedTuple):
    """What it costs where an instruction stands, in slots of a fetch block that are lost.

    `costs` has a cost for each slot of a block; `nop` is that of a nop right before the
    instruction, None where none may stand.
    """

    number: int
    costs: tuple[int, ...]
    nop: int | None

    def dearer(self, times: int | None) -> Wish:
        """With nops that cost so many times as much; without any that cost, where that is None."""
        return self._replace(nop=self.nop and (None if times is None else times * self.nop))


class _Way(NamedTuple):
    """Nops before instructions, the last of which comes first: what they cost, and how many."""

    cost: int
    nops: int
    before: tuple[int, int, object] | None


def cheapest(
    wishes: Sequence[Wish], numbers: range, first: int, room: int
) -> dict[int, int] | None:
    """How many nops come before instructions, by number; None if there is no room for the code.

    `first` is the slot of a fetch block where the first of the `numbers` would stand, and `room`
    how many instructions fit.  Where room is short, it goes to what gains most from it.
    """
    spare = room - len(numbers)
    if spare < 0:
        return None
    fit = list[tuple[int, _Way]]()
    for scarcity in _SCARCITIES:
        ways = _ways(wishes, numbers, first, scarcity)
        fit += [(way.cost - scarcity * way.nops, way) for way in ways if way.nops <= spare]
        if min(ways, key=_price).nops <= spare:
            break
    return _told(min(fit, key=lambda one: (one[0], one[1].nops))[1]) if fit else {}


def _ways(wishes: Sequence[Wish], numbers: range, first: int, scarcity: int) -> list[_Way]:
    """The cheapest way to each slot of a block that the code may end in."""
    ways = {0: _Way(0, 0, None)}  # by the nops so far, in slots of a block
    for wish in wishes:
        slots = len(wish.costs)
        here, ways = ways, {}
        for shift, way in here.items():
            for nops in range(slots if wish.nop is not None else 1):
                moved = (shift + nops) % slots
                slot = (first + wish.number - numbers.start + moved) % slots
                cost = way.cost + nops * ((wish.nop or 0) + scarcity) + wish.costs[slot]
                before = (wish.number, nops, way) if nops else way.before
                found = _Way(cost, way.nops + nops, before)
                if moved not in ways or found[:2] < ways[moved][:2]:
                    ways[moved] = found
    return list(ways.values())


def _price(way: _Way) -> tuple[int, int]:
    return way.cost, way.nops


def _told(way: _Way) -> dict[int, int]:
    found, before = dict[int, int](), way.before
    while before is not None:
        number, nops, rest = before
        assert isinstance(rest, _Way)
        found[number], before = found.get(number, 0) + nops, rest.before
    return found
