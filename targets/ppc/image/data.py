"""Data among PowerPC's instructions: jump tables after their jump, and traceback tables.

On 64-bit machines gcc puts the table of a switch behind its `bctr`: 4-byte distances from the
table's start (gcc-12 config/rs6000/linux64.h, JUMP_TABLES_IN_TEXT_SECTION).  Behind each function
it puts a traceback table, which debuggers may read (64-bit PowerPC ELF ABI Supplement 1.9, section
3.3; gcc-12 config/rs6000/rs6000-logue.cc, rs6000_output_function_epilogue): a word of zeros,
then a version, which is 0, a language, flags and counts, a byte each.

A word of zeros is no instruction and never will be (Power ISA 3.1B, Book I, section 1.8.2): code
has one where it must not go on.  No other has primary opcode 0 either, so that two such words one
behind the other are data wherever they stand.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.operands import Words
from rewriter.core.readings.machine import ByteOrder

WORD = 4  # bytes
_BCTR = 0x4E800420
_OPCODE = 26  # the lowest bit of the primary opcode
_LEAST = 2
"""Entries that a jump table has at least."""

_ASSEMBLER = 12
"""The language of hand-written code, whose fields are one doubleword (glibc's sysdep.h)."""

_HAS_OFFSET, _HAS_CONTROLLED, _HAS_HANDLER, _HAS_NAME, _HAS_ALLOCA = 0x20, 0x08, 0x80, 0x40, 0x20
"""Flags of the third byte, and of the fourth from `_HAS_HANDLER` on: what follows the counts."""


def is_data(words: Words, bits: int, byteorder: ByteOrder) -> NDArray[np.bool_]:
    """Which words of a part of text are data; 32-bit code has no traceback tables."""
    found: NDArray[np.bool_] = words == 0
    for jump in np.flatnonzero(words[:-1] == _BCTR).tolist():
        found[jump + 1 : jump + 1 + table_length(words, jump + 1)] = True
    if bits == 32:
        return found
    opcodes = words >> words.dtype.type(_OPCODE)
    double = (words[:-1] == 0) & (opcodes[1:] == 0)
    end = 0
    for start in np.flatnonzero(double).tolist():
        if start >= end:
            end = start + _traceback_length(words[start : start + 64].tolist(), byteorder)
            found[start:end] = True
    return found


def table_length(words: Words, start: int) -> int:
    """How many entries a jump table has whose first is at a position; 0 where none is.

    It ends before the first of the places that it leads to, and at what leads out of the text or
    is no multiple of a word: so does every instruction but some of opcode 63.
    """
    end, at = len(words), start
    while at < end:
        distance = int(words[at])
        distance -= distance >> 31 << 32
        goal, rest = divmod(distance, WORD)
        if not goal or rest or not 0 <= start + goal < len(words):
            break
        if goal > 0:
            end = min(end, start + goal)
        at += 1
    return at - start if at - start >= _LEAST else 0


def _traceback_length(words: Sequence[int], byteorder: ByteOrder) -> int:
    """How many words the traceback table has that begins with some words; 1 where it is none."""
    fixed = 3
    if len(words) < fixed:
        return len(words)
    rest = b"".join(word.to_bytes(WORD, byteorder) for word in words[1:])
    fields = rest[: 2 * WORD]
    if byteorder == "little" and fields[6] == _ASSEMBLER:
        fields = fields[::-1]
    _, _, first, second, _, _, general, floating = fields
    size = WORD * (fixed - 1)
    size += WORD * bool(general or floating >> 1) + WORD * bool(first & _HAS_OFFSET)
    size += WORD * bool(second & _HAS_HANDLER)
    if first & _HAS_CONTROLLED:
        size += WORD + WORD * int.from_bytes(rest[size : size + WORD], byteorder)
    if second & _HAS_NAME:
        name = rest[size + 2 :][: int.from_bytes(rest[size : size + 2], byteorder)]
        if not name or not name.isascii() or not name.decode().isprintable():
            return 1  # so begins an address before the linker's stubs
        size += 2 + len(name)
    size += bool(second & _HAS_ALLOCA)
    return 1 + -(-size // WORD)
