"""Wrong changes to reordered IA-64 regions are caught; what is let through is shown equal."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.core.code.groups import Slot, groups
from rewriter.core.isa.instruction import Insn
from rewriter.verify.regions.proof import Regions, Straight, Verdict
from targets.ia64.prove.proving import Proving
from targets.ia64.registers import NUMBERS
from tests.support.ia64_straight import Trial
from tests.targets.ia64.ia64_assembled import complaints
from tests.verification.regions.region_mutants import mutants
from tests.verification.regions.region_shuffle import (
    FILES,
    end_of,
    is_nop,
    packed,
    planned,
    regions,
    shuffled,
)

ALL = (1 << len(NUMBERS)) - 1  # every register may be read behind
REGIONS = 30  # of each file
STATES, MANY = 8, 200  # states from which a mutant is tried
# Changes after which the same instructions stand in the same order: all that can be wrong is that
# a stop is missing, and that as says.
SAME_ORDER = ("stop dropped", "stop moved", "template")


@dataclass(frozen=True)
class Case:
    """A mutant, what the prover says of it, and whether a trial tells it from the original."""

    kind: str
    old: tuple[Slot, ...]
    good: tuple[Slot, ...]
    new: tuple[Slot, ...]
    verdict: Verdict
    told_apart: bool

    def __str__(self) -> str:
        return f"{self.kind} of {self.old[0].address:#x}: {self.verdict.reason}"


def cases(name: str, source: random.Random) -> Iterator[Case]:
    """Mutants of shuffled regions of a file."""
    prover = Regions(Proving())
    for old in regions(name, REGIONS, source):
        plan = shuffled(planned(old), source)
        good = packed(plan, end_of(old))
        assert prover.compare(Straight(old), Straight(good), ALL).is_equal
        trial = Trial.of(old, STATES)
        assert not any(trial.differences(good, ALL))
        for kind, new in mutants(plan, end_of(old), source):
            if new != good:
                verdict = prover.compare(Straight(old), Straight(new), ALL)
                told_apart = any(trial.differences(new, ALL))
                yield Case(kind, old, good, new, verdict, told_apart)


@pytest.fixture(scope="module", params=FILES)
def found(request: pytest.FixtureRequest) -> list[Case]:
    return list(cases(request.param, random.Random(5)))


def test_wrong_regions_are_caught(
    found: list[Case], record_property: Callable[[str, object], None]
) -> None:
    missed = [case for case in found if case.told_apart and case.verdict.is_equal]
    assert not missed, list(map(str, missed))
    caught = Counter(case.kind for case in found if not case.verdict.is_equal)
    wrong = Counter(case.kind for case in found if case.told_apart)
    print("caught:", dict(caught), "of these told apart by the machine:", dict(wrong))
    record_property("caught", dict(caught))
    assert caught.total() >= 180
    assert wrong.total() >= 150


def _insns(slots: Sequence[Slot]) -> list[Insn]:
    """The instructions in order; which of two units an A-type one is for does not count."""
    insns = [slot.insn for slot in slots if not is_nop(slot.insn)]
    return [insn.replace(slot=0) if insn.has("slot") else insn for insn in insns]


def _groups(slots: Sequence[Slot]) -> list[list[Insn]]:
    return [[slot.insn for slot in group] for group in groups(slots)]


def test_what_is_let_through_is_equal(found: list[Case], tmp_path: Path) -> None:
    """It has the same instructions in the same order, so that only a stop may be missing.

    None is, says as.  Where the instructions changed, the machine finds no difference in many more
    states: what changed was dead, under exclusive predicates, or accesses to different bytes.
    """
    gas = inputs.require_tool("ia64-linux-gnu-as")
    let_through = [case for case in found if case.verdict.is_equal]
    for case in let_through:
        warned, _ = complaints(gas, _groups(case.new), tmp_path)
        assert not warned, str(case)
        if case.kind in SAME_ORDER:
            assert _insns(case.good) == _insns(case.new), str(case)
        else:
            trial = Trial.of(case.old, MANY)
            assert len(trial.told) == MANY, str(case)
            assert not any(trial.differences(case.new, ALL)), str(case)
    others = [case for case in let_through if case.kind not in SAME_ORDER]
    assert len(others) < len(found) / 50
