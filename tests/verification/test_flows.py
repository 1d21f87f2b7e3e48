"""Conditional returns, jumps and calls in two files: what may change around them and what not.

Made-up instructions stand in a function of the sample, in the old and in the new file.
"""

from __future__ import annotations

import pytest

from rewriter.analysis.program import Program, analyse
from rewriter.core.isa.registers import register_mask
from rewriter.verify.check import verify
from rewriter.verify.routines.reached import unreached
from targets.alpha.registers import RA, V0
from tests.support.made_flows import Made, made
from tests.support.sample_code import Room, sample_room

A0, A1, A2 = 16, 17, 18
RETURNS, OTHERWISE = (made("ret_if", A0, RA, sense) for sense in (1, 0))
BY_OTHER = made("ret_if", A1, RA, 1)
THROUGH_OTHER = made("ret_if", A0, 1, 1)
GOES, GOES_OTHERWISE = (made("jmp_if", A0, 27, sense) for sense in (1, 0))
CALLS, CALLS_OTHERWISE = (made("jsr_if", A0, 27, sense) for sense in (1, 0))
HERE = made("here")
_SUM, _DIFFERENCE, _BACK = "addq a1,a2,v0", "subq a1,a2,v0", "ldq ra,0(sp); ret"


@pytest.fixture(scope="module")
def room() -> Room:
    """A function of the sample with room for code of our own."""
    return sample_room()


def _program(room: Room, text: str) -> Program:
    return analyse(room.holding(Made(), text), Made())


def _findings(room: Room, old: str, new: str) -> str:
    program = _program(room, old)
    assert not program.not_understood(room.place)
    changed = room.holding(Made(), new)
    return "; ".join(verify(program, changed, lambda stage, done, total: None).findings)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"mov a1,v0; {RETURNS}; addq a1,a2,v0; ret", f"mov a1,v0; {RETURNS}; addq a2,a1,v0; ret"),
        (f"mov a1,v0; unop; {RETURNS}; clr v0; ret", f"mov a1,v0; {RETURNS}; clr v0; ret; unop"),
        (f"mov a1,v0; {RETURNS}; clr v0; ret", f"addq a1,0,v0; {RETURNS}; clr v0; ret"),
        (f"clr t0; mov a1,v0; {RETURNS}; clr v0; ret", f"unop; mov a1,v0; {RETURNS}; clr v0; ret"),
        (f"unop; {CALLS}; {_BACK}", f"{CALLS}; unop; {_BACK}"),
        (f"unop; {HERE}; {_BACK}", f"{HERE}; unop; {_BACK}"),
        (
            f"unop; {HERE}; lda v0,16(ra); {_BACK}",
            f"{HERE}; lda v0,20(ra); ldq ra,0(sp); ret; unop",
        ),
    ],
    ids=["behind it", "it moves", "before it", "dead", "call moves", "place unread", "same sum"],
)
def test_what_does_the_same(room: Room, old: str, new: str) -> None:
    assert not _findings(room, old, new)


_WAYS = f"mov a1,v0; {RETURNS}; addq a1,a2,v0; ret"
_LOOP = "; next: addq a1,{0},v0; subq a1,1,a1; bne a1,next; ret"  # entered by falling into it
_STORED = f"mov a1,v0; {RETURNS}; stq a1,0(a2); ret"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (_WAYS, f"mov a1,v0; {OTHERWISE}; addq a1,a2,v0; ret", "operand of ret_if"),
        (_WAYS, f"mov a1,v0; {BY_OTHER}; addq a1,a2,v0; ret", "operand of ret_if"),
        (_WAYS, f"mov a1,v0; {THROUGH_OTHER}; addq a1,a2,v0; ret", "operand of ret_if"),
        (_WAYS, "mov a1,v0; ret; addq a1,a2,v0; ret", "transfer of control changed"),
        (_WAYS, "mov a1,v0; unop; addq a1,a2,v0; ret", "ends otherwise"),
        (_WAYS, f"mov a2,v0; {RETURNS}; addq a1,a2,v0; ret", "register v0"),
        (_WAYS, f"{RETURNS}; addq a1,a2,v0; ret", "register v0"),
        (_WAYS, f"mov a1,v0; {RETURNS}; addq a1,a1,v0; ret", "register v0"),
        (_WAYS, f"mov a1,v0; subq a0,1,a0; {RETURNS}; addq a1,a2,v0; ret", "branch condition"),
        (_WAYS, f"mov a1,v0; mov a2,ra; {RETURNS}; addq a1,a2,v0; ret", "target of a jump"),
        (_STORED, f"mov a1,v0; stq a1,0(a2); {RETURNS}; ret", "another order: stq"),
        (_STORED, f"mov a1,v0; {RETURNS}; ret", "memory"),
        (f"{GOES}; clr v0; ret", f"{GOES_OTHERWISE}; clr v0; ret", "operand of jmp_if"),
        (RETURNS + _LOOP.format("v0"), RETURNS + _LOOP.format("a1"), "register v0"),
        (f"{GOES}; {_SUM}; ret", f"{GOES}; {_DIFFERENCE}; ret", "register v0"),
        (f"addq a0,a1,a0; {GOES}; ret", f"subq a0,a1,a0; {GOES}; ret", "branch condition"),
        (f"{CALLS}; clr v0; ret", f"{CALLS_OTHERWISE}; clr v0; ret", "operand of jsr_if"),
        (f"{CALLS}; {_SUM}; {_BACK}", f"{CALLS}; {_DIFFERENCE}; {_BACK}", "register v0"),
        (f"unop; {CALLS}; mov ra,v0; {_BACK}", f"{CALLS}; mov ra,v0; unop; {_BACK}", "register v0"),
        (f"unop; {HERE}; mov ra,v0; {_BACK}", f"{HERE}; mov ra,v0; unop; {_BACK}", "register v0"),
        (
            f"unop; {HERE}; lda v0,16(ra); {_BACK}",
            f"{HERE}; lda v0,16(ra); ldq ra,0(sp); ret; unop",
            "register v0",
        ),
    ],
    ids=[
        "other sense",
        "other condition",
        "other way back",
        "always",
        "never",
        "other result",
        "no result",
        "other result behind it",
        "condition changed before",
        "way back changed before",
        "store before it",
        "store gone",
        "loop behind it",
        "jump: other sense",
        "jump: behind it",
        "jump: condition changed",
        "call: other sense",
        "call: behind it",
        "call: address read",
        "place read",
        "sum not adjusted",
    ],
)
def test_what_does_not(room: Room, old: str, new: str, reason: str) -> None:
    findings = _findings(room, old, new)
    assert reason in findings


@pytest.mark.parametrize("leaves", ["beq a1,first", "bsr ra,first", "jsr ra,(a2)"])
def test_what_leaves_over_the_end_still_does(room: Room, leaves: str) -> None:
    """What is behind a function may be another's entry; nobody says that a call stays away."""
    size = (room.place.end - room.place.start) // 4
    first, back = "first: bne a0,last; beq a2,back; ret", "back: addq a1,a2,v0; ret"

    def ending(*texts: str) -> str:
        text = "; ".join(texts)
        return "unop; " * (size - text.count(";") - 1) + text

    old = ending(first, back, f"last: clr v0; unop; {leaves}")
    assert not _findings(room, old, ending(first, back, f"last: clr v0; {leaves}; unop"))
    swapped = ending(first, f"last: clr v0; unop; {leaves}", back)
    assert "leaves over the function's end otherwise" in _findings(room, old, swapped)


def test_straight_code_goes_on_behind_a_conditional_return(room: Room) -> None:
    """Where it leaves, what a caller may read is read; a result that is not set yet is not."""
    program = _program(room, f"mov a1,v0; {RETURNS}; addq a1,a2,v0; ret")
    superblock = next(program.superblocks(room.place))
    assert superblock.address == room.place.start and len(superblock.insns) == 4
    (first, at_once), (last, _) = superblock.leaving
    assert (first, last) == (1, 3)
    assert at_once & register_mask((V0, A1, A2)) == register_mask((V0, A1, A2))
    assert not at_once >> A0 & 1


def test_trials_must_have_seen_both_ways(room: Room) -> None:
    """Of a conditional return as of a branch: cases that all return early say little."""
    program = _program(room, f"{RETURNS}; clr v0; ret")
    start, away = room.place.start, 0x1000
    through = [(start + 4, None), (start + 8, away)]
    both = [(start, away), (start, None), *through]
    assert not unreached(program, [start], both, room.place)
    assert "goes one way" in unreached(program, [start], [(start, None), *through], room.place)
    assert "no case comes" in unreached(program, [start], [(start, away)])
