"""Which routine stands in which place: the search against every choice that there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.road.bundled.placement import Item, Pool

WAY, ALIGNMENT = 16, 32
_SIZES = st.integers(1, 12).map(lambda bundles: 16 * bundles)


@st.composite
def pools(draw: st.DrawFn) -> Pool:
    """A few routines, each with a place or two of its own; places stand apart."""
    items, places, at = [], list[range](), 0x1000
    for _ in range(draw(st.integers(1, 4))):
        homes = tuple(range(len(places), len(places) + draw(st.integers(1, 2))))
        for _ in homes:
            places.append(range(at, at + draw(_SIZES)))
            at += 0x1000
        items.append(Item(draw(_SIZES), homes))
    return Pool(items, places, WAY, ALIGNMENT, lambda place, layout: True)


def fits(pool: Pool, place: int, order: Sequence[int]) -> bool:
    """Whether items stand in a place in this order, the first at its start if it is at home."""
    at = pool.places[place].start
    for number, item in enumerate(order):
        at_home = place in pool.items[item].homes
        if at_home != (at_home and number == 0):
            return False
        if not at_home:
            at = max(at, pool.places[place].start + WAY)
            at += -at % ALIGNMENT
        at += pool.items[item].size
    return at <= pool.places[place].stop


def choices(pool: Pool) -> Iterator[tuple[int, int]]:
    """What each choice that is possible is worth: routines replaced, and those at home."""
    every = range(len(pool.items))
    for chosen in product((None, *range(len(pool.places))), repeat=len(pool.items)):
        free = {
            h for i, place in enumerate(chosen) if place is not None for h in pool.items[i].homes
        }
        inside = {p: [i for i in every if chosen[i] == p] for p in set(chosen) - {None}}
        if all(
            place in free and any(fits(pool, place, order) for order in permutations(items))
            for place, items in inside.items()
            if place is not None
        ):
            yield len(free), sum(chosen[i] in pool.items[i].homes for i in every)


@settings(max_examples=60, derandomize=True)
@given(pools())
def test_as_many_as_can_be_find_a_place(pool: Pool) -> None:
    found = pool.best()
    taken = sorted((at, at + pool.items[item].size) for item, (_, at) in found.items())
    assert all(end <= start for (_, end), (start, _) in pairwise(taken))
    for item, (place, at) in found.items():
        home = place in pool.items[item].homes
        first = pool.places[place].start
        assert at == first if home else at >= first + WAY and at % ALIGNMENT == 0
        assert at + pool.items[item].size <= pool.places[place].stop
    free = {home for item in found for home in pool.items[item].homes}
    assert {place for place, _ in found.values()} <= free
    at_home = sum(place in pool.items[item].homes for item, (place, _) in found.items())
    assert (len(free), at_home) == max(choices(pool))


def test_what_is_not_allowed_stands_nowhere() -> None:
    items, places = [Item(32, (0,)), Item(64, (1,))], [range(128), range(256, 288)]
    everywhere = Pool(items, places, WAY, ALIGNMENT, lambda place, layout: True)
    assert everywhere.best() == {0: (0, 0), 1: (0, 32)}
    alone = Pool(items, places, WAY, ALIGNMENT, lambda place, layout: len(layout) < 2)
    assert alone.best() == {0: (0, 0)}
