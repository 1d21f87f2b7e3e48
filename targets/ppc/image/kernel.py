"""What Linux for PowerPC keeps about its text.

Sources: Linux 6.1 arch/powerpc/include/asm/extable.h and page.h (PAGE_OFFSET), Kconfig.
"""

from __future__ import annotations

import struct

from rewriter.core.code.program import Fixup
from rewriter.core.target.protocol import CannotMove, Memory, Sectioned

EX_TABLE = "__ex_table"
_BASE = {32: 0xC0000000, 64: 0xC000000000000000}
"""Where a kernel's own addresses begin: a program cannot have text there."""


def is_kernel(image: Memory, bits: int) -> bool:
    """Whether the text stands where only a kernel's may."""
    return any(start >= _BASE[bits] for start, _ in image.executable_ranges())


def _entry(order: str) -> struct.Struct:
    """An entry: the access and where control goes on, each relative to its own place."""
    return struct.Struct(f"{'<' if order == 'little' else '>'}ii")


def fixup_table(image: Sectioned) -> range:
    """The addresses of the exception table's bytes."""
    return image.table(EX_TABLE)


def fixups(image: Sectioned, order: str) -> tuple[Fixup, ...]:
    """The exception table, in its order; entries for no instruction are left out."""
    where, entry, found = fixup_table(image), _entry(order), []
    for at in range(where.start, where.stop - entry.size + 1, entry.size):
        access, resume = entry.unpack(image.read(at, entry.size))
        if access:
            found.append(Fixup(at, at + access, at + 4 + resume, ()))
    return tuple(found)


def fixup_bytes(fixup: Fixup, order: str) -> bytes:
    """The bytes of an entry; CannotMove where a distance does not fit."""
    at = fixup.entry
    try:
        return _entry(order).pack(fixup.access - at, fixup.resume - at - 4)
    except struct.error as far:
        raise CannotMove(f"the exception entry of {fixup.access:#x} does not reach") from far


def dead_fixup(entry: int, order: str) -> bytes:
    """An entry for its own place, which is no code."""
    return _entry(order).pack(0, 0)
