"""What a system's tables hold: instructions that stay, nops that are none, code written over.

The tables are made up; they name code of our own in a function of the sample.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import pytest

from passes.lib.move import check_ways_in, rewritten_fixups
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Fixup
from rewriter.core.code.system_tables import (
    CannotMove,
    Held,
    Holds,
    Sections,
    SystemTables,
)
from rewriter.core.isa.instruction import Op
from rewriter.core.target.protocol import Memory
from rewriter.elf.image import Image
from rewriter.verify.check import verify
from rewriter.verify.exception_check import FixupTables
from rewriter.verify.routines.replaceable import Known, Named, behind_trace
from rewriter.verify.routines.rules import objection
from targets.alpha import Alpha
from tests.support.sample_code import Room, sample_room


@dataclass(frozen=True)
class Made(SystemTables):
    """Tables with given entries, in every file."""

    every: tuple[Held, ...] = ()

    def held(self, image: Sections) -> tuple[Held, ...]:
        """What was given."""
        return self.every

    def switches(self, image: Sections) -> tuple[Held, ...]:
        """Those of it with a target."""
        return tuple(one for one in self.every if one.target is not None)


class Tabled(Alpha):
    """Alpha on a system with such tables, or one that writes behind calls of its kernel."""

    def __init__(self, every: tuple[Held, ...], behind_calls: bool = False) -> None:
        self.tables, self.behind_calls = (
            Made("little", Alpha.tables.exceptions, every=every),
            behind_calls,
        )

    def keeps_nop(self, op: Op) -> bool:
        """As on other machines."""
        return op.flow.calls

    def is_kernel(self, image: Memory) -> bool:
        """What writes there is one."""
        return self.behind_calls


@pytest.fixture(scope="module")
def room() -> Room:
    """A function of the sample with room for code of our own."""
    return sample_room()


def _held(room: Room, holds: Holds, word: int, words: int = 1, to: int | None = None) -> Held:
    start = room.place.start + 4 * word
    target = None if to is None else room.place.start + 4 * to
    return Held("made", 0x1000, holds, start, start + 4 * words, target)


def _findings(room: Room, old: str, new: str, target: Alpha) -> str:
    program: Program = analyse(room.holding(Alpha(), old), target)
    changed = room.holding(Alpha(), new)
    return "; ".join(verify(program, changed, lambda stage, done, total: None).findings)


def test_an_instruction_that_a_table_names_stays(room: Room) -> None:
    """What it does may be done otherwise, but not there; all else may change."""
    old = "addq a0,a1,t0; addq t0,a2,v0; ret"
    kept = Tabled((_held(room, Holds.KEPT, 0),))
    assert not _findings(room, old, "addq a1,a0,t0; addq t0,a2,v0; ret", Alpha())
    assert not _findings(room, old, "addq a0,a1,t0; addq a2,t0,v0; ret", kept)
    assert _findings(room, old, "addq a1,a0,t0; addq t0,a2,v0; ret", kept)
    assert _findings(room, old, "unop; addq a0,a1,t0; addq t0,a2,v0; ret", kept)


def test_a_nop_that_a_table_names_is_no_nop(room: Room) -> None:
    """Else code slides over it, as it does over any other."""
    old, new = "unop; addq a0,a1,v0; ret", "addq a0,a1,v0; ret; unop"
    assert not _findings(room, old, new, Alpha())
    assert _findings(room, old, new, Tabled((_held(room, Holds.KEPT, 0),)))
    # One that is not named goes, beside it.
    old, new = "unop; unop; addq a0,a1,v0; ret", "unop; addq a0,a1,v0; ret; unop"
    assert not _findings(room, old, new, Tabled((_held(room, Holds.KEPT, 0),)))


def test_a_nop_behind_a_call_has_its_place(room: Room) -> None:
    old = "jsr ra,(pv); unop; ldq ra,0(sp); ret"
    new = "jsr ra,(pv); ldq ra,0(sp); unop; ret"
    assert not _findings(room, old, new, Tabled(()))
    assert _findings(room, old, new, Tabled((), behind_calls=True))


def test_nops_of_a_text_are_those_that_nobody_needs(room: Room) -> None:
    changed = room.holding(Alpha(), "unop; unop; jsr ra,(pv); unop; unop; ldq ra,0(sp); ret")
    switch = _held(room, Holds.SWITCHED, 0, to=5)
    for target, wanted in (
        (Alpha(), {0, 1, 3, 4}),
        (Tabled((_held(room, Holds.KEPT, 1),)), {0, 3, 4}),
        (Tabled((), behind_calls=True), {0, 1, 4}),
        (Tabled((switch,)), {1, 3, 4}),
    ):
        program = analyse(changed, target)
        first, _ = program.listing.span(room.place.start, room.place.end)
        assert {*np.flatnonzero(program.nops[first : first + 7]).tolist()} == wanted
        for n in range(7):
            insn = program.listing.insn(first + n)
            assert insn is not None
            assert program.is_nop(room.place.start + 4 * n, insn) is (n in wanted)
        # A new one in the place of the call is as any.
        assert program.is_nop(room.place.start + 8, next(iter(target.nops(4))))


# A switch is word 1: it does nothing, or leads to the last sum.
_SWITCH = "mov a2,v0; unop; addq a1,a2,v0; ret; addq v0,1,v0; ret"


@pytest.mark.parametrize(
    ("new", "is_right"),
    [
        (_SWITCH, True),
        ("mov a2,v0; unop; addq a2,a1,v0; ret; addq v0,1,v0; ret", True),
        ("mov a2,v0; unop; addq a1,a2,v0; ret; addq v0,1,v0; ret", True),
        ("addq a2,0,v0; unop; addq a1,a2,v0; ret; addq v0,1,v0; ret", True),
        ("unop; unop; addq a1,a2,v0; ret; addq v0,1,v0; ret", False),
        ("addq a1,a2,v0; unop; ret; unop; addq v0,1,v0; ret", False),
        ("mov a2,v0; unop; addq a1,a2,v0; ret; addq v0,2,v0; ret", False),
        ("mov a2,v0; addq a1,a2,v0; unop; ret; addq v0,1,v0; ret", False),
        ("mov a2,v0; unop; addq a1,a2,v0; ret; ret; addq v0,1,v0; ret", False),
    ],
    ids=[
        "same",
        "behind it",
        "nothing",
        "before it",
        "value gone",
        "ahead",
        "target",
        "moved",
        "target moved",
    ],
)
def test_what_may_become_a_branch_is_one(room: Room, new: str, is_right: bool) -> None:
    target = Tabled((_held(room, Holds.SWITCHED, 1, to=4),))
    assert (not _findings(room, _SWITCH, new, target)) is is_right


def test_the_graph_has_both_ways_of_a_switch(room: Room) -> None:
    program = analyse(
        room.holding(Alpha(), _SWITCH), Tabled((_held(room, Holds.SWITCHED, 1, to=4),))
    )
    graph = program.graph
    block = graph.block_holding(room.place.start + 4)
    following = graph.within(graph.blocks_of(room.place))[block]
    assert {graph.block_at(room.place.start + at) for at in (8, 16)} == set(following)


_CALL = "addq a0,a1,t3; mov ra,s0; bsr ra,.+4; addq a1,a2,v0; mov s0,ra; ret"
"""The call, word 2, is one that may be traced; t3 is read by nobody else, and s0 survives calls."""


@pytest.mark.parametrize(
    ("new", "is_right"),
    [
        (_CALL, True),
        ("addq a1,a0,t3; mov ra,s0; bsr ra,.+4; addq a2,a1,v0; mov s0,ra; ret", True),
        ("subq a0,a1,t3; mov ra,s0; bsr ra,.+4; addq a1,a2,v0; mov s0,ra; ret", False),
        ("unop; mov ra,s0; bsr ra,.+4; addq a1,a2,v0; mov s0,ra; ret", False),
        ("mov ra,s0; addq a0,a1,t3; bsr ra,.+4; addq a1,a2,v0; mov s0,ra; ret", True),
        ("addq a0,a1,t3; mov ra,s0; unop; addq a1,a2,v0; mov s0,ra; ret", False),
        ("addq a0,a1,t3; mov ra,s0; unop; bsr ra,.+4; addq a1,a2,v0; mov s0,ra; ret", False),
        ("addq a0,a1,t3; mov ra,s0; bsr ra,.+8; addq a1,a2,v0; mov s0,ra; ret", False),
        ("addq a0,a1,t3; mov ra,s0; bsr t1,.+4; addq a1,a2,v0; mov s0,ra; ret", False),
    ],
    ids=["same", "behind", "other", "gone", "order", "no call", "moved", "elsewhere", "link"],
)
def test_who_is_called_to_trace_finds_every_register(room: Room, new: str, is_right: bool) -> None:
    held = _held(room, Holds.TRACED, 2)
    target = Tabled((held,))
    assert not analyse(room.holding(Alpha(), _CALL), target).not_understood(room.place)
    assert (not _findings(room, _CALL, new, target)) is is_right
    assert not _findings(room, _CALL, _CALL.replace("addq a0,a1,t3", "unop"), Tabled(()))


def test_a_nop_that_may_become_a_traced_call_is_written_over(room: Room) -> None:
    """Stores may pass a nop, and whoever is called would see them or not."""
    code = "mov ra,t6; unop; addq a1,a2,v0; mov t6,ra; ret"
    program = analyse(room.holding(Alpha(), code), Tabled((_held(room, Holds.TRACED, 1),)))
    assert "write over it" in program.not_understood(room.place)


@pytest.mark.parametrize(("word", "behind"), [(1, 8), (0, 0), (2, 0), (None, 0)])
def test_a_routine_is_what_is_behind_a_call_that_is_traced(
    room: Room, word: int | None, behind: int
) -> None:
    """Only where the call is the second instruction, behind the one that keeps the way back."""
    code = "mov ra,t6; bsr ra,.+4; addq a1,a2,v0; mov t6,ra; ret"
    held = () if word is None else (_held(room, Holds.TRACED, word),)
    program = analyse(room.holding(Alpha(), code), Tabled(held))
    named = behind_trace(program, Named(room.place.start, ("strlen",), "symbol"))
    assert named == Named(room.place.start + behind, ("strlen",), "symbol")


@pytest.mark.parametrize(("word", "stays"), [(0, False), (1, False), (2, True), (4, True)])
def test_a_routine_stays_where_what_is_of_it_stays(room: Room, word: int, stays: bool) -> None:
    """What stands in front of where it is entered stays in any case."""
    code = "mov ra,t6; unop; addq a1,a2,v0; addq v0,a0,v0; ret"
    program = analyse(room.holding(Alpha(), code), Tabled((_held(room, Holds.KEPT, word),)))
    named = Named(room.place.start + 8, ("strlen",), "symbol")
    said = objection(Known(program, lambda program, signed: (named,)), named, room.place)
    assert said and ("load-locked" in said) is stays


@dataclass(frozen=True)
class Sorted:
    """An exception table that the system searches by halving, with entries by name of file."""

    of: Mapping[str, tuple[Fixup, ...]]
    size: int = 8
    sorted: bool = True

    def where(self, image: Sections) -> range:
        """Nowhere in particular."""
        return range(0)

    def read(self, image: Sections) -> tuple[Fixup, ...]:
        """The entries of a file."""
        assert isinstance(image, Image)
        return self.of[image.name]

    def entry(self, fixup: Fixup) -> bytes:
        """Both addresses."""
        return struct.pack("<II", fixup.access, fixup.resume)

    def dead(self, at: int) -> bytes:
        """Nothing."""
        return bytes(self.size)


def _faulting(room: Room, *words: int) -> tuple[Fixup, ...]:
    """Entries from 0x1000 on for accesses by number of word; each resumes behind the access."""
    places = ((n, room.place.start + 4 * word) for n, word in enumerate(words) if word)
    return tuple(Fixup(0x1000 + 8 * n, at, at + 4, ()) for n, at in places)


def _program(room: Room, exceptions: Sorted) -> Program:
    target = Tabled(())
    target.tables = Made("little", exceptions)
    return analyse(replace(room.holding(Alpha(), _LOADS), name="old"), target)


_LOADS = "unop; ldq t0,0(a0); ldq t1,8(a0); addq t0,t1,v0; ret"


def test_accesses_of_a_table_in_order_ascend_again(room: Room) -> None:
    start = room.place.start
    program = _program(room, Sorted({"old": _faulting(room, 1, 2)}))
    swapped = {start + 4: start + 8, start + 8: start + 4, start + 12: start + 12}
    new = rewritten_fixups(program, room.place, {}, lambda at: swapped[at])
    entry = program.target.tables.exceptions.entry
    assert new == {
        0x1000: entry(Fixup(0, start + 4, start + 12, ())),
        0x1008: entry(Fixup(0, start + 8, start + 4, ())),
    }
    with pytest.raises(CannotMove):
        rewritten_fixups(program, room.place, {start + 4: None}, int)


@pytest.mark.parametrize(
    ("words", "problem"),
    [((1, 2), ""), ((2, 1), "not in order"), ((0, 2), "for nothing"), ((1, 0), "for nothing")],
)
def test_what_is_searched_by_halving_stays_in_order(
    room: Room, words: tuple[int, ...], problem: str
) -> None:
    exceptions = Sorted({"old": _faulting(room, 1, 2), "new": _faulting(room, *words)})
    program = _program(room, exceptions)
    tables = FixupTables(program, replace(program.image, name="new"))
    found = "; ".join(tables.problems(program.listing))
    assert problem in found and bool(found) is bool(problem)


@pytest.mark.parametrize("holds", [Holds.WRITTEN, Holds.KEPT])
def test_code_that_is_written_over_is_left_alone(room: Room, holds: Holds) -> None:
    """Another instruction of the function may change where it is only kept."""
    old, new = "addq a0,a1,t0; addq t0,a2,v0; ret", "addq a0,a1,t0; addq a2,t0,v0; ret"
    target = Tabled((_held(room, holds, 0),))
    program = analyse(room.holding(Alpha(), old), target)
    assert bool(program.not_understood(room.place)) is (holds is Holds.WRITTEN)
    assert bool(_findings(room, old, new, target)) is (holds is Holds.WRITTEN)


def test_control_may_come_where_a_table_says(room: Room) -> None:
    old = "addq a0,a1,t0; addq t0,a2,v0; ret"
    program = analyse(room.holding(Alpha(), old), Tabled((_held(room, Holds.ENTERED, 1),)))
    assert program.graph.entered[program.graph.block_at(room.place.start + 4)]
    assert not program.held_addresses


@pytest.mark.parametrize("holds", [Holds.WRITTEN, Holds.SEEN, Holds.TRACED])
def test_what_may_stand_there_reads_every_register(room: Room, holds: Holds) -> None:
    """Else what only that code reads is dead, and goes."""
    code = "addq a0,1,t3; unop; addq a1,a2,v0; ret"
    plain, held = (
        analyse(room.holding(Alpha(), code), target)
        for target in (Alpha(), Tabled((_held(room, holds, 1),)))
    )
    start = room.place.start
    everything = Alpha().everything
    assert plain.live_into(start) != everything
    unwritten = everything & ~(1 << plain.listing.table.register_names.index("t3"))
    assert held.live_into(start) & unwritten == unwritten


class Kernel(Alpha):
    """A kernel whose system has tables of which something else is known than of Linux for Alpha."""

    def __init__(self, tables: SystemTables) -> None:
        self.tables = tables  # type: ignore[misc]

    def is_kernel(self, image: Memory) -> bool:  # type: ignore[override]
        """Always."""
        return True


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        (SystemTables("little"), ""),
        (SystemTables("little", turns=frozenset({"addq"})), "before addresses are translated"),
        (SystemTables("little", turns=frozenset({"mulq"})), ""),
        (SystemTables("little", apart=(".text",)), "before addresses are translated"),
        (SystemTables("little", bounded="nowhere"), "__start_nowhere"),
    ],
    ids=["nothing", "turns", "does not turn", "apart", "not bounded"],
)
def test_code_of_a_kernel_that_is_left_alone(room: Room, tables: SystemTables, reason: str) -> None:
    program = analyse(room.holding(Alpha(), "addq a0,a1,v0; ret"), Kernel(tables))
    found = program.not_understood(room.place)
    assert reason in found and bool(found) is bool(reason)


@pytest.mark.parametrize(
    ("chained", "source", "moves"),
    [(True, "symbol", True), (True, "call", False), (False, "symbol", False)],
    ids=["chained", "no known end", "unwound"],
)
def test_who_unwinds_by_frames_alone_needs_no_entries(
    room: Room, chained: bool, source: str, moves: bool
) -> None:
    """Then it is the symbol that says where a function ends; what is called has none."""
    tables, function = SystemTables("little", chained=chained), replace(room.place, source=source)
    program = analyse(room.holding(Alpha(), "addq a0,a1,v0; ret"), Kernel(tables))
    check_ways_in(program, function, ())
    alone = replace(program, frames={})
    with nullcontext() if moves else pytest.raises(CannotMove, match="no unwind entry of its own"):
        check_ways_in(alone, function, ())
