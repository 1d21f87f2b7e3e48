"""The IA-64 instruction table: every row, in one place."""

from __future__ import annotations

from targets.ia64 import a, b, f, i, m, memory, x
from targets.ia64.fields import LONG
from targets.ia64.registers import CONSTANTS, NAMES
from targets.ia64.table import SlotTable

TABLE = SlotTable(
    name="ia64",
    rows=(*a.ROWS, *i.ROWS, *memory.ROWS, *m.ROWS, *f.ROWS, *b.ROWS, *x.ROWS),
    word_bits=LONG + 41,
    width=64,
    byteorder="little",
    aligned=True,
    constants=CONSTANTS,
    register_names=NAMES,
)
