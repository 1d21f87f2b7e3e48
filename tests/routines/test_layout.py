"""The rules that our routines are written by, read from their bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewriter.core.isa.instruction import Flow, Insn
from targets.alpha import routines
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS
from targets.alpha.image.pointers import is_nop
from targets.alpha.routines import Routine
from targets.assembly import ROUTINE_ALIGNMENT

OURS = [routine for name in routines.names() for routine in routines.variants(name)]
IDS = [f"{routine.folder}/{routine.name}" for routine in OURS]
QUAD = 16  # bytes of a fetch block
UPPER = {"ishf", "icbr", "imisc", "imul"}
LOWER = {"ild", "ist", "br", "mem_misc"}
CONTROL = {"icbr", "br"}
ENDS = (Flow.JUMP, Flow.RETURN)
BEST = {routine.name: routine for routine in OURS}


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_a_routine_does_not_depend_on_its_address(routine: Routine) -> None:
    """The same bytes on any boundary of the sort that routines stand on."""
    for address in (ROUTINE_ALIGNMENT, 0x123_4567 * ROUTINE_ALIGNMENT):
        assert assemble(routine.text, address).code == routine.code


def _blocks(routine: Routine) -> Iterator[tuple[int, list[Insn]]]:
    insns = routine.insns()
    for first in range(0, len(insns), 4):
        yield 4 * first, [insn for insn in insns[first : first + 4] if not is_nop(insn)]


def _targets(routine: Routine) -> Iterator[tuple[int, int]]:
    for number, insn in enumerate(routine.insns()):
        target = insn.target(4 * number)
        if target is not None:
            yield 4 * number, target


def _followers(routine: Routine) -> dict[int, set[int]]:
    """Where control goes from each instruction, within the routine."""
    insns = routine.insns()
    following: dict[int, set[int]] = {}
    for at, insn in zip(range(0, 4 * len(insns), 4), insns, strict=True):
        target = insn.target(at)
        following[at] = set() if insn.op.flow in ENDS else {at + 4}
        following[at] |= set() if target is None else {target}
    return following


def _reached(start: int, following: dict[int, set[int]]) -> set[int]:
    seen, ahead = set[int](), [start]
    while ahead:
        at = ahead.pop()
        if at in following and at not in seen:
            seen.add(at)
            ahead += following[at]
    return seen


def _loops(routine: Routine) -> Iterator[tuple[range, set[int]]]:
    """From where to where each loop stretches, and the fetch blocks in it: a branch backwards to
    what leads to it again."""
    following = _followers(routine)
    preceding: dict[int, set[int]] = {at: set() for at in following}
    for at, follows in following.items():
        for to in follows & preceding.keys():
            preceding[to].add(at)
    for here, target in _targets(routine):
        body = _reached(target, following) & _reached(here, preceding)
        if target <= here and here in body:
            yield range(target, here + 4), {at - at % QUAD for at in body}


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_branches_go_to_fetch_blocks(routine: Routine) -> None:
    for here, target in _targets(routine):
        assert target % QUAD == 0, f"{here:#x} goes to {target:#x}"
        assert 0 <= target < len(routine.code), f"{here:#x} leaves the routine"


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_a_loop_has_one_transfer_in_a_fetch_block(routine: Routine) -> None:
    inside = {at for _, blocks in _loops(routine) for at in blocks}
    for at, block in _blocks(routine):
        if at in inside:
            assert sum(insn.op.sched in CONTROL for insn in block) <= 1, f"{at:#x}"


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_no_inner_loop_asks_for_three_of_one_kind_in_a_fetch_block(routine: Routine) -> None:
    """A loop without calls, no longer than 256 bytes: the slots of a block are two and two."""
    inner = [blocks for extent, blocks in _loops(routine) if len(extent) <= 256]
    for at, block in _blocks(routine):
        if any(at in blocks for blocks in inner):
            for kind in (UPPER, LOWER):
                assert sum(insn.op.sched in kind for insn in block) <= 2, f"{at:#x}"


def test_every_loop_is_found() -> None:
    """A routine without a loop has none, and strlen's is the short one that it is."""
    found = {name: [len(extent) for extent, _ in _loops(routine)] for name, routine in BEST.items()}
    assert found["ffsll"] == [] and found["strlen"] and max(found["strlen"]) <= 64


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_no_cmov_but_in_the_divisions(routine: Routine) -> None:
    cmovs = [insn for insn in routine.insns() if insn.op.sched == "cmov"]
    assert len(cmovs) == {"div": 4, "rem": 4, "udi": 1}.get(routine.name[:3], 0)


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_it_needs_what_its_folder_says(routine: Routine) -> None:
    assert routine.needs <= CPUS[routine.folder].features
    if routine.folder == "ev67":
        assert "CIX" in routine.needs, "then it should be in ev6"


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_it_says_what_it_does(routine: Routine) -> None:
    header = routine.text.split("\n\n")[0].splitlines()
    assert all(line.startswith("#") for line in header)
    assert header[0].startswith(f"# {routine.name.partition('-')[0]}: ")


def test_user_copies_mark_every_access() -> None:
    for name in ("__copy_user", "__clear_user"):
        (routine,) = routines.variants(name)
        accesses = {
            4 * n
            for n, insn in enumerate(routine.insns())
            if insn.op.sched in ("ild", "ist") and not is_nop(insn)
        }
        assert accesses == {at for at, _ in routine.resumes}
        assert all(to % QUAD == 0 or name == "__clear_user" for _, to in routine.resumes)
