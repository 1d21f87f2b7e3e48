"""Addresses in the whole 64-bit space: what NumPy would round stays exact."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rewriter.core.addresses import addresses, first_at, shifted, span

ANY = st.integers(0, (1 << 64) - 1)
NEAR = st.integers(0, 64).map(lambda n: 0xFFFFFC0000310000 + n)


@given(st.lists(ANY | NEAR, max_size=20), ANY | NEAR)
def test_positions_are_those_of_integers(values: list[int], wanted: int) -> None:
    ascending = sorted(values)
    assert first_at(addresses(ascending), wanted) == bisect_left(ascending, wanted)


@given(st.lists(ANY, max_size=20), ANY, ANY)
def test_a_span_holds_what_lies_between(values: list[int], start: int, end: int) -> None:
    ascending = sorted(values)
    first, last = span(addresses(ascending), start, end)
    assert ascending[first:last] == [value for value in ascending if start <= value < end]


@given(ANY, st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=20))
def test_sums_are_taken_modulo_the_space(base: int, distances: list[int]) -> None:
    made = shifted(base, np.array(distances, dtype=np.int64))
    assert made.tolist() == [(base + distance) % (1 << 64) for distance in distances]
