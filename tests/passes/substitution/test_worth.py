"""The calls by which a tuned routine is judged, and how it is judged."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from passes.lib.worth import WHOLE_BLOCKS, Cycles, Point, calls, worth
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


def _cycles(each: int, long: int = 0) -> Cycles:
    """So many cycles a call, and more for those of more than 16 bytes."""

    def cycles(points: Iterable[Point], warm: bool) -> list[int]:
        assert warm
        return [each + long * (point["count"] > 16) for point in points]

    return cycles


def _judged(*sides: Cycles) -> str:
    def both(contract: Contract) -> tuple[Cycles, Cycles]:
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
