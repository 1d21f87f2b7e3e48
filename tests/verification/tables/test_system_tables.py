"""What a system's tables hold: instructions that stay, nops that are none, code written over.

The tables are made up; they name code of our own in a function of the sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from rewriter.analysis.program import Program, analyse
from rewriter.core.code.listing import Listing
from rewriter.core.code.system_tables import Held, Holds, Sections, SystemTables, switched
from rewriter.core.isa.instruction import Op
from rewriter.core.target.protocol import Memory
from rewriter.verify.check import verify
from targets.alpha import Alpha
from tests.support.sample_code import Room, sample_room


@dataclass(frozen=True)
class Made(SystemTables):
    """Tables with given entries, in every file."""

    every: tuple[Held, ...] = ()

    def held(self, image: Sections) -> tuple[Held, ...]:
        """What was given."""
        return self.every


class Tabled(Alpha):
    """Alpha on a system with such tables."""

    def __init__(self, every: tuple[Held, ...], behind_calls: bool = False) -> None:
        self.tables, self.behind_calls = (
            Made("little", Alpha.tables.exceptions, every=every),
            behind_calls,
        )

    def listing(self, image: Memory, like: Listing | None = None) -> Listing:
        """With branches where the tables say so."""
        return switched(super().listing(image, like), self.tables.every)

    def keeps_nop(self, op: Op) -> bool:
        """As linkers do for other machines."""
        return self.behind_calls and op.flow.calls


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
    ],
    ids=["same", "behind it", "nothing", "before it", "value gone", "ahead", "target", "moved"],
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


@pytest.mark.parametrize("holds", [Holds.WRITTEN, Holds.SEEN])
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
