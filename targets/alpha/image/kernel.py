"""What Linux for Alpha keeps in and about its text: data behind BUG, and the exception table.

Sources: Linux 6.1 arch/alpha/include/asm/bug.h, extable.h and uaccess.h, kernel/traps.c (do_entIF).
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from rewriter.core.code.program import Fixup
from rewriter.core.code.system_tables import CannotMove, Sections, SystemTables, table_of
from rewriter.core.isa.operands import Words
from rewriter.core.target.protocol import Memory
from targets.alpha.isa.formats import DISP, RA, RB
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import T7, ZERO

BUGCHK = TABLE.find("bugchk")
BUG_WORDS = 3
"""Behind the trap of BUG: the line, 32 bits, and the address of the file's name, 64 bits."""

_LONGEST_NAME = 256  # bytes


def inline_data(text: Words, memory: Memory) -> NDArray[np.int64]:
    """The positions of what BUG leaves behind its trap, from where control does not come back."""
    traps = np.flatnonzero(text == BUGCHK.match)
    found: list[int] = []
    for at in traps.tolist():
        # A line number may look like the trap.
        if (not found or at > found[-1]) and _names_a_file(text, at, memory):
            found += range(at + 1, at + 1 + BUG_WORDS)
    return np.array(found, dtype=np.int64)


def _names_a_file(text: Words, at: int, memory: Memory) -> bool:
    words = text[at + 2 : at + 1 + BUG_WORDS].tolist()
    if len(words) < BUG_WORDS - 1:
        return False
    name = words[0] | words[1] << 32
    if not memory.is_mapped(name) or not memory.is_mapped(name + _LONGEST_NAME):
        return False
    read = memory.read(name, _LONGEST_NAME).split(b"\0", 1)[0]
    return 0 < len(read) < _LONGEST_NAME and read.isascii() and read.decode().isprintable()


_KERNEL = 1 << 63
"""From here on addresses are the kernel's: its text is in the 43-bit superpage at 0xfffffc00..."""


def is_kernel(image: Memory) -> bool:
    """Whether the text stands where only a kernel's may."""
    return any(start >= _KERNEL for start, _ in image.executable_ranges())


def reserved(image: Memory) -> int:
    """The mask of registers that nothing in the file may write: a kernel's thread is in `t7`.

    Source: Linux 6.1 arch/alpha/Makefile (-ffixed-8) and include/asm/thread_info.h.
    """
    return 1 << T7 if is_kernel(image) else 0


EX_TABLE = "__ex_table"
_ENTRY = struct.Struct("<iI")
"""An entry: the access, relative to the entry, and `lda value,resume(error)`."""

_LDA = TABLE.find("lda")
EFAULT = 14


class ExceptionTable:
    """Linux' table for Alpha, which it sorts when it starts."""

    size, sorted = _ENTRY.size, False

    def where(self, image: Sections) -> range:
        """The addresses of the table's bytes."""
        return table_of(image, EX_TABLE)

    def read(self, image: Sections) -> tuple[Fixup, ...]:
        """The table, in its order; entries for no instruction are left out."""
        where = self.where(image)
        found = []
        for entry in range(where.start, where.stop - self.size + 1, self.size):
            distance, word = _ENTRY.unpack(image.read(entry, self.size))
            if distance:
                value, error, resume = RA.extract(word), RB.extract(word), DISP.extract(word)
                sets = tuple((r, v) for r, v in ((value, 0), (error, -EFAULT)) if r != ZERO)
                access = entry + distance
                found.append(Fixup(entry, access, access + resume, sets))
        return tuple(found)

    def entry(self, fixup: Fixup) -> bytes:
        """The bytes of an entry; CannotMove where a distance does not fit."""
        value = next((r for r, v in fixup.sets if v == 0), ZERO)
        error = next((r for r, v in fixup.sets if v != 0), ZERO)
        try:
            word = _LDA.match | RA.insert(value) | RB.insert(error)
            word |= DISP.insert(fixup.resume - fixup.access)
            return _ENTRY.pack(fixup.access - fixup.entry, word)
        except (ValueError, struct.error) as far:
            raise CannotMove(f"the exception entry of {fixup.access:#x} does not reach") from far

    def dead(self, at: int) -> bytes:
        """An entry for its own place, which is no code: the kernel never finds it."""
        return _ENTRY.pack(0, _LDA.match | RA.insert(ZERO) | RB.insert(ZERO))


TABLES = SystemTables("little", ExceptionTable(), always=(EX_TABLE,), accessing=True)
"""A kernel for Alpha writes over none of its code."""
