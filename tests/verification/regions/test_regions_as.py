"""Mutants of IA-64 regions with moved stops: GNU as and the proof see the same violations."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind
from rewriter.verify.regions.proof import Regions, Straight
from targets.ia64.prove.proving import Proving
from targets.ia64.registers import NUMBERS
from tests.targets.ia64.ia64_assembled import complaints
from tests.verification.regions.region_mutants import stop_dropped, stop_moved
from tests.verification.regions.region_shuffle import (
    FILES,
    Plan,
    end_of,
    packed,
    planned,
    regions,
    shuffled,
)

ALL = (1 << len(NUMBERS)) - 1
REGIONS = 100


def moved_stops(name: str) -> list[tuple[Plan, str]]:
    """Plans with a stop moved, dropped or added, and why the proof refuses each, if it does."""
    source, prover = random.Random(11), Regions(Proving())
    found = []
    for old in regions(name, REGIONS, source):
        plan = shuffled(planned(old), source)
        for change in (stop_dropped, stop_moved):
            if mutant := change(plan, source):
                new = packed(mutant, end_of(old))
                verdict = prover.compare(Straight(old), Straight(new), ALL)
                found.append((mutant, verdict.reason))
        assert prover.compare(Straight(old), Straight(packed(plan, end_of(old))), ALL).is_equal
        found.append((plan, ""))
    return found


def _near(insn: Insn) -> Insn:
    """The instruction with a target that is in reach: where it goes is not asked here."""
    targets = {o.name: 0 for o in insn.op.format.operands if o.kind is Kind.TARGET}
    return insn.replace(**targets) if targets else insn


@pytest.mark.parametrize("name", FILES)
def test_as_sees_the_same_violations(name: str, tmp_path: Path) -> None:
    gas = inputs.require_tool("ia64-linux-gnu-as")
    found = moved_stops(name)
    groups = [[_near(placed.insn) for placed in group] for plan, _ in found for group in plan]
    warned, refused = complaints(gas, groups, tmp_path)
    first = both = 0
    for plan, reason in found:
        numbers = range(first, first + len(plan))
        first += len(plan)
        if refused.intersection(numbers):  # as writes alloc with another operand than objdump
            continue
        theirs = any(number in warned for number in numbers)
        assert theirs == bool(reason), (reason, [[str(p.insn) for p in g] for g in plan])
        both += theirs
    assert both > REGIONS / 3
