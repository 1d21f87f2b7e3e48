"""What in the Alpha libc points into its text, against the survey's figures.

Source: the facts on Alpha, section e (gp, computed jumps, divide calls), counted with binutils.
"""

from __future__ import annotations

from collections import Counter

import pytest

from rewriter.analysis.program import Program
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.isa.instruction import Flow
from rewriter.elf.headers import PT_LOAD
from targets.alpha.image import pointers
from targets.alpha.image.switches import DISTANCES
from targets.alpha.registers import PV

GP = 0x209688  # .got 0x201678 + 0x8010


@pytest.fixture(scope="module")
def program(libc_program: Program) -> Program:
    return libc_program


def _jumps(program: Program) -> list[int]:
    """Addresses of every `jmp` that is no sibling call."""
    listing, found = program.listing, []
    for at in range(len(listing)):
        if listing.flows[at] == FLOW_CODE[Flow.INDIRECT]:
            insn = listing.insn(at)
            assert insn is not None
            if insn.operand("rb") != PV:
                found.append(int(listing.addresses[at]))
    return found


def test_every_function_makes_the_same_gp(program: Program) -> None:
    shared = program.references.shared
    assert set(shared.values()) == {GP} and len(shared) == len(program.functions)
    made = [pointers.entry_gp(program.listing, f.start) for f in program.functions]
    assert {gp for gp in made if gp is not None} == {GP}
    assert sum(gp is not None for gp in made) >= 2990


def test_local_entries_are_where_gp_is_made(program: Program) -> None:
    """Relaxed calls enter at +8, behind the two instructions, and nowhere else inside."""
    entries = {f.start: program.target.entries(program.listing, f) for f in program.functions}
    for function in program.functions:
        has = pointers.entry_gp(program.listing, function.start) is not None
        assert entries[function.start] == ((function.start + 8,) if has else ())
    calls = program.listing.targets[program.listing.flows == FLOW_CODE[Flow.CALL]].tolist()
    known = {*entries, *(address for found in entries.values() for address in found)}
    inside = Counter(target in known for target in calls)
    assert inside[True] >= 0.96 * len(calls)
    eight = {address for found in entries.values() for address in found}
    assert sum(target in eight for target in calls) >= 8600


def test_jump_tables(program: Program) -> None:
    """157 computed jumps; 96 of them read a table that is made from gp.

    Three functions are not understood: `makecontext`, which jumps to what its caller gave, and two
    whose table goes on with what may be another's.
    """
    tables, unresolved = program.references.tables, program.references.unresolved
    assert len(tables) + len(unresolved) >= 155
    inside = {jump for jump in unresolved if program.function_at(jump) is not None}
    assert {table.jump for table in tables} | inside <= set(_jumps(program))
    assert len(inside) <= 3
    exact = [table for table in tables if table.exact]
    assert 80 <= len(exact) <= 96
    for table in tables:
        owner = program.function_at(table.jump)
        assert owner is not None
        assert table.targets
        if table.exact:
            assert all(target in owner for target in table.targets)


def test_entries_are_read_from_the_file(program: Program) -> None:
    """Each entry of an exact table, taken from the bytes, is its target less the base."""
    for table in program.references.tables:
        if table.exact:
            raw = program.image.read(table.address, table.size * len(table.targets))
            entries = [
                int.from_bytes(raw[at : at + 4], "little", signed=True)
                for at in range(0, len(raw), 4)
            ]
            assert [table.base + entry for entry in entries] == list(table.targets)


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 130])
def test_a_table_ends_where_memory_does(program: Program, count: int) -> None:
    """Of entries that are read many at once those at the end of a segment are not lost.

    Memory is zero there, so each leads to the base; before a table's end one leads elsewhere.
    """
    segments = (s for s in program.image.segments if s.p_type == PT_LOAD)
    end = max(segment.p_vaddr + segment.p_memsz for segment in segments)
    base = program.functions[0].start
    found = DISTANCES.led(program.image, program.listing, end - 4 * count, base)
    assert found == (base,) * count
    assert DISTANCES.led(program.image, program.listing, end - 4 * count, base + 1) == ()
    for table in program.references.tables:
        if table.exact:
            found = DISTANCES.led(program.image, program.listing, table.address, table.base)
            behind = table.address + 4 * len(found)
            entry = int.from_bytes(program.image.read(behind, 4), "little", signed=True)
            assert found[: len(table.targets)] == table.targets
            assert not program.listing.has(table.base + entry)


def test_a_bound_check_gives_the_length(program: Program) -> None:
    """In an exact table's function stands the comparison that lets so many entries through."""
    for table in program.references.tables:
        if not table.exact:
            continue
        owner = program.function_at(table.jump)
        assert owner is not None
        bounds = {
            insn.operand("rb") + 1
            for insn in program.listing.insns(owner.start, owner.end)
            if insn is not None and insn.name == "cmpule" and "literal" in insn.op.format.name
        }
        assert len(table.targets) in bounds, f"{table.jump:#x}"


def test_divide_calls_reach_their_routines(program: Program) -> None:
    """77 `jsr $23,($27)` go through the GOT to the eight divide and remainder routines."""
    listing, divides = program.listing, []
    for at in range(len(listing)):
        if listing.flows[at] == FLOW_CODE[Flow.INDIRECT_CALL]:
            insn = listing.insn(at)
            assert insn is not None
            if insn.operand("ra") == 23:
                divides.append(int(listing.addresses[at]))
    assert len(divides) == 77
    callees = program.references.callees
    assert set(callees) >= set(divides)
    reached = {callees[address] for address in divides}
    names = set()
    for address in reached:
        function = program.function_at(address)
        assert function is not None
        assert address == function.start
        names.add(function.name.split("@")[0].lstrip("_"))
    routines = {"divl", "divlu", "divq", "divqu", "reml", "remlu", "remq", "remqu"}
    assert names <= routines
    assert len(reached) == 8
