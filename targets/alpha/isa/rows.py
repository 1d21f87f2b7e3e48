"""The Alpha instruction table: every row, in one place."""

from __future__ import annotations

from rewriter.core.isa.table import Table
from targets.alpha.isa import floating, integer, pal
from targets.alpha.registers import CONSTANTS, NAMES

TABLE = Table(
    name="alpha",
    rows=(*integer.ROWS, *floating.ROWS, *pal.ROWS),
    word_bits=32,
    width=64,
    byteorder="little",
    aligned=True,
    constants=CONSTANTS,
    register_names=NAMES,
)
