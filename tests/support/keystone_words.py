"""Keystone as another assembler of PowerPC words: single instructions, operands as numbers."""

from __future__ import annotations

import re
from functools import cache

import keystone
from keystone import keystone_const as codes

_HERE = 1 << 28
"""Where Keystone thinks the word stands: a branch then has no negative number, whose sign it reads
as a hint, and what is here is the displacement's origin."""
_REGISTER = re.compile(r"\b(?:r|f|v|vs)(\d+)")


def word(width: int, mnemonic: str, operands: str) -> int | None:
    """The word of an instruction; None where Keystone knows no such mnemonic, KsError for others.

    `width` is 32 or 64: with 32, instructions of 64-bit machines are unknown.
    """
    numbers = _REGISTER.sub(r"\1", operands)
    return _made(width, f"{mnemonic} {numbers}")


def branch(width: int, mnemonic: str, condition: str, distance: int) -> int | None:
    """The word of a branch that goes `distance` bytes; `condition` stands in front of the target.

    A displacement that does not fit comes out cut.
    """
    return _made(width, f"{mnemonic} {condition}{_HERE + distance}")


@cache
def _made(width: int, text: str) -> int | None:
    try:
        made, _ = _engine(width).asm(text, _HERE)
    except keystone.KsError as error:
        if error.errno == codes.KS_ERR_ASM_MNEMONICFAIL:
            return None
        raise
    assert made is not None, text
    return int.from_bytes(bytes(made), "big")


@cache
def _engine(width: int) -> keystone.Ks:
    """Keystone for registers of so many bits."""
    mode = codes.KS_MODE_PPC64 if width == 64 else codes.KS_MODE_PPC32
    return keystone.Ks(codes.KS_ARCH_PPC, codes.KS_MODE_BIG_ENDIAN | mode)
