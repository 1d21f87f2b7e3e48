"""The table of meanings against the table of rows."""

from __future__ import annotations

from targets.ia64.isa.rows import TABLE
from targets.ia64.meanings import MEANINGS, meaning, qualifier
from targets.ia64.registers import PR


def test_every_row_has_a_meaning() -> None:
    assert [op.name for op in TABLE if meaning(op) is None] == []


def test_every_meaning_is_some_rows() -> None:
    """By the row's whole text, or else by its name."""
    used = {
        text if text in MEANINGS else op.name
        for op in TABLE
        for text in [op.name + op.format.syntax]
    }
    assert set(MEANINGS) == used


def test_rotating_branches_ask_for_their_predicate_themselves() -> None:
    """Those that count take none, and are no instructions with one."""
    for name, number, expected in (("br.wtop", 5, PR), ("br.cond", 5, PR + 5), ("br.ctop", 0, PR)):
        insn = TABLE.decode(TABLE.find(name).match | number)
        assert insn is not None
        assert qualifier(insn) == expected
    assert TABLE.decode(TABLE.find("br.ctop").match | 5) is None
