"""Routines in pieces, anywhere: what was put somewhere is found there, and nothing else is."""

from __future__ import annotations

import struct

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import targets
from passes.substitution.pieces import Space, Spaces
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.verify.routines.pieces import Piece, cuts, insns_of, pieces, placement, reached
from targets.alpha import routines
from targets.alpha.isa.rows import TABLE
from targets.alpha.routines import Routine

ALPHA = targets.named("alpha")
OURS = [routine for name in routines.names() for routine in routines.variants(name)]
ENDS = (Flow.JUMP, Flow.RETURN)
WHOLE = 0x4000  # bytes between pieces, at most


def _scattered(routine: Routine, order: list[int]) -> tuple[dict[int, bytes], dict[int, int]]:
    """The pieces of a routine in some order, far apart; and the places of its instructions."""
    insns = insns_of(ALPHA, routine.code, "little")
    places, parts = dict[int, int](), []
    for piece in pieces(routine, ALPHA, "little"):
        at = next(iter(cuts(piece, insns, 16)), piece.offset + piece.size)
        front, rest = at - piece.offset, piece.offset + piece.size - at
        parts += [Piece(piece.offset, front), *([Piece(at, rest)] if rest else [])]
    for piece, slot in zip(parts, order, strict=False):
        for offset in range(piece.offset, piece.offset + piece.size, 4):
            places[offset] = 0x100000 + slot * WHOLE + offset
    items = [(offset, insns[offset]) for offset in sorted(places)]
    whole = Function(0, len(routine.code), routine.name, "")
    moved = ALPHA.moved(items, whole, {}, places.__getitem__)
    encoded = map(ALPHA.encode, moved)
    memory = {places[at]: word for (at, _), word in zip(items, encoded, strict=True)}
    for at, insn in items:
        if insn.op.flow not in ENDS and places[at + 4] != places[at] + 4:
            memory[places[at] + 4] = ALPHA.branch(places[at] + 4, places[at + 4])
    return memory, places


def _read(memory: dict[int, bytes], at: int) -> Insn | None:
    return TABLE.decode(struct.unpack("<I", memory[at])[0]) if at in memory else None


@given(st.integers(0, len(OURS) - 1), st.permutations(range(48)), st.booleans())
def test_a_routine_is_found_where_its_pieces_are(number: int, order: list[int], led: bool) -> None:
    routine = OURS[number]
    memory, places = _scattered(routine, order)
    resumes = {places[at]: places[to] for at, to in routine.resumes}
    entry = places[routine.entry]
    if led:
        memory[0x1000] = ALPHA.branch(0x1000, entry)
        entry = 0x1000
    found = placement(ALPHA, routine, "little", entry, lambda at: _read(memory, at), resumes)
    assert found is not None and found.places == places
    assert found.addresses == set(memory)


@given(st.integers(0, len(OURS) - 1), st.permutations(range(48)), st.data())
def test_one_other_word_is_another_routine(
    number: int, order: list[int], data: st.DataObject
) -> None:
    routine = OURS[number]
    memory, places = _scattered(routine, order)
    resumes = {places[at]: places[to] for at, to in routine.resumes}
    at = data.draw(st.sampled_from(sorted(memory)))
    bit = data.draw(st.integers(0, 31))
    way = at not in places.values() and bit < 21  # it may lead to something that is the same
    assume(not way)
    memory[at] = struct.pack("<I", struct.unpack("<I", memory[at])[0] ^ 1 << bit)
    entry = places[routine.entry]
    assert placement(ALPHA, routine, "little", entry, lambda at: _read(memory, at), resumes) is None


@given(st.integers(0, len(OURS) - 1), st.integers(0, 30), st.data())
def test_a_branch_that_keeps_a_link_is_no_way(number: int, link: int, data: st.DataObject) -> None:
    """It writes a register of the program; with $31 it is one again."""
    routine = OURS[number]
    memory, places = _scattered(routine, list(range(48)))
    memory[0x1000], entry = ALPHA.branch(0x1000, places[routine.entry]), 0x1000
    resumes = {places[at]: places[to] for at, to in routine.resumes}
    at = data.draw(st.sampled_from(sorted(memory.keys() - places.values())))
    for register, found in ((link, False), (31, True)):
        word = struct.unpack("<I", memory[at])[0] & ~(31 << 21) | register << 21
        memory[at] = struct.pack("<I", word)
        there = placement(ALPHA, routine, "little", entry, lambda at: _read(memory, at), resumes)
        assert (there is not None) is found


@pytest.mark.parametrize("routine", OURS, ids=lambda routine: f"{routine.folder}/{routine.name}")
def test_pieces_are_all_that_control_comes_to(routine: Routine) -> None:
    insns = insns_of(ALPHA, routine.code, "little")
    covered = [
        at
        for piece in pieces(routine, ALPHA, "little")
        for at in range(piece.offset, piece.offset + piece.size, 4)
    ]
    assert sorted(covered) == sorted(reached(routine, insns))
    for piece in pieces(routine, ALPHA, "little"):
        assert all(piece.offset < at < piece.offset + piece.size for at in cuts(piece, insns, 16))


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 60)), max_size=8),
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 3)), max_size=12),
)
def test_what_is_taken_is_free_once(
    rooms: list[tuple[int, int]], wanted: list[tuple[int, int]]
) -> None:
    start, spaces = 0x1000, Spaces()
    for gap, size in rooms:
        spaces.give(Space(start + 4 * gap, start + 4 * (gap + size), None))
        start += 4 * (gap + size)
    free = {at for space in spaces.free for at in range(space.start, space.end)}
    for words, phase in wanted:
        found = spaces.take(4 * words, 4 * phase, 16, lambda at: at % 32 < 16)
        if found is not None:
            taken = set(range(found[0], found[0] + 4 * words))
            assert taken <= free and found[0] % 32 == 4 * phase
            free -= taken
    assert free == {at for space in spaces.free for at in range(space.start, space.end)}
