"""What is between load-locked and store-conditional changes its place as a whole, or not at all.

The way to try again stands outside of the function, as assemblers put it there (`.subsection`); a
branch may lead past it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.analysis.program import Program, analyse
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow
from rewriter.elf.image import Image
from rewriter.identify.profiles import Direction
from rewriter.identify.profiles.directions import BRANCH, Directions, text_hash
from rewriter.road.pipeline import Tuned
from rewriter.verify.check import verify
from tests.passes.layout.test_one_way import library
from tests.passes.layout.test_order import ALPHA, gains, made, pair

ISLAND = """
	.subsection 2
2:	br 0b+12
	.previous
"""
"""Where it leads to in the old code."""
PLAIN = f"""
0:	beq $16,3f
	stq $31,8($17)
	lda $16,2($16)
1:	ldq_l $1,0($17)
	addq $1,$16,$2
	cmpeq $1,$18,$0
	bne $0,4f
	stq_c $2,0($17)
	beq $2,2f
4:	ret
3:	lda $16,1($31)
	br 1b
	unop
{ISLAND}"""
MOVED = f"""
0:	bne $16,3f
	lda $16,1($31)
1:	ldq_l $1,0($17)
	addq $1,$16,$2
	cmpeq $1,$18,$0
	bne $0,4f
	stq_c $2,0($17)
	beq $2,1b
4:	ret
3:	stq $31,8($17)
	lda $16,2($16)
	br 1b
	unop
{ISLAND}"""
OTHER = {
    "a nop comes between": MOVED.replace("	stq_c", "	unop\n	stq_c").replace(
        "	br 1b\n	unop", "	br 1b"
    ),
    "two change places": MOVED.replace(
        "	addq $1,$16,$2\n	cmpeq $1,$18,$0", "	cmpeq $1,$18,$0\n	addq $1,$16,$2"
    ),
    "the way to try again leads to the old place": MOVED.replace("beq $2,1b", "beq $2,2f"),
    "it leads behind the load-locked": MOVED.replace("beq $2,1b", "beq $2,1b+4"),
    "it leads before it": MOVED.replace("beq $2,1b", "beq $2,1b-4"),
    "a jump comes between": MOVED.replace(
        "	stq_c $2,0($17)\n	beq $2,1b\n4:	ret", "	br 5f\n4:	ret"
    ).replace("	br 1b\n	unop", "	br 1b\n5:	stq_c $2,0($17)\n	beq $2,1b\n	ret"),
    "a branch between is the opposite one": MOVED.replace(
        "	bne $0,4f\n	stq_c $2,0($17)\n	beq $2,1b\n4:	ret", "	beq $0,5f\n4:	ret"
    ).replace("	br 1b\n	unop", "	br 1b\n5:	stq_c $2,0($17)\n	beq $2,1b\n	ret"),
    "the store-conditional is gone": MOVED.replace("stq_c $2,0($17)", "unop"),
    "the island leads elsewhere": MOVED.replace("br 0b+12", "br 0b+8"),
}
"""Code of other lengths is padded (`_long`)."""


def _long(code: str) -> str:
    """With as many nops at the end of the function as make it as long as the longest."""
    body, island = code.split("\n	.subsection 2")
    lines = [line for line in body.splitlines() if line.strip()]
    return "\n".join([*lines, *["	unop"] * (16 - len(lines))]) + "\n	.subsection 2" + island


def _counted(program: Program, function: Function) -> Tuned:
    """With its first branch taken 99 of 100 times, and no other."""
    listing = program.listing
    at = listing.addresses[listing.flows == FLOW_CODE[Flow.BRANCH]].tolist()
    counts = {(BRANCH, place): Direction(100, 99 * (place == function.start), 0) for place in at}
    return made(program, Directions(text_hash(program.image), counts).written(), "layout", "align")


def _function(program: Program) -> Function:
    return next(function for function in program.functions if function.name == "f")


def _locks(image: Image, function: Function) -> list[int]:
    places = range(function.start, function.end, 4)
    words = ((at, ALPHA.table.decode(int.from_bytes(image.read(at, 4), "little"))) for at in places)
    return [at for at, insn in words if insn is not None and insn.name == "ldq_l"]


def test_a_sequence_may_stand_elsewhere(tmp_path: Path) -> None:
    """With all that it is, tried again from its load-locked."""
    program, new = pair(tmp_path, _long(PLAIN), _long(MOVED))
    assert verify(program, new, lambda *_: None).findings == ()


@pytest.mark.parametrize("what", OTHER)
def test_a_sequence_torn_apart_is_refused(what: str, tmp_path: Path) -> None:
    """So is one that is tried again otherwise."""
    program, new = pair(tmp_path, _long(PLAIN), _long(OTHER[what]))
    assert not verify(program, new, lambda *_: None).ok


def test_an_island_that_others_come_to_keeps_the_sequence(tmp_path: Path) -> None:
    """They come to the load-locked in its old place."""
    led = {"g": ["\tbr 2b"]}
    old, new = (library(tmp_path, {"f": _long(f).splitlines(), **led}) for f in (PLAIN, MOVED))
    program = analyse(old, ALPHA)
    assert not verify(program, new, lambda *_: None).ok
    function = _function(program)
    tuned = _counted(program, function)
    new = replace(old, data=tuned.data)
    assert _locks(new, function) == _locks(old, function)
    assert verify(program, new, lambda *_: None).findings == ()


def test_layout_moves_a_sequence_whole(tmp_path: Path) -> None:
    """The way that is gone most often falls through into it."""
    program = analyse(library(tmp_path, {"f": _long(PLAIN).splitlines()}), ALPHA)
    function = _function(program)
    tuned = _counted(program, function)
    assert list(gains(tuned)), tuned.skips
    new = replace(program.image, data=tuned.data)
    assert _locks(new, function) != _locks(program.image, function)
    assert verify(program, new, lambda *_: None).findings == ()
