"""The search for the smallest failing set: what it finds, in how many tests."""

from __future__ import annotations

from math import ceil, log2

from hypothesis import given
from hypothesis import strategies as st

from rewriter.bisect.search import Outcome, Search, Units


class Counted:
    """A test that fails where all of some units are, and cannot tell where `skipped` says so."""

    def __init__(self, culprits: Units, skipped: Units = frozenset()) -> None:
        self.culprits, self.skipped = culprits, skipped
        self.runs: list[Units] = []

    def __call__(self, units: Units) -> Outcome:
        self.runs.append(units)
        if len(units) in self.skipped:
            return Outcome.SKIP
        return Outcome.BAD if self.culprits <= units else Outcome.GOOD


def search(count: int, test: Counted) -> Search:
    known = {frozenset[int](): Outcome.GOOD, frozenset(range(count)): Outcome.BAD}
    return Search(count, test, known=known)


@given(st.data())
def test_one_culprit_in_log2_of_the_units(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 4000))
    culprit = data.draw(st.integers(0, count - 1))
    test = Counted(frozenset({culprit}))
    assert search(count, test).run() == {culprit}
    assert len(test.runs) <= ceil(log2(count)) + 1
    assert len(set(test.runs)) == len(test.runs)


@given(st.data())
def test_several_that_fail_together(data: st.DataObject) -> None:
    count = data.draw(st.integers(4, 2000))
    culprits = data.draw(st.frozensets(st.integers(0, count - 1), min_size=2, max_size=4))
    test = Counted(culprits)
    assert search(count, test).run() == culprits
    assert len(test.runs) <= len(culprits) * (ceil(log2(count)) + 3)


@given(st.data())
def test_what_units_need_comes_with_them(data: st.DataObject) -> None:
    """No candidate is without what a unit in it needs."""
    count = data.draw(st.integers(2, 60))
    numbers = st.integers(0, count - 1)
    needs = data.draw(st.dictionaries(numbers, st.frozensets(numbers, max_size=2), max_size=20))
    culprit = data.draw(numbers)
    test = Counted(frozenset({culprit}))
    looked = search(count, test)
    looked.needs = needs
    found = looked.run()
    assert culprit in found
    for units in (*test.runs, found):
        assert all(needs.get(unit, frozenset()) <= units for unit in units)
    assert all(looked.whole(found - {unit}) == found or culprit == unit for unit in found)


@given(st.data())
def test_candidates_that_cannot_be_tested(data: st.DataObject) -> None:
    """The culprit is in what is found, even where nothing near it can be tested."""
    count = data.draw(st.integers(2, 300))
    culprit = data.draw(st.integers(0, count - 1))
    skipped = data.draw(st.frozensets(st.integers(0, count), max_size=count))
    test = Counted(frozenset({culprit}), skipped - {1, count})
    assert culprit in search(count, test).run()


def test_a_failure_that_comes_and_goes_still_ends() -> None:
    """More units may hide a failure: what is found fails by itself all the same."""

    def test(units: Units) -> Outcome:
        return Outcome.BAD if 7 in units and (11 not in units or 13 in units) else Outcome.GOOD

    known = {frozenset[int](): Outcome.GOOD}
    found = Search(20, test, known=known).run()
    assert test(found) is Outcome.BAD
    assert found == {7}
