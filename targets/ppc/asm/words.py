"""One instruction's word, as Keystone makes it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from rewriter.core.errors import RetuneError

if TYPE_CHECKING:
    from keystone import Ks

_HERE = 1 << 28
"""Where Keystone thinks the word stands: a branch then has no negative number, whose sign it reads
as a hint, and what is here is the displacement's origin."""


class UnknownMnemonic(ValueError):
    """Keystone knows no such mnemonic."""


@cache
def word(width: int, mnemonic: str, operands: str) -> int:
    """The word of an instruction whose operands are numbers; ValueError if it is none.

    `width` is 32 or 64: with 32, instructions of 64-bit machines are unknown.
    """
    return _made(width, f"{mnemonic} {operands}")


@cache
def branch(width: int, mnemonic: str, condition: str, distance: int) -> int:
    """The word of a branch that goes `distance` bytes; `condition` stands in front of the target.

    A displacement that does not fit comes out cut.
    """
    return _made(width, f"{mnemonic} {condition}{_HERE + distance}")


def _made(width: int, text: str) -> int:
    engine = _engine(width)
    from keystone import KsError
    from keystone.keystone_const import KS_ERR_ASM_MNEMONICFAIL

    try:
        made, _ = engine.asm(text, _HERE)
    except KsError as error:
        if error.errno == KS_ERR_ASM_MNEMONICFAIL:
            raise UnknownMnemonic("no such instruction") from None
        raise ValueError(str(error)) from None
    if made is None or len(made) != 4:
        raise ValueError("Keystone makes no word of it")
    return int.from_bytes(bytes(made), "big")


@cache
def _engine(width: int) -> Ks:
    """Keystone for registers of so many bits; RetuneError where it is not installed."""
    try:
        from keystone import Ks
        from keystone.keystone_const import (
            KS_ARCH_PPC,
            KS_MODE_BIG_ENDIAN,
            KS_MODE_PPC32,
            KS_MODE_PPC64,
        )
    except ImportError:
        hint = "pip install 'retune[powerpc]'"
        raise RetuneError("Keystone, which assembles for PowerPC, is missing", hint=hint) from None
    return Ks(KS_ARCH_PPC, KS_MODE_BIG_ENDIAN | (KS_MODE_PPC64 if width == 64 else KS_MODE_PPC32))
