"""What may pass an exit of a region, given what may be read where it leads to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.verify.regions.proof import Regions, Straight, Verdict
from targets.ia64.prove.proving import Proving
from targets.ia64.registers import NUMBERS
from tests.verification.regions.region_cases import in_lines
from tests.verification.regions.region_shuffle import end_of
from tests.verification.regions.region_text import assembled

ALL = (1 << len(NUMBERS)) - 1
OUT, OTHER = 0x10000, 0x20000  # where `region_text` has these labels
BRANCH = "(p6) br.cond.sptk.few out |"


def compared(old: str, new: str, dead: str, folder: Path) -> Verdict:
    """What the prover says when some registers are dead at `out`, and all others live."""
    gas = inputs.require_tool("ia64-linux-gnu-as")
    one, other = (assembled(gas, in_lines(text), folder) for text in (old, new))
    at = {OUT: ALL & ~sum(1 << NUMBERS[name] for name in dead.split())}
    ends = {end_of(other): end_of(one)}
    return Regions(Proving()).compare(
        Straight(one), Straight(other), ALL, lambda place: ends.get(place, place), at
    )


@pytest.mark.parametrize(
    ("old", "new", "dead"),
    [
        (BRANCH + "add r8=r9,r10 |", "add r8=r9,r10 / " + BRANCH, "r8"),
        ("add r8=r9,r10 |" + BRANCH + "st8 [r11]=r9 |",
         BRANCH + "st8 [r11]=r9 / add r8=r9,r10 |", "r8"),
        (BRANCH + "(p7) add r8=r9,r10 |", "(p7) add r8=r9,r10 / " + BRANCH, "r8"),
        (BRANCH + "cmp.eq p8,p9=r9,r10 | (p8) br.cond.sptk.few other |",
         "cmp.eq p8,p9=r9,r10 | " + BRANCH + "(p8) br.cond.sptk.few other |", "p8 p9"),
        ("mov r14=r41 |" + BRANCH + "add r8=r40,r9 |",
         "mov r14=r41 / add r8=r40,r9 /" + BRANCH, "r8"),
        ("br.cloop.sptk.few out | add r8=r9,r10 |", "add r8=r9,r10 | br.cloop.sptk.few out |",
         "r8"),
        (BRANCH + "add r8=r9,r10 | mov r11=r8 |", "add r8=r9,r10 | mov r11=r8 /" + BRANCH,
         "r8 r11"),
    ],
    ids=["up", "down", "up under a predicate", "compare", "in the frame", "loop", "two"],
)  # fmt: skip
def test_what_is_dead_there_may_pass(old: str, new: str, dead: str, tmp_path: Path) -> None:
    assert compared(old, new, dead, tmp_path) == Verdict(True)
    for name in dead.split():
        rest = " ".join(set(dead.split()) - {name})
        found = compared(old, new, rest, tmp_path)
        assert found.reason.startswith(f"{name} differs at br."), found


@pytest.mark.parametrize(
    ("old", "new", "dead", "why"),
    [
        (BRANCH + "ld8 r8=[r9] |", "ld8 r8=[r9] / " + BRANCH, "r8", "ld8 is an access"),
        (BRANCH + "(p8) mov r8=1 / (p9) mov r8=2 |", "(p8) mov r8=1 / (p9) mov r8=2 |" + BRANCH,
         "r8", "r8 within"),
        ("ld8 r8=[r9] |" + BRANCH + "mov r11=r9 |", BRANCH + "ld8 r8=[r9] / mov r11=r9 |", "r8",
         "ld8 is an access"),
        (BRANCH + "st8 [r9]=r8 |", "st8 [r9]=r8 / " + BRANCH, "", "st8 is an access"),
        ("st8 [r9]=r8 |" + BRANCH + "mov r8=r9 |", BRANCH + "st8 [r9]=r8 / mov r8=r9 |", "",
         "st8 is an access"),
        (BRANCH + "fma.s0 f8=f9,f10,f11 |", "fma.s0 f8=f9,f10,f11 / " + BRANCH, "f8", "fma"),
        (BRANCH + "mov b6=r8 |", "mov b6=r8 / " + BRANCH, "b6", "mov"),
        (BRANCH + "mov ar.ccv=r8 |", "mov ar.ccv=r8 / " + BRANCH, "ar.ccv", "mov"),
        (BRANCH + "mov r12=r8 |", "mov r12=r8 / " + BRANCH, "r12", "adds is a move of the stack"),
        (BRANCH + "mov r13=r8 |", "mov r13=r8 / " + BRANCH, "r13", "r13 differs"),
        (BRANCH + "add r8=r40,r9 |", "add r8=r40,r9 / " + BRANCH, "r8", "outside the frame"),
        (BRANCH + "ld8.s r8=[r9] |", "ld8.s r8=[r9] / " + BRANCH, "r8", "ld8.s"),
        (BRANCH + "clz r8=r9 |", "clz r8=r9 / " + BRANCH, "r8", "clz is an instruction"),
        (BRANCH + "tf.z p8,p9=33 |", "tf.z p8,p9=33 / " + BRANCH, "p8 p9", "tf.z is an instr"),
        ("(p6) mpy4 r8=r9,r10 |", "mpy4 r8=r9,r10 |", "", "mpy4 is an instruction"),
        (BRANCH + "lfetch.count [r9],1,2 |", "lfetch.count [r9],1,2 |" + BRANCH, "r9", "lfetch.c"),
        ("(p6) br.call.sptk.few b0=out | mov r8=r9 |",
         "mov r8=r9 / (p6) br.call.sptk.few b0=out | nop.m 0 |", "r8", "r8 differs at br.call"),
        ("(p6) br.ret.sptk.few b0 | mov r8=r9 |", "mov r8=r9 | (p6) br.ret.sptk.few b0 |",
         "r8", "r8 differs at br.ret"),
        ("(p6) br.cond.sptk.few b6 | mov r8=r9 |", "mov r8=r9 | (p6) br.cond.sptk.few b6 |",
         "r8", "r8 differs at br.cond"),
        (BRANCH + "(p7) br.cond.sptk.few other |", "(p7) br.cond.sptk.few other |" + BRANCH, "",
         "another condition"),
        ("mov r8=r9 | br.cond.sptk.few other |", "br.cond.sptk.few other | mov r8=r9 |", "r8",
         "r8 differs"),
    ],
    ids=[
        "load up", "clash up", "load down", "store up", "store down", "floating", "branch register",
        "application register", "stack", "thread", "frame", "speculative load", "some CPUs only",
        "a test of some CPUs only", "some CPUs only, always", "a prefetch of some CPUs", "call",
        "return", "computed", "exits exchanged", "behind the end",
    ],
)  # fmt: skip
def test_what_may_not_pass(old: str, new: str, dead: str, why: str, tmp_path: Path) -> None:
    found = compared(old, new, dead, tmp_path)
    assert not found.is_equal
    assert re.search(why, found.reason), found


def test_behind_a_branch_that_renames_every_register_is_live(tmp_path: Path) -> None:
    old, new = "mov r8=r9 | br.ctop.sptk.few out |", "mov r8=0 | br.ctop.sptk.few out |"
    assert compared(old, new, "r8", tmp_path).reason == "r8 differs at br.ctop"
    old, new = (text.replace("ctop", "cloop") for text in (old, new))
    assert compared(old, new, "r8", tmp_path).reason == "r8 differs at the end"
