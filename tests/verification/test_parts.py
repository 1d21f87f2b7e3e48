"""Long straight code that differs in a few instructions: what else may depend on these.

The parts that differ are compared from any state, for what is read behind them; the whole is where
that is not enough.  Ends that are the same stand around each difference.
"""

from __future__ import annotations

import pytest

from rewriter.analysis.program import analyse
from rewriter.core.code.dataflow import Facts
from rewriter.verify.check import verify
from rewriter.verify.walk.pairs import Compared, Pair, Pairs
from rewriter.verify.walk.segments import Segment
from targets.alpha import Alpha
from tests.support.made_flows import Made, made
from tests.support.sample_code import Room, sample_room

FIRST = "addq a1,a2,t2; s8addq a1,a2,t3; and a0,255,t4; xor t2,t3,t5; stq t5,0(a3)"
LAST = "xor t2,t4,t6; addq t6,t3,t7; s4addq t7,t2,t8; stq t8,8(a3); addq t8,t3,v0; ret"
HERE = made("here")
AWAY = "beq a4,other; mov a1,t0"
OTHER = "other: addq t0,a1,v0; ret"
USED = "stq t0,24(a3)"


@pytest.fixture(scope="module")
def room() -> Room:
    """A function of the sample with room for code of our own."""
    return sample_room()


def _findings(room: Room, old: str, new: str, first: str = FIRST, last: str = LAST) -> str:
    before, after = (room.holding(Alpha(), f"{first}; {code}; {last}") for code in (old, new))
    program = analyse(before, Alpha())
    assert not program.not_understood(room.place)
    return "; ".join(verify(program, after, lambda stage, done, total: None).findings)


@pytest.mark.parametrize(
    ("old", "same", "other", "last"),
    [
        ("addq a1,a2,t0", "addq a2,a1,t0", "subq a1,a2,t0", "addq t0,a1,t3"),
        ("ldq t0,0(a3); unop", "unop; ldq t0,0(a3)", "unop; ldq t0,8(a3)", "addq t0,a1,t3"),
        ("addq a1,0,t1; stq t1,16(a3)", "mov a1,t1; stq a1,16(a3)", "mov a1,t1; stq a2,16(a3)",
         "mov a1,t1; ldq t0,16(a3); addq t0,t1,t3"),
        ("addq a1,a2,t0; mov a1,t1", "mov a1,t1; addq a1,a2,t0", "mov a1,t1; addq t1,t1,t0",
         "stq t0,24(a3)"),
        ("cmplt a1,a2,t0; unop", "unop; cmplt a1,a2,t0", "unop; cmple a1,a2,t0",
         "cmovne t0,a1,t3"),
        ("addq a1,a2,t0", "addq a2,a1,t0", "subq a1,a2,t0", AWAY),
        ("addq a1,a2,t0; mov a1,t1", "mov a1,t1; addq a1,a2,t0", "mov a1,t1; addq t1,t1,t0", AWAY),
    ],
    ids=["value", "load", "memory", "order", "condition", "exit", "order before an exit"],
)  # fmt: skip
def test_what_is_read_behind_a_part_is_the_same(
    room: Room, old: str, same: str, other: str, last: str
) -> None:
    behind = f"{last}; {LAST}; {OTHER}"
    assert not _findings(room, old, same, last=behind)
    assert _findings(room, old, other, last=behind)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("addq a1,a2,t0; addq t0,a2,t1", "addq a2,a1,t0; addq a2,t0,t1"),
        ("mov a1,t0; unop; addq t0,a2,t3", "unop; unop; addq a1,a2,t3"),
        ("ldq t0,0(a4); addq t0,1,t0; addq a1,1,t1", "addq a1,1,t1; ldq t0,0(a4); addq t0,1,t0"),
    ],
    ids=["sums", "dead behind it", "another order"],
)
def test_a_part_that_does_the_same_is_enough(
    room: Room, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    sizes = list[int]()
    given = Pairs._compare_given

    def compared(
        pairs: Pairs, pair: Pair, before: Segment, after: Segment, facts: Facts
    ) -> Compared:
        sizes.append(len(before.insns))
        return given(pairs, pair, before, after, facts)

    monkeypatch.setattr(Pairs, "_compare_given", compared)
    assert not _findings(room, old, new)
    assert sizes and max(sizes) <= 4


@pytest.mark.parametrize(
    ("new", "behind", "other", "compared"),
    [
        ("addq a2,a1,t0", USED, USED, 1),
        ("subq a1,a2,t0", "clr t0", "clr t0", 1),
        ("addq a2,a1,t0", "clr t0", USED, 2),
    ],
    ids=["read", "dead", "read behind one"],
)
def test_a_part_is_compared_once_for_what_is_read_behind_it(
    room: Room, monkeypatch: pytest.MonkeyPatch, new: str, behind: str, other: str, compared: int
) -> None:
    asked = list[Segment]()
    given = Pairs._compare_given

    def counted(
        pairs: Pairs, pair: Pair, before: Segment, after: Segment, facts: Facts
    ) -> Compared:
        asked.append(before)
        return given(pairs, pair, before, after, facts)

    monkeypatch.setattr(Pairs, "_compare_given", counted)
    assert not _findings(room, *_twice("addq a1,a2,t0", new, behind, other))
    assert len(asked) == compared


@pytest.mark.parametrize(("behind", "other"), [("clr t0", USED), (USED, "clr t0")])
def test_a_part_that_is_dead_in_one_place_is_compared_in_another(
    room: Room, behind: str, other: str
) -> None:
    assert _findings(room, *_twice("addq a1,a2,t0", "subq a1,a2,t0", behind, other))


def _twice(old: str, new: str, behind: str, other: str) -> tuple[str, str]:
    """Code in both versions, in two places, with something behind each."""
    before, after = (
        f"beq a4,other; {FIRST}; {code}; {behind}; {LAST}; other: {FIRST}; {code}; {other}"
        for code in (old, new)
    )
    return before, after


def test_where_code_stands_is_read_behind_a_part(room: Room) -> None:
    last = "sll t0,2,t1; xor t1,t0,t2; s4addq t2,t1,t3; {}; addq t3,v0,v0; beq a1,on; clr t4"
    back = "on: ldq ra,0(sp); ret"
    for read, same in (("lda v0,16(ra)", False), ("lda v0,16(sp)", True)):
        old, new = (
            f"{first}; {what}; {last.format(read)}; {back}"
            for first, what in (
                (f"unop; {HERE}", "addq a1,a2,t0"),
                (f"{HERE}; unop", "addq a2,a1,t0"),
            )
        )
        program = analyse(room.holding(Made(), old), Made())
        assert not program.not_understood(room.place)
        found = verify(program, room.holding(Made(), new), lambda stage, done, total: None)
        assert found.ok is same
