"""Straight code on the Itanium 2: what each wait costs and which counter has it."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Insn
from rewriter.timing.bundled.run import cycles as cycles_alone
from rewriter.timing.bundled.run import run
from targets.ia64.cpus import CPUS
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE
from tests.timing.itanium.ia64_bundles import assembled

CPU = CPUS["itanium2"]
GRALL, GRGR = "BE_EXE_BUBBLE.GRALL", "BE_EXE_BUBBLE.GRGR"
ARCR, RSE = "BE_EXE_BUBBLE.ARCR", "BE_RSE_BUBBLE"

# Two groups, and the bubbles between them by counter.
BUBBLES = [
    ("ld8 r8=[r9] ;; ld8 r10=[r8] ;;", {GRALL: 1}),
    ("padd1 r8=r9,r9 ;; add r10=r8,r8 ;;", {GRALL: 2}),
    ("mov r8=ar.k6 ;; add r10=r8,r8 ;;", {GRALL: 11}),
    ("ldfd f8=[r9] ;; fma.d f9=f8,f8,f8 ;;", {"BE_EXE_BUBBLE.FRALL": 5}),
    ("fcmp.eq.s0 p6,p7=f8,f9 ;; (p6) add r8=r9,r9 ;;", {"BE_EXE_BUBBLE.PR": 1}),
    ("mov ar.rsc=r8 ;; mov r9=ar.rnat ;;", {f"{RSE}.AR_DEP": 11}),
    ("mov ar.bspstore=r8 ;; mov ar.rnat=r9 ;;", {f"{RSE}.AR_DEP": 4}),
    ("mov r8=ar.bsp ;; mov ar.rnat=r9 ;;", {ARCR: 7}),
    ("add r8=r9,r9 ;; flushrs ;;", {f"{RSE}.OVERFLOW": 1}),
    ("mov ar.bspstore=r8 ;; loadrs ;;", {f"{RSE}.LOADRS": 12}),
    ("mov rr[r8]=r9 ;; srlz.d ;;", {ARCR: 12, "BE_L1D_FPU_BUBBLE.L1D_DCURECIR": 1}),
    ("rsm 0x4000 ;; srlz.d ;;", {ARCR: 4}),
    (
        "srlz.i ;; add r8=r9,r9 ;;",
        {"BE_FLUSH_BUBBLE.XPN": 8, "BACK_END_BUBBLE.FE": 3},
    ),
    (
        "{.mfb; nop 0; nop 0; rfi ;; }\nadd r8=r9,r9 ;;",
        {"BE_FLUSH_BUBBLE.BRU": 1, "BE_FLUSH_BUBBLE.XPN": 8, "BACK_END_BUBBLE.FE": 3},
    ),
    ("{.mfb; nop 0; nop 0; bsw.1 ;; }\nadd r8=r9,r9 ;;", {f"{RSE}.BANK_SWITCH": 5}),
]


@pytest.mark.parametrize(("text", "bubbles"), BUBBLES)
def test_bubbles(text: str, bubbles: dict[str, int], tmp_path: Path) -> None:
    """Of the article's counters, with rfi and srlz.i split as it has them."""
    timing = run(CPU, assembled(text, tmp_path))
    assert timing.bubbles == bubbles
    assert timing.cycles == timing.groups + sum(bubbles.values())
    assert timing.cycles == cycles_alone(CPU, assembled(text, tmp_path))


def test_waiting_for_a_load_is_not_waiting_for_an_operation(tmp_path: Path) -> None:
    """GRALL has both, GRGR the second only."""
    text = "ld8 r8=[r9] ;; ld8 r10=[r8] ;; padd1 r8=r9,r9 ;; add r11=r8,r8 ;;"
    timing = run(CPU, assembled(text, tmp_path))
    assert timing.bubbles == {GRALL: 3}
    assert timing.within == {GRGR: 2}


def test_several_reasons_count_once(tmp_path: Path) -> None:
    """An address space is written while the register stack comes back: one loss hides another."""
    text = "mov ar.bspstore=r8 ;; mov rr[r9]=r10 ;; loadrs ;; srlz.d ;;"
    timing = run(CPU, assembled(text, tmp_path))
    assert timing.bubbles == {
        "BE_L1D_FPU_BUBBLE.L1D_DCURECIR": 1,
        f"{RSE}.LOADRS": 10,
        ARCR: 1,
    }
    cycles = {issued.slot.insn.name: issued.cycle for issued in timing.timeline}
    assert (cycles["loadrs"], cycles["srlz.d"]) == (13, 15)


def test_a_bubble_that_hits_an_issue_moves_it(tmp_path: Path) -> None:
    """Five cycles after a region register is written nothing issues."""
    nops = "{.mmi; nop 0; nop 0; nop 0 ;;}\n" * 8
    timing = run(CPU, assembled("mov rr[r8]=r9 ;;\n" + nops, tmp_path))
    cycles = sorted({issued.cycle for issued in timing.timeline})
    assert cycles == [0, 1, 2, 3, 4, 6, 7, 8, 9]


def test_the_timeline_says_who_waits_for_whom(tmp_path: Path) -> None:
    """The load of the address holds the load."""
    slots = assembled("ld8 r8=[r9] ;; ld8 r10=[r8] ;;", tmp_path)
    timing = run(CPU, slots)
    (held,) = [issued for issued in timing.timeline if issued.waited]
    assert held.slot.insn.name == "ld8"
    assert (held.cycle, held.port, held.cause, held.behind) == (2, "M0", GRALL, slots[0].address)


def test_a_predicated_result_does_not_replace_the_one_before_it(tmp_path: Path) -> None:
    """Either may be the value that is read."""
    text = "mov r8=ar.k6 ;; (p6) add r8=r9,r9 ;; add r10=r8,r8 ;;"
    assert run(CPU, assembled(text, tmp_path)).cycles == 13
    text = "mov r8=ar.k6 ;; add r8=r9,r9 ;; add r10=r8,r8 ;;"
    assert run(CPU, assembled(text, tmp_path)).cycles == 3


@functools.cache
def _regions() -> tuple[tuple[Slot, ...], ...]:
    """Straight pieces of a real library: bundles up to one with a branch."""
    with inputs.require("ia64-libjnidispatch").open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".text")
        data, start = section.data()[: 2000 * BUNDLE], section["sh_addr"]
    regions: list[list[Slot]] = [[]]
    for slot in bundles.straight(data, start):
        if slot.address % BUNDLE == 0 and any(_is_branch(before) for before in regions[-1][-3:]):
            regions.append([])
        regions[-1].append(slot)
    return tuple(map(tuple, regions))


def _is_branch(slot: Slot) -> bool:
    return slot.insn.op.sched.startswith("BR")


def test_real_code_adds_up() -> None:
    """Every slot issues once and in order, and every cycle of issue has a stop or a split."""
    for region in _regions():
        timing = run(CPU, region)
        assert cycles_alone(CPU, region) == timing.cycles
        assert tuple(issued.slot for issued in timing.timeline) == region
        cycles = [issued.cycle for issued in timing.timeline]
        for slot, (one, other) in zip(region, itertools.pairwise(cycles), strict=False):
            assert other > one if slot.stop else other >= one
        stops = sum(slot.stop for slot in region[:-1]) + 1
        assert timing.groups == len(set(cycles)) == stops + sum(timing.splits.values())


@settings(max_examples=60)
@given(st.data())
def test_a_bundle_more_never_costs_less(nops: tuple[Insn, ...], data: st.DataObject) -> None:
    """A bundle of nops put in never makes what follows issue earlier."""
    region = data.draw(st.sampled_from([each for each in _regions() if len(each) > 6]))
    starts = [n for n, slot in enumerate(region) if n and slot.address % BUNDLE == 0]
    at = data.draw(st.sampled_from(starts))
    moved = (replace(slot, address=slot.address + BUNDLE) for slot in region[at:])
    nop = (Slot(region[at].address + n, insn, n == 2) for n, insn in enumerate(nops))
    assert run(CPU, [*region[:at], *nop, *moved]).cycles >= run(CPU, region).cycles


@pytest.fixture(scope="module")
def nops(tmp_path_factory: pytest.TempPathFactory) -> tuple[Insn, ...]:
    text = "{.mmi; nop 0; nop 0; nop 0 ;;}"
    return tuple(slot.insn for slot in assembled(text, tmp_path_factory.mktemp("nops")))
