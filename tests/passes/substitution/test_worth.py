"""The calls by which a tuned routine is judged, and how it is judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import pytest

from passes.substitution.worth import (
    WHOLE_BLOCKS,
    Length,
    Point,
    Run,
    Runs,
    calls,
    once,
    short_calls,
    slower,
    worth,
)
from rewriter.contracts import CONTRACTS, Contract
from targets.alpha.trial_program import AlphaTrials

ARENA = AlphaTrials().program("standard").arena


@pytest.mark.parametrize("name", CONTRACTS)
def test_each_call_is_a_case_of_the_contract(name: str) -> None:
    """Something is promised in it, and a call of less than 64 bytes weighs most."""
    contract, every = CONTRACTS[name], calls(CONTRACTS[name])
    assert every and all(contract.case(ARENA, call.point).promised for call in every)
    sizes = {call.point["count"] for call in every if "count" in call.point}
    short = sum(call.weight for call in every if call.point.get("count", 0) < 64)
    assert short > 3 * sum(call.weight for call in every) / 4
    assert not sizes or (max(sizes) >= 15 and (max(sizes) > 500) == (name in WHOLE_BLOCKS))


def _cycles(each: int, long: int = 0) -> Runs:
    """So many cycles a call, and more for those of more than 16 bytes."""

    def runs(points: Iterable[Point], warm: bool) -> list[Run]:
        assert warm
        return [_run(each + long * (point["count"] > 16)) for point in points]

    return runs


def _run(cycles: int) -> Run:
    return Run(0, lambda: cycles)


def _judged(*sides: Runs) -> str:
    def both(contract: Contract) -> tuple[Runs, Runs]:
        return sides[0], sides[1]

    return worth([CONTRACTS["strlen"]], both).objection


def test_only_what_takes_less_gains() -> None:
    """Neither the same nor more, nor a hundredth less; what long strings lose counts as often as
    there are such."""
    assert not _judged(_cycles(20), _cycles(19))
    assert _judged(_cycles(20), _cycles(20)) == "model: 1.00 of the original's cycles"
    assert _judged(_cycles(20), _cycles(23)) == "model: 1.15 of the original's cycles"
    assert _judged(_cycles(200), _cycles(198)) == "model: 0.99 of the original's cycles"
    assert not _judged(_cycles(200), _cycles(196))
    assert not _judged(_cycles(20), _cycles(19, long=1))
    assert _judged(_cycles(20), _cycles(19, long=3))


def test_no_length_may_lose() -> None:
    """A routine that gains in most calls and loses in the mean of one length stays out."""

    def cycles(lost: Mapping[int, int]) -> Runs:
        def taken(points: Iterable[Point], warm: bool) -> list[Run]:
            assert warm
            return [_run(20 + lost.get(point["count"], 0)) for point in points]

        return taken

    def judged(lost: Mapping[int, int]) -> tuple[str, str]:
        found = worth([CONTRACTS["memcpy"]], lambda contract: (_cycles(22), cycles(lost)))
        return found.objection, found.lost

    assert judged({}) == ("", "")
    assert judged({7: 2}) == ("", "")
    assert judged({7: 3}) == ("", "model: 1.05 of the original's cycles at 7 bytes")
    assert judged({31: 24}) == ("", "model: 2.00 of the original's cycles at 31 bytes")
    assert judged({1024: 13}) == ("", "model: 1.50 of the original's cycles at 1024 bytes")


def test_a_length_is_judged_by_the_mean_over_alignments() -> None:
    """One alignment may take more where the others take less."""

    def uneven(points: Iterable[Point], warm: bool) -> list[Run]:
        return [_run(26 if point["to"] == point["source"] == 0 else 21) for point in points]

    assert not worth([CONTRACTS["memcpy"]], lambda contract: (_cycles(22), uneven)).lost


@pytest.mark.parametrize("new", range(30, 46))
def test_a_length_is_judged_by_least_cycles_as_by_all(new: int) -> None:
    """What is known without a model decides only where a model would decide the same; where it is
    enough, no model is asked."""
    asked = []

    def before(cycles: int) -> int:
        asked.append(cycles)
        return cycles

    old = [Run(cycles - spare, partial(before, cycles)) for cycles, spare in ((12, 2), (30, 9))]
    assert Length("memcpy", 8, old, [_run(new)]).loses == (new > 42)
    assert len(asked) == (0 if new <= 31 else 1 if new <= 33 else 2)


def test_each_run_is_made_once() -> None:
    """And comes back for each point that asks, in the order of the points."""
    made: list[int] = []

    def runs(points: Iterable[Point], warm: bool) -> list[Run]:
        every = [point["count"] for point in points]
        made.extend(every)
        return [_run(count) for count in every]

    remembered = once(runs)
    first = remembered([{"count": n} for n in (3, 1, 3)], True)
    second = remembered([{"count": n} for n in (2, 1)], True)
    assert [[run.cycles for run in some] for some in (first, second)] == [[3, 1, 3], [2, 1]]
    assert made == [3, 1, 2]


def test_calls_without_a_length_lose_at_none() -> None:
    """A page copy has no lengths."""
    found = worth([CONTRACTS["copy_page"]], lambda contract: (_cycles(20), _cycles(30)))
    assert not found.lost


@pytest.mark.parametrize(("name", "part"), [("memset", "2.27"), ("strlen", "")])
def test_a_cleared_page_may_not_lose(name: str, part: str) -> None:
    """Of a string nobody asks for so many bytes."""
    found = worth([CONTRACTS[name]], lambda contract: (_cycles(22), _at("count", 4096, 30)))
    assert found.lost == (part and f"model: {part} of the original's cycles at 4096 bytes")


@pytest.mark.parametrize("name", CONTRACTS)
def test_each_short_call_is_a_case_of_the_contract(name: str) -> None:
    """Every length from 0 to 16 for routines that have one, and nothing longer but early
    differences."""
    contract, kinds = CONTRACTS[name], short_calls(CONTRACTS[name])
    points = [call.point for made in kinds.values() for call in made]
    assert all(contract.case(ARENA, point).promised for point in points)
    assert not kinds or {p["count"] for p in points if "at" not in p} == set(range(17))
    assert all(p["at"] <= 16 for p in points if p["count"] > 16)


def _at(axis: str, value: int, more: int) -> Runs:
    """Twenty cycles, and so many more where the call has a value."""

    def runs(points: Iterable[Point], warm: bool) -> list[Run]:
        return [_run(20 + more * (point.get(axis) == value)) for point in points]

    return runs


def _side(axis: str, value: int, more: int, contract: Contract) -> Runs:
    return _at(axis, value, more)


@pytest.mark.parametrize(
    ("name", "axis", "value", "where"),
    [
        ("strlen", "count", 0, "at 0 bytes"),
        ("strcmp", "count", 16, "at 16 bytes"),
        ("memcmp", "at", 3, "where byte 3 differs"),
        ("strncmp", "limit", 4, "with a limit of 0"),
    ],
)
def test_no_short_call_may_take_longer(name: str, axis: str, value: int, where: str) -> None:
    """Not by a cycle, though all others gain."""
    contract = CONTRACTS[name]
    sides = [partial(_side, axis, value, more) for more in (0, 0, 1)]
    found = slower([contract], *sides)
    assert found == ["", f"model: 1.05 of the original's cycles {where}"]
