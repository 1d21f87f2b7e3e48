"""The PowerPC instruction table: every row, in one place.

`table` here is the door.

choices   A move that a branch leads over, and the instruction that is both
comparisons  Comparisons of a register with a number, and branches that go by them
control   Rows: branches, the condition register, traps
decimal   Rows: decimal floating point
families  Rows that differ only in their name and opcode, from a table of those
features  What a CPU must have for a row: one name for each row, a set of them for each CPU
floating  Rows: scalar floating point
formats   PowerPC's operands, formats made of their text, and how a row is written
integer   Rows: arithmetic, logic, comparisons, counts
memory    Rows: loads and stores of general registers, with a prefix too
opposites Conditional branches with the opposite test
rotate    Rows: rotates, masks and shifts
storage   Rows: reservations, barriers, cache blocks
system    Rows: special registers, system calls, what only a system uses
table     What is special about words, text and registers of this machine
vectors/  Rows: vector and vector-scalar registers

Scheduling classes are named after the types of gcc's rs6000 descriptions (`type` in rs6000.md),
with what those tell apart by other attributes behind them: `.` for a record form, `-u` for an
update form, `-ux` for an indexed one, `-ext` for a load that extends the sign.
"""

from __future__ import annotations

from functools import cache

from rewriter.core.readings.machine import ByteOrder
from targets.ppc.isa import (
    control,
    decimal,
    floating,
    integer,
    memory,
    rotate,
    storage,
    system,
    vectors,
)
from targets.ppc.isa.features import is_wide
from targets.ppc.isa.table import PpcTable
from targets.ppc.registers import CONSTANTS, names

ROWS = (
    *(*integer.ROWS, *rotate.ROWS, *control.ROWS),
    *(*floating.ROWS, *decimal.ROWS, *vectors.ROWS),
    *(*memory.ROWS, *storage.ROWS, *system.ROWS),
)


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
