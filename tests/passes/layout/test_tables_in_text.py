"""Switches of 64-bit PowerPC, whose tables stand behind their jumps: code moves, entries follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.analysis.program import Program, analyse
from rewriter.core.code.listing import FLOW_CODE, INLINE
from rewriter.core.isa.instruction import Flow
from rewriter.elf.image import Image
from rewriter.identify.profiles import Direction
from rewriter.identify.profiles import parse as read
from rewriter.identify.profiles.directions import BRANCH, Directions, text_hash
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.verify.check import verify
from tests.passes.layout.test_order import POWER9, pair, power_library

SWITCH = """
0:	addis 2,12,.TOC.-0b@ha
	addi 2,2,.TOC.-0b@l
	.localentry f,.-f
	cmpldi 3,3
	bgt 9f
	addis 9,2,5f@toc@ha
	addi 9,9,5f@toc@l
	sldi 3,3,2
	lwax 10,9,3
	add 9,10,9
	mtctr 9
	bctr
5:	.long 1f-5b, 2f-5b, 3f-5b, 9f-5b
{}
9:	blr
	nop
	.long 0, 0x900, 0x80
"""
FIRST = "1:	cmpdi 4,0\n	bne 7f\n	std 4,0(5)\n	blr\n7:	std 5,24(5)\n	blr"
SECOND, THIRD = ("{}:	std 4,{}(5)\n	blr".format(*what) for what in ((2, 8), (3, 16)))
BEFORE = SWITCH.format("\n".join((FIRST, SECOND, THIRD)))
AFTER = SWITCH.format("\n".join((SECOND, FIRST, THIRD)))
SHARED = BEFORE.replace("bne 7f", "bne 3f").replace("7:	std 5,24(5)\n	blr\n", "")
ENTRIES = "1f-5b, 2f-5b, 3f-5b, 9f-5b"
WRONG = {
    "entries changed places": AFTER.replace(ENTRIES, "2f-5b, 1f-5b, 3f-5b, 9f-5b"),
    "an entry stayed": AFTER.replace(ENTRIES, "1f-5b, 1f-5b, 3f-5b, 9f-5b"),
    "an entry leads behind where it should": AFTER.replace("3f-5b", "3f+4-5b"),
    "an entry alone is another": BEFORE.replace("3f-5b", "9f-5b"),
    "data behind the code is other": AFTER.replace("0x900", "0x901"),
    "a read of the table is one of its second half": AFTER.replace("lwax 10,9,3", "lwa 10,8(9)"),
}


def of_two(folder: Path, after: str) -> tuple[Program, Image]:
    """The switch, and what it became."""
    return pair(folder, BEFORE, after, power_library, POWER9)


def test_entries_that_follow_are_accepted(tmp_path: Path) -> None:
    """The table keeps its place, and each entry leads to the same code."""
    program, new = of_two(tmp_path, AFTER)
    (table,) = program.references.tables
    function = next(f for f in program.functions if f.name == "f")
    assert table.exact and table.base == table.address and table.address in function
    assert verify(program, new, lambda *_: None).findings == ()


@pytest.mark.parametrize("what", WRONG)
def test_others_are_refused(what: str, tmp_path: Path) -> None:
    """Each entry counts, and data that is no entry."""
    program, new = of_two(tmp_path, WRONG[what])
    assert not verify(program, new, lambda *_: None).ok


def by_profile(folder: Path, code: str, ways: Sequence[int]) -> tuple[Program, Tuned]:
    """A function, and what becomes of it where of 100 passes of each branch so many are taken."""
    image = power_library(folder, {"f": code.splitlines()})
    program = analyse(image, POWER9)
    counts = {
        (BRANCH, at): Direction(100, held, 0)
        for at, held in zip(branches(program), ways, strict=True)
    }
    profile = read(Directions(text_hash(image), counts).written().encode(), "p.txt", image)
    options, power9 = Options(passes=("layout", "align")), POWER9.cpus["power9"]
    tuned = tune(image, POWER9, power9, options, lambda *_: None, profile, 1, program)
    assert [edit.technique for edit in tuned.edits] == ["layout"], tuned.skips
    return program, tuned


def test_code_that_no_control_comes_to_stands_aside(tmp_path: Path) -> None:
    """The entries of what stands elsewhere follow."""
    program, tuned = by_profile(tmp_path, SHARED, (0, 100))
    (table,) = program.references.tables
    image, new = program.image, replace(program.image, data=tuned.data)
    size = table.size * len(table.targets)
    assert new.read(table.address, size) != image.read(table.address, size)
    listing = program.listing
    data = listing.addresses[listing.rows == INLINE].tolist()
    others = [at for at in data if not table.address <= at < table.address + size]
    assert others and all(new.read(at, 4) == image.read(at, 4) for at in others)


def test_what_stands_before_a_traceback_table_moves(tmp_path: Path) -> None:
    """The last block comes first, and the table keeps its place."""
    code = "\n".join((FIRST.removeprefix("1:"), "	.long 0, 0x900, 0x80"))
    _, tuned = by_profile(tmp_path, code, (100,))
    assert tuned.edits[0].new.startswith("0; 1 branch inverted, +0 jumps")


def branches(program: Program) -> Sequence[int]:
    """The addresses of conditional branches."""
    listing = program.listing
    found: list[int] = listing.addresses[listing.flows == FLOW_CODE[Flow.BRANCH]].tolist()
    return found
