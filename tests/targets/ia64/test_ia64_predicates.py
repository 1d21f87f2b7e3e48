"""Checks by one predicate get predicates of their own, where nothing reads them beyond an exit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures import inputs
from passes.scheduling.bundled import Outcome, later, schedule
from passes.scheduling.bundled_model import Model
from rewriter.core.code.groups import Slot
from rewriter.core.code.superblock import Superblock
from rewriter.core.isa.instruction import Flow
from rewriter.core.isa.registers import Reg
from rewriter.verify.regions.proof import Regions, Straight, Verdict
from targets.ia64.cpus import CPUS
from targets.ia64.prove.proving import Proving
from targets.ia64.registers import NUMBERS, PR
from targets.ia64.schedule.bundler import Scheduling
from tests.verification.regions.region_cases import in_lines
from tests.verification.regions.region_shuffle import end_of
from tests.verification.regions.region_text import assembled

SCHEDULING = Scheduling(Model(CPUS["itanium2"]))
PREDICATES = sum(1 << NUMBERS[f"p{number}"] for number in range(1, 64))
LIVE = (1 << len(NUMBERS)) - 1 & ~PREDICATES
OUT = 0x10000  # where `region_text` has the label
BRANCH = "(p6) br.cond.sptk.few out |"
CHECKS = "".join(f"cmp.eq p6,p7=r{n},r15 | {BRANCH}" for n in (16, 17, 18)) + "st8 [r19]=r20 |"


def region(text: str, folder: Path, read: int = 0) -> Superblock:
    """Code behind which, and at whose exits but for `read`, no predicate is read."""
    slots = assembled(inputs.require_tool("ia64-linux-gnu-as"), in_lines(text), folder)
    exits = {s.address: LIVE | read for s in slots if s.insn.op.flow is Flow.BRANCH}
    return Superblock(tuple(slots), LIVE, exits=exits)


def verdict(old: Superblock, new: Sequence[Slot], read: int = 0) -> Verdict:
    """What the prover says of other code in its place."""
    ends = {end_of(tuple(new)): end_of(old.slots)}
    return Regions(Proving()).compare(
        Straight(old.slots),
        Straight(tuple(new)),
        LIVE,
        lambda place: ends.get(place, place),
        {OUT: LIVE | read},
    )


def of_branches(found: Outcome) -> list[int]:
    """The predicates of the branches, by number."""
    branches = (s.insn for s in found.slots if s.insn.op.flow is Flow.BRANCH)
    return [insn.operand("qp") - PR for insn in branches]


def test_three_checks_issue_together(tmp_path: Path) -> None:
    """Three compares and three branches are two bundles; the store is behind the branches."""
    old = region(CHECKS, tmp_path)
    found = schedule(old, SCHEDULING)
    assert SCHEDULING.cycles(old.slots) == 7
    assert SCHEDULING.cycles(found.slots) == 2
    assert len(set(of_branches(found))) == 3
    assert verdict(old, found.slots).is_equal


def test_a_predicate_that_is_read_beyond_an_exit_stays(tmp_path: Path) -> None:
    read = 1 << NUMBERS["p6"]
    old = region(CHECKS, tmp_path, read)
    found = schedule(old, SCHEDULING)
    assert of_branches(found) == [6, 6, 6]
    assert verdict(old, found.slots, read).is_equal


def test_the_verifier_refuses_another_predicate(tmp_path: Path) -> None:
    """A branch by the predicate of another check, and all of it where one is read beyond."""
    old = region(CHECKS, tmp_path)
    found = schedule(old, SCHEDULING)
    first, second, _ = of_branches(found)
    at = next(n for n, s in enumerate(found.slots) if s.insn.op.flow is Flow.BRANCH)
    slot = found.slots[at]
    other = replace(slot, insn=slot.insn.replace(qp=Reg(PR + second)))
    assert first != second
    assert not verdict(old, (*found.slots[:at], other, *found.slots[at + 1 :])).is_equal
    assert not verdict(old, found.slots, 1 << NUMBERS["p6"]).is_equal


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("cmp.eq p6,p7=r16,r17 | cmp.eq.or p6,p7=r18,r17 |" + BRANCH + CHECKS, 1),
        ("cmp.eq p6,p7=r16,r17 |" + BRANCH + "mov pr=r14,-1 |" + BRANCH + "st8 [r19]=r20 |", 2),
        ("(p6) br.cond.sptk.few out |" + CHECKS, 1),
    ],
    ids=["gathered in", "written with all others", "there before"],
)
def test_what_has_to_keep_its_predicate(text: str, kept: int, tmp_path: Path) -> None:
    old = region(text, tmp_path)
    found = schedule(old, SCHEDULING)
    assert of_branches(found)[kept - 1] == 6
    assert verdict(old, found.slots).is_equal


def test_a_read_of_all_predicates_is_passed_by_none(tmp_path: Path) -> None:
    """What it reads is in every predicate, so that no other value has a place before it."""
    old = region("mov r14=pr |" + CHECKS, tmp_path)
    found = schedule(old, SCHEDULING)
    assert len(set(of_branches(found))) == 3
    assert verdict(old, found.slots).is_equal


WORK = "".join(f"adds r{n}=1,r{n} |" for _ in range(6) for n in range(18, 32))


def test_an_exit_that_would_come_later_is_no_bar_to_others(tmp_path: Path) -> None:
    """Fourteen chains are more urgent than the first exit, which is in front of them all the same;
    the three behind them are still passed, and issue together."""
    worked = sum(1 << NUMBERS[f"r{n}"] for n in range(18, 32))
    late = CHECKS.replace("r16", "r8").replace("r17", "r9").replace("r18", "r10")
    text = f"cmp.eq p6,p7=r16,r15 | {BRANCH}{WORK}{late}"
    old = region(text, tmp_path)
    first, *others = old.exits
    old = replace(old, exits={first: old.exits[first] & ~worked, **dict.fromkeys(others, LIVE)})
    found = schedule(old, SCHEDULING)
    assert not later(old, found, SCHEDULING)
    assert len(set(of_branches(found)[1:])) == 3
