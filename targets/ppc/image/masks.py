"""What of PowerPC code depends on where it was put and what it was linked with.

A linker fills branches that lead out of a routine, displacements off r2 and off the table of
addresses (r30), and the two halves of an address.  Behind a call it puts a load of r2 in the place
of a nop where the callee is in another file (64-Bit ELF V2 ABI 1.5, section 3.4).
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.operands import Words
from targets.ppc.registers import TOC

_LOW, _LOW_DS, _FAR, _NEAR = 0xFFFF, 0xFFFC, 0x03FFFFFC, 0xFFFC

RELOCATED = MappingProxyType(
    {
        **dict.fromkeys((3, 4, 5, 6), _LOW),  # ADDR16, ADDR16_LO, _HI, _HA
        10: _FAR,  # REL24
        11: _NEAR,  # REL14
        **dict.fromkeys((14, 15, 16, 17), _LOW),  # GOT16, _LO, _HI, _HA
        18: _FAR,  # PLTREL24
        23: _FAR,  # LOCAL24PC
        **dict.fromkeys((47, 48, 49, 50), _LOW),  # TOC16, _LO, _HI, _HA on 64-bit machines
        **dict.fromkeys((56, 57, 58, 59, 63, 64), _LOW_DS),  # ADDR16_DS to TOC16_LO_DS
        **dict.fromkeys(range(69, 73), _LOW),  # TPREL16, _LO, _HI, _HA
        **dict.fromkeys(range(79, 95), _LOW),  # GOT_TLSGD16 to GOT_DTPREL16_HA
        116: _FAR,  # REL24_NOTOC
        **dict.fromkeys(range(249, 253), _LOW),  # REL16, _LO, _HI, _HA
    }
)
"""The bits that a relocation fills, by its type (binutils, include/elf/ppc.h and ppc64.h)."""

Mask = NDArray[np.bool_]

_NOP = 0x60000000
_RESTORES = (0xE8410018, 0xE8410028)  # `ld 2,24(1)`, `ld 2,40(1)`
_ADDI, _ADDIS, _BC, _B = 14, 15, 16, 18
_GOT, _ENTRY, _MFLR = 30, 12, 0x7C0802A6
_FIRST = frozenset((7, 8, 12, 13, _ADDI, _ADDIS, *range(32, 36), *range(40, 44), 58))
"""Opcodes of sums and loads: the result is the first register of the word."""
_SECOND = frozenset((20, 21, 23, *range(24, 30), 30))
"""Of rotates and logic: it is the second."""
_INDEXED_FIRST = frozenset((21, 23, 40, 87, 104, 235, 266, 279, 343))
_INDEXED_SECOND = frozenset(
    (24, 26, 27, 28, 58, 60, 124, 284, 316, 412, 444, 476, 536, 539, 792, 794, 824, 922, 954, 986)
)
"""The same by the extended opcodes of sums, loads, shifts and logic of registers."""


def coarse(words: Words) -> Words:
    """Words one by one without displacements: the same wherever a routine begins or ends."""
    result = words.astype(np.uint32)
    opcodes = result >> np.uint32(26)
    result[_has_displacement(opcodes)] &= np.uint32(0xFFFF0000)
    result[opcodes == _B] &= np.uint32(0xFC000003)
    result[opcodes == _BC] &= np.uint32(0xFFFF0003)
    result[np.isin(words, _RESTORES)] = _NOP
    return result


def normal(words: Words) -> Words:
    """A whole routine: displacements stay where neither place nor link decides them."""
    plain, result = words.astype(np.uint32), coarse(words)
    opcodes, base = plain >> np.uint32(26), plain >> np.uint32(16) & np.uint32(31)
    made = np.isin(base, (TOC, _GOT)) | (opcodes == _ADDIS) | _low_halves(plain, opcodes, base)
    kept = _has_displacement(opcodes) & ~made & (result != _NOP)
    result[kept] = plain[kept]
    for opcode, bits in ((_B, _FAR), (_BC, _NEAR)):
        distances = (plain & np.uint32(bits)).astype(np.int64)
        distances -= (distances & (bits + 4 >> 1)) << 1
        goals = np.arange(len(plain)) + distances // 4
        inside = (opcodes == opcode) & (goals >= 0) & (goals < len(plain))
        result[inside] = plain[inside]
    return result


def _has_displacement(opcodes: Words) -> Mask:
    """Additions of numbers, loads and stores."""
    found: Mask = np.isin(opcodes, (_ADDI, _ADDIS)) | ((opcodes >= 32) & (opcodes < 59))
    found |= (opcodes == 61) | (opcodes == 62)
    return found


def _low_halves(words: Words, opcodes: Words, base: Words) -> Mask:
    """What adds to a register that holds an address, or the upper half of one.

    `addis` makes that from nothing, from r2, r12 and r30, and from a place that `mflr` gave.
    """
    high, places = set[int](), {0, TOC, _ENTRY, _GOT}
    found = np.zeros(words.shape, dtype=np.bool_)
    rows = zip(words.tolist(), opcodes.tolist(), base.tolist(), strict=True)
    for at, (word, opcode, register) in enumerate(rows):
        result, based = _result(word, opcode), register != 0 and register in high
        if opcode == _ADDI or opcode >= 32:
            found[at] = based
        if word & 0xFC1FFFFF == _MFLR:
            places.add(word >> 21 & 31)
        elif (opcode == _ADDIS and register in places) or (opcode == _ADDI and based):
            high.add(word >> 21 & 31)
        elif result is not None:
            high.discard(result)
    return found


def _result(word: int, opcode: int) -> int | None:
    """The general register that an instruction writes, where its form says it."""
    first, second = word >> 21 & 31, word >> 16 & 31
    if opcode in _FIRST or (opcode == 31 and word >> 1 & 0x3FF in _INDEXED_FIRST):
        return first
    if opcode in _SECOND or (opcode == 31 and word >> 1 & 0x3FF in _INDEXED_SECOND):
        return second
    return None
