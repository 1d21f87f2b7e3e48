"""What a whole text says at once agrees with what its instructions say one by one."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import inputs
from passes.lib.conflicts import Suspects, conflicts
from passes.lib.nops import Nops
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.listing import Listing, decode_words
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Insn
from rewriter.elf.image import load
from tests.passes.loops import ALPHA
from tests.passes.test_cases import BASE, decoded

IDLE = re.compile(r"\s*([0-9a-f]+):\s+(?:nop|unop|fnop)\b")
WHOLE = Function(0, 1 << 32, "all", "test")


@pytest.fixture(scope="module")
def program() -> Program:
    return analyse(load(str(inputs.require("alpha-sample"))), ALPHA)


@pytest.fixture(scope="module")
def idle(program: Program) -> set[int]:
    """The addresses where binutils see a nop."""
    objdump = inputs.require_tool("alpha-linux-gnu-objdump")
    path = str(inputs.require("alpha-sample"))
    command = (objdump, "-d", "-z", "--no-show-raw-insn", path)
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {int(row[1], 16) for line in lines if (row := IDLE.match(line))}


def test_nops_are_those_of_binutils(program: Program, idle: set[int]) -> None:
    nops, listing = Nops(program, ALPHA.cpus["ev67"]), program.listing
    standing = {address for address, _ in nops.standing({}, WHOLE.start, WHOLE.end)}
    assert len(idle) > 20
    assert {*listing.addresses.tolist()} - standing == idle
    for function in program.functions:
        assert nops.within(function) == any(address in function for address in idle)


def test_executed_nops_are_reached(program: Program, idle: set[int]) -> None:
    """Nops behind the last instruction of a function are not; those that control meets are."""
    nops, graph = Nops(program, ALPHA.cpus["ev67"]), program.graph
    for function in program.functions:
        blocks = [b for b in graph.blocks_of(function) if graph.reached[b]]
        here = {
            int(program.listing.addresses[at])
            for block in blocks
            for at in range(graph.first[block], graph.last[block])
        }
        assert nops.executed(function) == len(here & idle)


def test_what_was_changed_and_added_stands(program: Program) -> None:
    nops, (nop, add) = (
        Nops(program, ALPHA.cpus["ev67"]),
        decoded(["bis zero,zero,zero", "addq t0,t1,t2"]),
    )
    function = program.functions[0]
    before = nops.standing({}, function.start, function.end)
    (first, _), (second, _), (third, insn) = before[:3]
    slots: dict[int, Insn | None] = {first: None, second: nop, third: add, function.end: add}
    after = nops.standing(slots, function.start, function.end, {third: (insn,)})
    assert after == [(third, add), (third + 1, insn), *before[3:]]


# Stores that may be too narrow -------------------------------------------------------------------

ACCESSES = ("stb", "stw", "stl", "stq", "ldbu", "ldwu", "ldl", "ldq", "ldq_u")
SIZES = {"b": 1, "w": 2, "l": 4, "q": 8}


@st.composite
def codes(draw: st.DrawFn) -> tuple[Insn, ...]:
    """Aligned accesses from two registers, steps of one of them, branches and calls."""
    lines = []
    for _ in range(draw(st.integers(1, 14))):
        name = draw(st.sampled_from((*ACCESSES, *ACCESSES, "lda", "beq", "bsr")))
        if name == "lda":
            lines.append(f"lda a1,{8 * draw(st.integers(-1, 1))}(a0)")
        elif name in ("beq", "bsr"):
            lines.append(f"{name} {'ra' if name == 'bsr' else 't9'},.")
        else:
            size = SIZES[name.removesuffix("_u")[2]]
            lines.append(f"{name} t0,{size * draw(st.integers(0, 16 // size))}(a{draw(BITS)})")
    return decoded(lines)


BITS = st.integers(0, 1)


def listing_of(insns: tuple[Insn, ...]) -> Listing:
    words = np.array([ALPHA.table.encode(insn) for insn in insns], dtype=np.uint32)
    return decode_words(ALPHA.table, [(BASE, words)])


@given(codes())
def test_no_conflict_is_missed(insns: tuple[Insn, ...]) -> None:
    suspects = Suspects(listing_of(insns), ALPHA)
    for found in conflicts(insns, ALPHA, 80):
        if found.sure:
            assert suspects.narrow(found.store, found.load)
            assert suspects.within(found.store, found.load + 1)


def test_suspects() -> None:
    """The store and the wider load behind it are both there, and control comes from one to it."""
    insns = decoded(["ldq t1,0(a0)", "stl t0,0(a0)", "ldl t2,0(a0)", "ldq t1,0(a0)"])
    suspects = Suspects(listing_of(insns), ALPHA)
    assert suspects.within(0, 4)
    assert not suspects.within(0, 3)
    assert not suspects.within(2, 4)
    assert suspects.narrow(0, 2)
    assert not suspects.narrow(2, 4)
    called = decoded(["stl t0,0(a0)", "bsr ra,.", "ldq t1,0(a0)"])
    assert not Suspects(listing_of(called), ALPHA).within(0, 3)
