"""Heads of dense loops on fetch boundaries: in any layout, and in the real IA-64 libc."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.code.program import Function
from rewriter.core.readings.interpret import Memory
from rewriter.core.target.bundling import Region, Routine
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import load
from rewriter.road.bundled.road import BundledRoad, prepared
from rewriter.road.options import Options
from rewriter.timing.bundled.trace import trace
from rewriter.verify.regions.check import verify
from targets import ia64
from targets.ia64.asm.assembler import assemble
from targets.ia64.image import layout
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.machine.calling import RETURN, prepare
from targets.ia64.machine.processor import Processor
from targets.ia64.machine.trials import BACKING
from targets.ia64.registers import NUMBERS

START, BLOCK = 0x1000, 32
_LOOP = """
loop:   add r14=1,r14
        add r15=1,r15
        add r16=1,r16
        add r17=1,r17
        add r18=1,r18
        br.cloop.sptk loop ;;
        br.ret.sptk.many rp ;;
"""
_PART = st.tuples(st.integers(1, 5), st.integers(0, 4), st.booleans(), st.booleans())


@given(st.lists(_PART, min_size=1, max_size=8))
def test_any_layout(parts: list[tuple[int, int, bool, bool]]) -> None:
    """Parts: bundles that are left of a region, that went, whether it is a head, or is held."""
    regions, codes, boundaries, at = list[Region](), dict[int, bytes](), dict[int, int](), START
    for left, gone, is_head, is_held in parts:
        end = at + BUNDLE * (left if is_held else left + gone)
        regions.append(Region(at, end, "held" if is_held else ""))
        if not is_held:
            codes[at] = layout.NOPS * left
        if is_head:
            boundaries[at] = BLOCK
        at = end
    function = Function(START, at, "any", "test")
    routine = Routine(function, tuple(regions), "", "")

    def read(start: int, size: int) -> bytes:
        return layout.NOPS * (size // BUNDLE)

    _, plain = layout.compact(routine, read, codes, {})
    places, starts = layout.compact(routine, read, codes, boundaries)
    for one, following in pairwise(places):
        assert one.new + len(one.code) == following.new
        left = codes.get(one.old)
        assert left is None or one.code.startswith(left)
    assert places[-1].new + len(places[-1].code) == at
    assert {p.old: p.new for p in places} == {old: starts[old] for old in (p.old for p in places)}

    def aligned(where: dict[int, int]) -> int:
        return sum(where[old] % BLOCK == 0 for old in boundaries)

    assert aligned(starts) >= aligned(plain)
    held = {r.start: r.end - r.start for r in regions if r.reason}
    assert all(len(p.code) == held[p.old] for p in places if p.old in held)


@pytest.mark.parametrize(("first", "ends"), [
    ("alloc r34=ar.pfs,2,2,0,0", True), ("flushrs", True), ("loadrs", True),
    ("add r8=r9,r10", False),
])  # fmt: skip
def test_nops_in_front_of_what_must_be_the_first_of_its_group(first: str, ends: bool) -> None:
    """They end with a stop there and at a function's end, and nowhere else."""
    head = assemble(f"{first} ;;\n").code
    regions = (Region(START, START + 2 * BUNDLE, ""), Region(START + 2 * BUNDLE, START + 80, ""))
    routine = Routine(Function(START, START + 80, "any", "test"), regions, "", "")
    codes = {START: layout.NOPS, START + 2 * BUNDLE: head}
    nops = (layout.STOP if ends else layout.NOPS), layout.STOP
    places, _ = layout.in_place(routine, lambda start, size: b"", codes)
    assert [place.code[-BUNDLE:] for place in places] == [nops[0], nops[1]]
    places, _ = layout.compact(routine, lambda start, size: b"", codes, {START + 32: 32})
    assert [place.code[-BUNDLE:] for place in places] == [nops[0], head, nops[1]]


def test_a_head_in_the_libc() -> None:
    """It gets its boundary by nops in front of it; what is no nop there the verifier finds."""
    image, target = load(inputs.require("ia64-libc")), ia64.Ia64()
    options = Options(passes=("schedule", "align"), funcs=("qsort_r",))
    road = BundledRoad(prepared(image, target, target.cpus["itanium2"], options))
    data = road.run(road.functions, lambda stage, done, total: None)
    (placing,) = road.placings.values()
    assert placing.dense == 1
    (layout_edit,) = (edit for edit in road.edits if edit.kind == "layout")
    assert layout_edit.new.endswith("; heads of dense loops on fetch boundaries: 1")
    made = {start: one.code for start, one in (*placing.made.items(), *placing.closed.items())}
    plain = {p.old: p.new for p in road.prepared.code.laid_out(placing.routine, made, True).places}
    head = next(p for p in placing.laid.places if p.new != plain[p.old])
    assert (plain[head.old] % BLOCK, head.new % BLOCK) == (BUNDLE, 0)
    nop = head.new - BUNDLE
    mutant = bytearray(with_old_identity(image, data))
    at = image.offset_of(nop)
    assert mutant[at : at + BUNDLE] == layout.NOPS
    mutant[at : at + BUNDLE] = assemble("adds sp=16,sp ;;\n").code
    new = replace(image, data=bytes(mutant))
    assert verify(road.prepared.known, new, lambda *_: None).findings


@pytest.mark.parametrize(("start", "cycles"), [(START, 1), (START + BUNDLE, 2)])
def test_what_the_model_says_of_a_dense_loop(start: int, cycles: int) -> None:
    """A pass of two bundles is one cycle on a boundary, two behind one bundle."""
    code = assemble(_LOOP).code
    memory = Memory()
    memory.map(start, code)
    memory.map(BACKING, 0x1000, execute=False)
    processor = Processor(memory, BACKING)
    taken = []
    for passes in (40, 80):
        prepare(processor, (), sp=0)
        processor.state.r[NUMBERS["ar.lc"]] = passes
        cpu = ia64.Ia64().cpus["itanium2"]
        assert cpu.bundled is not None
        taken.append(trace(cpu, processor.run(start, RETURN)).cycles)
    assert taken[1] - taken[0] == 40 * cycles
