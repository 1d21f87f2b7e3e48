"""Regions as the product reorders them, proved, and run beside the originals on the machine."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures.inputs import require, require_tool
from passes import offered
from passes.scheduling.bundled import schedule
from passes.scheduling.bundled_model import Model
from rewriter.core.code.groups import Slot
from rewriter.core.code.superblock import Superblock
from rewriter.elf.image import load
from rewriter.road.bundled.road import BundledRoad, prepared
from rewriter.road.options import Options
from rewriter.verify.regions.check import verify
from rewriter.verify.regions.proof import Regions, Straight, Verdict
from targets.ia64.cpus import CPUS
from targets.ia64.prove.proving import Proving
from targets.ia64.registers import NUMBERS
from targets.ia64.schedule.bundler import Scheduling
from tests.verification.regions.region_cases import in_lines
from tests.verification.regions.region_mutants import mutants
from tests.verification.regions.region_shuffle import end_of, planned, regions
from tests.verification.regions.region_text import assembled
from tests.verification.regions.region_trials import TrialRegions

ALL = (1 << len(NUMBERS)) - 1
STATES = 3
# Functions of the libraries with some hundred regions.
PARTS = {
    "ia64-libjnidispatch": r"ffi_\w+|sub_[6-7]\w+|get\w+",
    "ia64-libsigar": r"sigar_(net|cpu)\w+",
}


@pytest.mark.parametrize("name", PARTS)
def test_what_the_road_makes_does_the_same(name: str) -> None:
    image = load(require(name))
    target = targets.of(image)
    options = Options(passes=offered(target), funcs=(PARTS[name],))
    road = BundledRoad(prepared(image, target, target.cpus["itanium2"], options))
    new = replace(image, data=road.run(road.functions, lambda *progress: None))
    prover = TrialRegions(target.proving, STATES)
    verdict = verify(road.prepared.known, new, lambda *progress: None, prover=prover)
    assert verdict.ok
    assert prover.tried.differences == []
    assert prover.tried.regions > 100
    assert prover.tried.silent < prover.tried.regions / 50


REGIONS = 150


def compared(prover: TrialRegions, old: tuple[Slot, ...], new: tuple[Slot, ...]) -> Verdict:
    """With every register live behind both, which end at the same place."""
    return prover.compare(Straight(old), Straight(new), ALL, behind(old, new))


def behind(old: tuple[Slot, ...], new: tuple[Slot, ...]) -> Callable[[int], int]:
    """What stands for what: the end of the new code for that of the old."""
    return lambda at: end_of(old) if at == end_of(new) else at


@pytest.fixture(scope="module")
def kernel() -> TrialRegions:
    """Regions of the kernel that the scheduler changed, proved and tried."""
    scheduling, prover = Scheduling(Model(CPUS["itanium2"])), TrialRegions(Proving(), STATES)
    for old in regions("ia64-vmlinux", REGIONS, random.Random(2)):
        outcome = schedule(Superblock(old), scheduling)
        if not outcome.reason:
            verdict = compared(prover, old, outcome.slots)
            assert verdict.is_equal, (hex(old[0].address), verdict)
    return prover


def test_scheduled_regions_of_the_kernel_do_the_same(kernel: TrialRegions) -> None:
    assert kernel.tried.differences == []
    assert kernel.tried.regions > REGIONS / 3
    # Where the nops before a function are in the group of its alloc, the machine refuses that.
    assert kernel.tried.silent < kernel.tried.regions / 5


def test_wrong_orders_are_told_apart(kernel: TrialRegions) -> None:
    """Most of them from three states; and the proof refuses each of these."""
    source, prover = random.Random(4), Regions(Proving())
    made, told = Counter[str](), Counter[str]()
    for old, good, trial in kernel.pairs[::2]:
        for kind, new in mutants(planned(good), end_of(good), source):
            made[kind] += 1
            if any(trial.differences(new, ALL, behind(old, new))):
                told[kind] += 1
                verdict = prover.compare(Straight(old), Straight(new), ALL, behind(old, new))
                assert not verdict.is_equal, (kind, hex(old[0].address))
    for kind in ("swapped", "stop dropped", "stop moved", "register changed"):
        assert told[kind] > 0.7 * made[kind] > 0, (kind, told, made)
    assert told.total() > made.total() / 2


# Registers that an instruction needs although its row does not say that it reads them.
NEEDED = {
    "the target of a check load": (
        "getf.sig r20=f8 | sub r8=r20,r33 | add r11=r8,r20 | ld8.a r8=[r34] | st8 [r35]=r11 |"
        "ld8.c.clr r8=[r34] | add r14=r8,r36 | ld8 r15=[r14] | mov r11=0 | mov r20=0 |"
    ),
    "the bank that goes": (
        "mov r18=ar.rnat | mov ar.bspstore=r19 | mov ar.rnat=r18 | mov r18=b0 |"
        "mov cr.iip=r18 | mov r18=r0 | rfi |"
    ),
}


@pytest.mark.parametrize("text", NEEDED.values(), ids=NEEDED)
def test_what_is_needed_unseen_is_kept(text: str, tmp_path: Path) -> None:
    old = assembled(require_tool("ia64-linux-gnu-as"), in_lines(text), tmp_path)
    outcome = schedule(Superblock(old), Scheduling(Model(CPUS["itanium2"])))
    prover = TrialRegions(Proving(), STATES)
    verdict = compared(prover, old, outcome.slots)
    assert not outcome.reason
    assert verdict.is_equal, verdict
    assert prover.tried.differences == []
