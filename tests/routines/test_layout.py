"""The rules that our routines are written by, read from their bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewriter.core.isa import Insn
from targets.alpha import routines
from targets.alpha.cpus import CPUS
from targets.alpha.pointers import is_filler
from targets.alpha.routines import Routine

OURS = [routine for name in routines.names() for routine in routines.variants(name)]
IDS = [f"{routine.folder}/{routine.name}" for routine in OURS]
QUAD = 16  # bytes of a fetch block
UPPER = {"ishf", "icbr", "imisc", "imul"}
LOWER = {"ild", "ist", "br", "mem_misc"}
CONTROL = {"icbr", "br"}


def _blocks(routine: Routine) -> Iterator[tuple[int, list[Insn]]]:
    insns = routine.insns()
    for first in range(0, len(insns), 4):
        yield 4 * first, [insn for insn in insns[first : first + 4] if not is_filler(insn)]


def _targets(routine: Routine) -> Iterator[tuple[int, int]]:
    for number, insn in enumerate(routine.insns()):
        target = insn.target(4 * number)
        if target is not None:
            yield 4 * number, target


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_branches_go_to_fetch_blocks(routine: Routine) -> None:
    for here, target in _targets(routine):
        assert target % QUAD == 0, f"{here:#x} goes to {target:#x}"
        assert 0 <= target < len(routine.code), f"{here:#x} leaves the routine"


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_a_loop_has_one_transfer_in_a_fetch_block(routine: Routine) -> None:
    loops = [range(target, here + 4) for here, target in _targets(routine) if target <= here]
    for at, block in _blocks(routine):
        if any(at in loop for loop in loops):
            assert sum(insn.op.sched in CONTROL for insn in block) <= 1, f"{at:#x}"


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_no_inner_loop_asks_for_three_of_one_kind_in_a_fetch_block(routine: Routine) -> None:
    """A loop without calls, no longer than 256 bytes: the slots of a block are two and two."""
    for here, target in _targets(routine):
        if not 0 <= here - target <= 256:
            continue
        for at, block in _blocks(routine):
            if target <= at <= here:
                for kind in (UPPER, LOWER):
                    assert sum(insn.op.sched in kind for insn in block) <= 2, f"{at:#x}"


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_no_cmov_but_in_the_division(routine: Routine) -> None:
    cmovs = [insn for insn in routine.insns() if insn.op.sched == "cmov"]
    assert len(cmovs) == (4 if routine.name.startswith(("div", "rem")) else 0)


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_it_needs_what_its_folder_says(routine: Routine) -> None:
    assert routine.needs <= CPUS[routine.folder].features
    if routine.folder == "ev67":
        assert "CIX" in routine.needs, "then it should be in ev6"


@pytest.mark.parametrize("routine", OURS, ids=IDS)
def test_it_says_what_it_does(routine: Routine) -> None:
    header = routine.text.split("\n\n")[0].splitlines()
    assert all(line.startswith("#") for line in header)
    assert header[0].startswith(f"# {routine.name}: ")


def test_user_copies_mark_every_access() -> None:
    for name in ("__copy_user", "__clear_user"):
        (routine,) = routines.variants(name)
        accesses = {
            4 * n
            for n, insn in enumerate(routine.insns())
            if insn.op.sched in ("ild", "ist") and not is_filler(insn)
        }
        assert accesses == {at for at, _ in routine.resumes}
        assert all(to % QUAD == 0 or name == "__clear_user" for _, to in routine.resumes)
