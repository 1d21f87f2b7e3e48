"""What of Alpha code depends on where it was put and what it was linked with.

A linker fills displacements that lead out of a routine and everything that is reached through gp.
It also relaxes: `ldq $27,got(gp); jsr $26,($27)` becomes `unop; bsr $26,routine`, and the two
instructions that make gp again after the call become UNOPs (binutils, bfd/elf64-alpha.c,
elf64_alpha_relax_with_lituse).  Before and after are the same normal form here.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.instruction import Format
from rewriter.core.isa.operands import Words
from targets.alpha.image.pointers import UNOP
from targets.alpha.isa import formats
from targets.alpha.isa.formats import DISP, HINT, MEMORY, RA, RB, TARGET
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import GP, PV, ZERO
from targets.alpha.registers import RA as LINK

RELOCATED = MappingProxyType(
    {
        4: DISP.mask,  # LITERAL
        5: 0,  # LITUSE: says how a literal is used
        6: DISP.mask,  # GPDISP: the ldah; the lda is made in the same way
        7: TARGET.mask,  # BRADDR
        8: HINT.mask,  # HINT
        17: DISP.mask,  # GPRELHIGH
        18: DISP.mask,  # GPRELLOW
        19: DISP.mask,  # GPREL16
        28: TARGET.mask,  # BRSGP
    }
)
"""The bits that a relocation fills, by its type (binutils, include/elf/alpha.h)."""

Mask = NDArray[np.bool_]

_UNOP = TABLE.encode(UNOP)
_ALL = 0xFFFFFFFF


def _matches(words: Words, name: str, **fields: int) -> Mask:
    """Which words are of the row, in any format, with these operands."""
    found = np.zeros(words.shape, dtype=np.bool_)
    for mask, match in _patterns(name, tuple(fields.items())):
        found |= (words & np.uint32(mask)) == np.uint32(match)
    return found


@cache
def _patterns(name: str, fields: tuple[tuple[str, int], ...]) -> tuple[tuple[int, int], ...]:
    """(mask, match) of each format of a row with operands that are given."""
    found = []
    for row in TABLE.rows:
        if row.name == name:
            mask, match = row.mask, row.match
            for operand in row.format.operands:
                for field, value in fields:
                    if operand.name == field:
                        mask |= operand.mask
                        match |= operand.insert(value + operand.base)
            found.append((mask, match))
    return tuple(found)


def _of_format(words: Words, *forms: Format) -> Mask:
    """Which words are of a format whose rows differ in the top six bits only."""
    found: Mask = _opcodes(tuple(form.name for form in forms))[words >> np.uint32(26)]
    return found


@cache
def _opcodes(forms: tuple[str, ...]) -> Mask:
    known = np.zeros(64, dtype=np.bool_)
    known[sorted({row.match >> 26 for row in TABLE.rows if row.format.name in forms})] = True
    return known


def _is_memory(words: Words) -> Mask:
    return _of_format(words, MEMORY, formats.FP_MEMORY)


def _is_branch(words: Words) -> Mask:
    return _of_format(words, formats.BRANCH, formats.FP_BRANCH)


def _is_idle(words: Words) -> Mask:
    """Nops, and what becomes one when a call is relaxed."""
    return (
        _matches(words, "ldq_u", ra=ZERO)
        | _matches(words, "bis", rc=ZERO)
        | _matches(words, "cpys", fc=ZERO)
        | _matches(words, "ldq", ra=PV, rb=GP)
        | _matches(words, "lda", ra=PV, rb=GP)
        | _matches(words, "ldah", ra=GP, rb=LINK)
        | _matches(words, "lda", ra=GP, rb=GP)
    )


def coarse(words: Words) -> Words:
    """Words one by one without displacements: the same wherever a routine begins or ends."""
    result = words.astype(np.uint32)
    result[_is_memory(words)] &= np.uint32(_ALL & ~DISP.mask)
    result[_is_branch(words)] &= np.uint32(_ALL & ~TARGET.mask)
    result[_of_format(words, formats.JUMP)] &= np.uint32(_ALL & ~HINT.mask)
    calls = _matches(words, "jsr", rb=PV)
    result[calls] = words[calls] & np.uint32(RA.mask) | np.uint32(TABLE.find("bsr").match)
    tails = _matches(words, "jmp", ra=ZERO, rb=PV)
    result[tails] = np.uint32(TABLE.find("br").match | RA.insert(ZERO))
    result[_is_idle(words)] = np.uint32(_UNOP)
    return result


def normal(words: Words) -> Words:
    """A whole routine: displacements stay where neither place nor link decides them."""
    result = coarse(words)
    through_gp = (words & np.uint32(RB.mask)) == np.uint32(RB.insert(GP))
    made = through_gp | _matches(words, "ldah", ra=GP) | _low_halves(words)
    kept = _is_memory(words) & ~made & (result != np.uint32(_UNOP))
    result[kept] |= words[kept] & np.uint32(DISP.mask)
    goals = np.arange(len(words)) + 1 + TABLE.extract(words, TARGET) // TARGET.scale
    inside = _is_branch(words) & (goals >= 0) & (goals < len(words))
    result[inside] = words[inside]
    return result


def _low_halves(words: Words) -> Mask:
    """Accesses through a register that `ldah` off gp made, as far as it holds that."""
    found = np.zeros(words.shape, dtype=np.bool_)
    memory = _is_memory(words)
    for first in np.flatnonzero(_matches(words, "ldah", rb=GP)).tolist():
        register = RA.extract(int(words[first]))
        for at in range(first + 1, len(words)):
            found[at] |= bool(memory[at]) and RB.extract(int(words[at])) == register
            insn = TABLE.decode(int(words[at]))
            if insn is None or TABLE.defs(insn) >> register & 1:
                break
    return found


def shared_pointer(words: Words, address: int) -> int:
    """What gp must be in a routine that begins with these words; zero when they do not say."""
    if len(words) < 2 or not (
        _matches(words[:1], "ldah", ra=GP, rb=PV)[0]
        and _matches(words[1:2], "lda", ra=GP, rb=GP)[0]
    ):
        return 0
    high, low = (DISP.extract(int(word)) for word in words[:2])
    return (address + (high << 16) + low) % (1 << 64)
