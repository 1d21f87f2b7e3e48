"""Functions into whose midst others lead: blocks change places, and what is led to stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from passes.lib.entered import other_entries
from rewriter.analysis.program import Program
from rewriter.verify.check import verify
from tests.passes.layout.test_order import ALPHA, gains, library, mostly_taken, pair, power_library
from tests.passes.layout.test_tables_in_text import (
    AFTER,
    BEFORE,
    POWER9,
    SHARED,
    WRONG,
    by_profile,
)

LOOP = """
1:	beq $16,2f
	stq $31,0($16)
2:	lda $0,1($16)
	ret
	unop
"""
ENTRY = """
	.globl g
	.type g, @function
g:	mov $17,$16
	beq $17,3f
	br 1b
3:	stq $31,8($18)
	ret
	unop
	unop
"""
BOTH = LOOP + ENTRY
BEFORE_ENTRY = BOTH.replace("	unop\n\n", "	mov $17,$16\n\n").replace(
    "g:	mov $17,$16", "g:	unop"
)
NAMED = {
    "a word of data": BOTH + "\t.pushsection .data\n\t.quad g\n\t.popsection\n",
    "a symbol of no function": BOTH.replace("	.type g, @function\n", ""),
}


def _entry(program: Program) -> int:
    return next(s.st_value for s in program.image.symbols if s.name == "g")


def test_what_a_symbol_of_a_function_names_stays(tmp_path: Path) -> None:
    """Its first instruction does, and the rest moves."""
    program, tuned = mostly_taken(tmp_path, BOTH)
    (function,) = (one for one in program.functions if one.name == "f")
    entry = _entry(program)
    assert other_entries(program, function) == {entry}
    assert list(gains(tuned)), tuned.skips
    new = replace(program.image, data=tuned.data)
    assert new.read(entry, 4) == program.image.read(entry, 4)
    assert verify(program, new, lambda *_: None).findings == ()


@pytest.mark.parametrize("what", NAMED)
def test_what_other_data_names_stops_the_move(what: str, tmp_path: Path) -> None:
    """A word may be there for any reason; a label may begin a range that something looks at."""
    program, tuned = mostly_taken(tmp_path, NAMED[what])
    (function,) = (one for one in program.functions if one.name == "f")
    assert _entry(program) not in other_entries(program, function)
    assert {skip.reason for skip in tuned.skips} == {"something outside leads into it"}
    assert tuned.data == program.image.data or not tuned.edits


def test_an_entry_that_moved_is_refused(tmp_path: Path) -> None:
    """Who calls it by its symbol comes to what stands there."""
    program, new = pair(tmp_path, BOTH, BEFORE_ENTRY, library, ALPHA)
    assert not verify(program, new, lambda *_: None).ok


MADE = "	addis 9,2,5f@toc@ha\n	addi 9,9,5f@toc@l\n"
READ = "	addis 9,2,6f@toc@ha\n	ld 9,6f@toc@l(9)\n"
WORD = '	.pushsection .data.rel.ro,"aw"\n6:	.quad 5b\n	.popsection\n'


def _by_word(code: str) -> str:
    """A switch, whose table a relocated word names."""
    return code.replace(MADE, READ).replace("9:	blr", f"{WORD}9:	blr")


def test_a_table_in_text_may_be_named_by_a_word(tmp_path: Path) -> None:
    """It stays, and its entries follow."""
    program, tuned = by_profile(tmp_path, _by_word(SHARED), (0, 100))
    (table,) = program.references.tables
    (function,) = (one for one in program.functions if one.name == "f")
    assert table.address in other_entries(program, function)
    new = replace(program.image, data=tuned.data)
    assert new.read(table.address, 16) != program.image.read(table.address, 16)


@pytest.mark.parametrize(("after", "right"), [(AFTER, True), (WRONG["an entry stayed"], False)])
def test_entries_of_a_table_that_a_word_names_count(
    after: str, right: bool, tmp_path: Path
) -> None:
    """One that does not follow is refused."""
    program, new = pair(tmp_path, _by_word(BEFORE), _by_word(after), power_library, POWER9)
    assert verify(program, new, lambda *_: None).ok is right
