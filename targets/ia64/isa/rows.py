"""The IA-64 instruction table: every row, in one place."""

from __future__ import annotations

from targets.ia64.isa import a_unit, b_unit, f_unit, i_unit, m_unit, memory, x_unit
from targets.ia64.isa.fields import LONG
from targets.ia64.isa.table import SlotTable
from targets.ia64.registers import CONSTANTS, NAMES

TABLE = SlotTable(
    name="ia64",
    rows=(
        *a_unit.ROWS,
        *i_unit.ROWS,
        *memory.ROWS,
        *m_unit.ROWS,
        *f_unit.ROWS,
        *b_unit.ROWS,
        *x_unit.ROWS,
    ),
    word_bits=LONG + 41,
    width=64,
    byteorder="little",
    aligned=True,
    constants=CONSTANTS,
    register_names=NAMES,
)
