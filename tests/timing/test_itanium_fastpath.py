"""The story of a fast path: as one writes it, with its latencies in mind, and as good as it gets.

Chapman and Heiser took such a path from 170 cycles to 36 by order alone.  Ours is
`fixtures/ia64/fastpath.s`; what it costs as written is counted by hand here.
"""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from fixtures import ia64
from rewriter.core.bundled import BundledCpu
from rewriter.core.grouped import Grouped
from rewriter.core.isa import Insn
from rewriter.elf import image
from rewriter.suites.itanium import Stage, slots_of, stages
from targets import any_for
from targets.ia64.registers import NAMES

GRALL, ARCR = "BE_EXE_BUBBLE.GRALL", "BE_EXE_BUBBLE.ARCR"
RSE = "BE_RSE_BUBBLE"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Stage, ...]:
    loaded = image.load(ia64.fastpath(tmp_path_factory.mktemp("fastpath")))
    target = any_for(loaded.machine, loaded.name)
    cpu = target.cpus["itanium2"]
    assert isinstance(target, Grouped)
    assert isinstance(cpu, BundledCpu)
    symbols = {symbol.name: symbol.st_value for symbol in loaded.symbols}
    slots = slots_of(loaded, target, symbols["fastpath"], symbols["slow"])
    return tuple(stages(slots, target, cpu))


def test_as_written_it_waits_for_everything(story: tuple[Stage, ...]) -> None:
    """By hand: each read of a kernel register (12 cycles) is used in the next group, six times;
    once there is a group between, and once there are two, which hides as many cycles."""
    kernel_registers = 6 * 11 + 11 + 10 + 9
    # bspstore and fpsr (12), rnat and unat (5), with a group between, and behind a read of unat
    # what is left of its bundle.
    saved = 2 * 10 + 3 + 2
    by_hand = {
        GRALL: kernel_registers + saved,
        ARCR: 4,  # rsm to srlz.d: 5
        f"{RSE}.AR_DEP": 1 + 4,  # rsc= to =bspstore: 2; bspstore= to rnat=: 5
        f"{RSE}.LOADRS": 13 - 5 - 1,  # bspstore= to loadrs: 13, of which rnat= took 5
        f"{RSE}.BANK_SWITCH": 5 + 4,  # bsw to anything: 6, twice
        "BE_L1D_FPU_BUBBLE.L1D_DCURECIR": 1,  # behind rr=, in a cycle of the second bsw
    }
    timing = story[0].timing
    assert timing.bubbles == by_hand
    assert timing.within == {"BE_EXE_BUBBLE.GRGR": by_hand[GRALL]}  # for no load
    stops = sum(issued.slot.stop for issued in timing.timeline)
    assert timing.groups == stops + sum(timing.splits.values())


def test_every_order_has_the_same_instructions(story: tuple[Stage, ...]) -> None:
    """But for registers, nothing is lost and nothing made up."""
    names = [
        Counter(
            issued.slot.insn.op.name
            for issued in stage.timing.timeline
            if not issued.slot.insn.op.name.startswith("nop.")
        )
        for stage in story
    ]
    assert all(each == names[0] for each in names[1:])


def test_each_step_is_quicker_and_no_longer(story: tuple[Stage, ...]) -> None:
    """Bundles, nops and cycles fall from step to step."""
    for before, after in itertools.pairwise(story):
        assert after.timing.cycles < before.timing.cycles
        assert len(after.timing.timeline) <= len(before.timing.timeline)
        assert after.nops < before.nops


def test_distances_hold_in_every_order(story: tuple[Stage, ...]) -> None:
    """From the article's table, looked up here once more, in the order as issued."""
    for stage in story:
        cycles = {_spelled(issued.slot.insn): issued.cycle for issued in stage.timing.timeline}
        assert cycles["loadrs"] - cycles["TOAR_M ar.bspstore"] >= 13
        assert cycles["TOAR_M ar.rnat"] - cycles["TOAR_M ar.bspstore"] >= 5
        assert cycles["TOAR_M ar.rnat"] - cycles["FRAR_M ar.bspstore"] >= 8
        assert cycles["srlz.d"] - cycles["rsm"] >= 5
        assert stage.timing.cycles - 1 - cycles["bsw.1"] >= 6


def _spelled(insn: Insn) -> str:
    if insn.has("ar3"):
        return f"{insn.op.sched} {NAMES[insn.operand('ar3')]}"
    return insn.name
