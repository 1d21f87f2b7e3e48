"""Prefetches that a reordered IA-64 region has and the original has not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.verify.regions.proof import Regions, Straight, Verdict
from targets.ia64.prefetching import Prefetching
from targets.ia64.prove.proving import Proving
from targets.ia64.registers import NUMBERS
from tests.verification.regions.region_cases import in_lines
from tests.verification.regions.region_shuffle import end_of
from tests.verification.regions.region_text import assembled

ALL = (1 << len(NUMBERS)) - 1
DEAD = ("r14", "r16", "r17", "r18")
BODY = "ld8 r14=[r15],8 | add r8=r8,r14 / br.cloop.sptk.few base |"
STRAIGHT = "ld8 r14=[r15],8 | add r8=r8,r14 / br.cloop.sptk.few out |"
HINTED = "adds r16=1024,r15 / ld8 r14=[r15],8 | lfetch [r16] / add r8=r8,r14 / br.cloop.sptk.few"
GUARDED = "(p6) ld8 r14=[r15],8 | add r8=r8,r14 / br.cloop.sptk.few base |"


def compared(old: str, new: str, folder: Path, may_add: bool = True) -> Verdict:
    """What the prover says when nothing reads the scratch registers at the exits."""
    gas = inputs.require_tool("ia64-linux-gnu-as")
    one, other = (assembled(gas, in_lines(text), folder) for text in (old, new))
    live = ALL & ~sum(1 << NUMBERS[name] for name in DEAD)
    ends = {end_of(other): end_of(one)}
    return Regions(Proving()).compare(
        Straight(one), Straight(other), live, lambda at: ends.get(at, at), hints=may_add
    )


@pytest.mark.parametrize(
    "new",
    [
        f"{HINTED} base |",
        f"{HINTED.replace('lfetch', 'lfetch.excl.nt1')} base |",
        f"{HINTED.replace('1024', '-2048')} base |",
        # Nobody reads the spare register afterwards.
        f"{HINTED.replace('[r16]', '[r16],64')} base |",
        # As far from the first access of a pass as from the one behind it.
        "ld8 r14=[r15],8 | adds r16=1016,r15 | lfetch [r16] / add r8=r8,r14 /"
        "br.cloop.sptk.few base |",
    ],
)
def test_a_hint_may_come(new: str, tmp_path: Path) -> None:
    assert compared(BODY, new, tmp_path) == Verdict(True)
    refused = compared(BODY, new, tmp_path, may_add=False)
    assert "which may see a device" in refused.reason


def test_a_hint_may_move_and_go(tmp_path: Path) -> None:
    """What the original has may stay in any code, or be dropped."""
    old = f"{HINTED} out |"
    moved = "adds r17=1024,r15 | lfetch [r17] / ld8 r14=[r15],8 | add r8=r8,r14 /"
    moved += "br.cloop.sptk.few out |"
    assert compared(old, moved, tmp_path, may_add=False) == Verdict(True)
    assert compared(old, STRAIGHT, tmp_path, may_add=False) == Verdict(True)


MUTANTS = {
    "it may fault": (HINTED.replace("lfetch", "lfetch.fault"), "an instruction of the new code"),
    "a load": (HINTED.replace("lfetch [r16]", "ld8 r17=[r16]"), "ld8 is an access of the new"),
    "a store": (HINTED.replace("lfetch [r16]", "st8 [r16]=r17"), "st8 is an access of the new"),
    "a live address moves": (HINTED.replace("lfetch [r16]", "lfetch [r9],8"), "r9 differs"),
    "the stream moves": (HINTED.replace("lfetch [r16]", "lfetch [r15],8"), "r15 differs"),
    "a live register is taken": (HINTED.replace("r16", "r20"), "r20 differs"),
    "a predicate": (HINTED.replace("lfetch", "(p6) lfetch"), "lfetch asks for nothing near"),
    "another stream": (HINTED.replace("1024,r15", "1024,r21"), "lfetch asks for nothing near"),
    "any number": (HINTED.replace("adds r16=1024,r15", "addl r16=1024,r0"), "for nothing near"),
    "no address": (HINTED.replace("adds r16=1024,r15 /", ""), "lfetch asks for nothing near"),
    "too far": (
        HINTED.replace("adds r16", "adds r18=8000,r15 | adds r16").replace("1024,r15", "8000,r18")
        .replace("| lfetch", "| adds r16=8000,r16 | lfetch"),
        "lfetch asks for nothing near",
    ),
    "two of them": (
        HINTED.replace("lfetch [r16]", "lfetch [r16] / lfetch [r21]"), "lfetch asks for nothing"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_no_hint_is_refused(name: str, tmp_path: Path) -> None:
    new, why = MUTANTS[name]
    verdict = compared(BODY, f"{new} base |", tmp_path)
    assert not verdict.is_equal
    assert re.search(why, verdict.reason), verdict.reason


def test_a_sum_in_the_same_group(tmp_path: Path) -> None:
    new = "adds r16=1024,r15 / lfetch [r16] / ld8 r14=[r15],8 | add r8=r8,r14 /"
    verdict = compared(BODY, f"{new} br.cloop.sptk.few base |", tmp_path)
    assert "r16 within an instruction group" in verdict.reason


def test_code_that_does_not_go_back(tmp_path: Path) -> None:
    verdict = compared(STRAIGHT, f"{HINTED} out |", tmp_path)
    assert "which is no loop" in verdict.reason


def test_an_access_under_a_predicate(tmp_path: Path) -> None:
    """A hint for it needs the same."""
    new = GUARDED.replace("(p6)", "adds r16=1024,r15 / (p6)").replace(
        "| add", "| lfetch [r16] /add"
    )
    assert "for nothing near" in compared(GUARDED, new, tmp_path).reason
    assert compared(GUARDED, new.replace("lfetch", "(p6) lfetch"), tmp_path).is_equal


def test_regions_of_the_address_space() -> None:
    """Linux for IA-64 has its kernel in regions 5 to 7, programs in 1 to 4."""
    hints = Prefetching()
    programs = (0x10000, 0x2000000000000000, 0x4000000000000FF0, 0x9FFFFFFFFFFFFFFF)
    kernels = (0xA000000100000000, 0xC000000000000000, 0xE000000000000000)
    assert [hints.may_be_device(at) for at in programs] == [False] * 4
    assert [hints.may_be_device(at) for at in kernels] == [True] * 3
