"""Rows: arithmetic, logic, comparisons, counts (Power ISA 3.1B, Book I, section 3.3)."""

from __future__ import annotations

from rewriter.core.isa.instruction import Op
from targets.ppc.isa.formats import d, row, x
from targets.ppc.meanings.operate import binary


def _add() -> list[Op]:
    add = binary(lambda m, a, b: a + b)
    return [
        row("addi", "rt,ra0,si", d(14), add, "integer"),
        row("add", "rt,ra,rb", x(31, 266), add, "integer"),
        row("add.", "rt,ra,rb", x(31, 266, 1), binary(lambda m, a, b: a + b, records=True), "add."),
    ]


ROWS = (*_add(),)
