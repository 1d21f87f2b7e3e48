"""The exception table of Linux for Alpha, read without the code under test."""

from __future__ import annotations

import struct

from rewriter.analysis.program import Program

ENTRY = struct.Struct("<iI")


def table(program: Program, data: bytes) -> dict[int, tuple[int, int, int, int]]:
    """Entries by file offset, read as arch/alpha/include/asm/extable.h says; no dead ones.

    (access, resume, register that becomes zero, register that gets the error), as addresses.
    """
    section = program.image.section("__ex_table")
    assert section is not None
    found = {}
    for n, (distance, word) in enumerate(
        ENTRY.iter_unpack(data[section.sh_offset : section.file_end])
    ):
        if distance:
            access = section.sh_addr + ENTRY.size * n + distance
            offset = (word & 0xFFFF) - ((word & 0x8000) << 1)
            where = section.sh_offset + ENTRY.size * n
            found[where] = (access, access + offset, word >> 21 & 31, word >> 16 & 31)
    return found
