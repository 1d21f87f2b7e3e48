"""Nops before instructions: as cheap as the cheapest of all ways to place them."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from passes.lib.fetch_slots import Wish, cheapest

SLOTS = 4


@st.composite
def wished(draw: st.DrawFn) -> tuple[list[Wish], range, int, int]:
    """A few instructions with wishes, the slot that they begin in, and room."""
    first = draw(st.integers(0, 9))
    count = draw(st.integers(1, 8))
    numbers = range(first, first + count)
    places = sorted(draw(st.lists(st.sampled_from(numbers), max_size=4)))
    costs = st.tuples(*[st.integers(0, 9)] * SLOTS)
    nops = st.none() | st.integers(0, 3)
    wishes = [Wish(number, draw(costs), draw(nops)) for number in places]
    return wishes, numbers, draw(st.integers(0, SLOTS - 1)), draw(st.integers(count, count + 12))


def _cost(wishes: list[Wish], numbers: range, slot: int, nops: tuple[int, ...]) -> int:
    """What so many nops before each wish cost."""
    cost = gone = 0
    for wish, before in zip(wishes, nops, strict=True):
        gone += before
        cost += before * (wish.nop or 0)
        cost += wish.costs[(slot + wish.number - numbers.start + gone) % SLOTS]
    return cost


@given(wished())
def test_nothing_is_cheaper_where_there_is_room(
    given: tuple[list[Wish], range, int, int],
) -> None:
    wishes, numbers, slot, _ = given
    ways = product(*(range(1 if wish.nop is None else SLOTS) for wish in wishes))
    costs = {nops: _cost(wishes, numbers, slot, nops) for nops in ways}
    found = cheapest(wishes, numbers, slot, len(numbers) + SLOTS * len(wishes))
    assert found is not None
    same = [nops for nops in costs if _by_number(wishes, nops) == found]
    assert min(costs.values()) in {costs[nops] for nops in same}


def _by_number(wishes: list[Wish], nops: tuple[int, ...]) -> dict[int, int]:
    found = dict[int, int]()
    for wish, before in zip(wishes, nops, strict=True):
        if before:
            found[wish.number] = found.get(wish.number, 0) + before
    return found


@given(wished())
def test_what_is_found_fits(given: tuple[list[Wish], range, int, int]) -> None:
    wishes, numbers, slot, room = given
    found = cheapest(wishes, numbers, slot, room)
    assert found is not None
    assert sum(found.values()) + len(numbers) <= room
    free = {wish.number for wish in wishes if wish.nop is not None}
    assert found.keys() <= free


def test_without_room_for_the_code_there_is_no_way() -> None:
    assert cheapest([], range(4), 0, 3) is None


def test_short_room_goes_to_what_gains_most() -> None:
    """Three nops before the one, two before the other; with both it would be six."""
    little, much = Wish(1, (3, 3, 3, 0), 0), Wish(6, (9, 9, 9, 0), 0)
    assert cheapest([little, much], range(8), 3, 8 + 6) == {1: 3, 6: 3}
    assert cheapest([little, much], range(8), 3, 8 + 3) == {6: 2}
