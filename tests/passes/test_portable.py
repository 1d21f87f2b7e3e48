"""What processes give each other arrives as it was."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from rewriter.core.code.program import Function
from rewriter.core.target.bundling import Laid, Place, Region, Routine
from rewriter.road.bundled.function import Figures, Reordered

ADDRESSES = st.integers(0, (1 << 64) - 1)
REGIONS = st.builds(Region, ADDRESSES, ADDRESSES, st.text())
FIGURES = st.builds(Figures, *[st.integers()] * 4)
REORDERED = st.builds(Reordered, REGIONS, st.binary(), FIGURES, FIGURES)
WITHIN = st.builds(
    Reordered, REGIONS, st.binary(), FIGURES, FIGURES, st.none(), st.none() | REORDERED
)
LAID = st.builds(
    Laid,
    st.lists(st.builds(Place, ADDRESSES, ADDRESSES, st.binary())).map(tuple),
    st.lists(st.tuples(ADDRESSES, st.binary())).map(tuple),
)
FUNCTIONS = st.builds(Function, ADDRESSES, ADDRESSES, st.text(), st.text())
ROUTINES = st.builds(
    Routine,
    FUNCTIONS,
    st.lists(REGIONS).map(tuple),
    st.text(),
    st.text(),
    st.lists(st.tuples(ADDRESSES, ADDRESSES)).map(tuple),
)


@given(st.one_of(REGIONS, FIGURES, WITHIN, LAID, ROUTINES))
def test_values_arrive_as_they_were(value: object) -> None:
    there = pickle.loads(pickle.dumps(value))
    assert there == value and type(there) is type(value)


@given(REGIONS, REORDERED)
def test_one_value_stays_one(region: Region, other: Reordered) -> None:
    first, second = pickle.loads(pickle.dumps((other.region, other)))
    assert first is second.region
    assert pickle.loads(pickle.dumps([region, region]))[0] == region
