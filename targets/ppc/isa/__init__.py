"""The PowerPC instruction table: every row, in one place; `table` is the door.

- `formats`: operands, formats, opcodes of each form, and how a row is written.
- `features`: what a CPU must have for a row.
- `table`: what is special about words, text and registers of this machine.
- `integer`: arithmetic, logic, comparisons, counts.
- `families`: rows that differ only in name and opcode.
- `floating`: scalar floating point; `decimal`: decimal floating point.
- `vectors`: what vector and vector-scalar registers are for.

Scheduling classes are named after the types of gcc's rs6000 descriptions (`type` in rs6000.md),
with what those tell apart by other attributes behind them: `.` for a record form, `-u` for an
update form, `-ux` for an indexed one, `-ext` for a load that extends the sign.
"""

from __future__ import annotations

from functools import cache

from rewriter.core.readings.machine import ByteOrder
from targets.ppc.isa import decimal, floating, integer, vectors
from targets.ppc.isa.features import is_wide
from targets.ppc.isa.table import PpcTable
from targets.ppc.registers import CONSTANTS, names

ROWS = (*integer.ROWS, *floating.ROWS, *decimal.ROWS, *vectors.ROWS)


@cache
def table(width: int, byteorder: ByteOrder) -> PpcTable:
    """The table of machines with registers of 32 or 64 bits: the first have no 64-bit rows."""
    return PpcTable(
        name=f"ppc{width}{'le' if byteorder == 'little' else ''}",
        rows=tuple(row for row in ROWS if width == 64 or not is_wide(row.needs)),
        word_bits=64,
        width=width,
        byteorder=byteorder,
        aligned=False,
        constants=CONSTANTS,
        register_names=names(width),
    )
