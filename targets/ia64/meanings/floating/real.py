"""The 82-bit format of floating-point registers, and what memory has instead (SDM vol. 1, 5.1).

A register is an integer: significand in bits 63:0, with its integer bit, exponent in 80:64 with a
bias of 0xFFFF, sign in 81.
"""

from __future__ import annotations

from dataclasses import dataclass

from targets.ia64.machine.state import NATVAL

SIGNIFICAND = 64
ONES = (1 << SIGNIFICAND) - 1
INTEGER_BIT = 1 << SIGNIFICAND - 1
BIAS = 0xFFFF
SPECIAL = 0x1FFFF  # the exponent of infinities and NaNs
INTEGER = 0x1003E  # the exponent of an integer in the significand
SIGN = 81
INFINITY = SPECIAL << SIGNIFICAND | INTEGER_BIT
QUIET = 1 << SIGNIFICAND - 2  # the bit that makes a NaN a quiet one
INDEFINITE = 1 << SIGN | SPECIAL << SIGNIFICAND | INTEGER_BIT | QUIET


def packed(sign: int, exponent: int, significand: int) -> int:
    """A register of its parts."""
    return sign << SIGN | exponent << SIGNIFICAND | significand


def sign_of(value: int) -> int:
    """The sign bit."""
    return value >> SIGN


def exponent_of(value: int) -> int:
    """The biased exponent."""
    return value >> SIGNIFICAND & SPECIAL


def significand_of(value: int) -> int:
    """The significand with its integer bit."""
    return value & ONES


def is_nan(value: int) -> bool:
    """A NaN, quiet or signalling; NaTVal is none."""
    return exponent_of(value) == SPECIAL and significand_of(value) != INTEGER_BIT


def is_infinity(value: int) -> bool:
    """An infinity of either sign."""
    return exponent_of(value) == SPECIAL and significand_of(value) == INTEGER_BIT


def is_zero(value: int) -> bool:
    """A zero of either sign; an unnormalised zero is one, too."""
    return significand_of(value) == 0 and value != NATVAL


@dataclass(frozen=True, slots=True)
class Binary:
    """An interchange format: bits of the exponent and of the fraction."""

    exponent_bits: int
    fraction_bits: int

    @property
    def bias(self) -> int:
        """What is added to the exponent."""
        return (1 << self.exponent_bits - 1) - 1

    @property
    def least(self) -> int:
        """The exponent, as a register has it, of the smallest normal number."""
        return BIAS + 1 - self.bias

    def to_register(self, bits: int) -> int:
        """What a load makes of the bits of memory."""
        fraction = bits & (1 << self.fraction_bits) - 1
        exponent = bits >> self.fraction_bits & (1 << self.exponent_bits) - 1
        sign = bits >> self.fraction_bits + self.exponent_bits & 1
        significand = fraction << SIGNIFICAND - 1 - self.fraction_bits
        if exponent == 0:  # zero, or denormal: the integer bit stays clear
            return packed(sign, self.least if fraction else 0, significand)
        if exponent == (1 << self.exponent_bits) - 1:
            return packed(sign, SPECIAL, INTEGER_BIT | significand)
        return packed(sign, exponent - self.bias + BIAS, INTEGER_BIT | significand)

    def from_register(self, value: int) -> int:
        """What a store puts into memory; the number must be one of this format."""
        significand, exponent = significand_of(value), exponent_of(value)
        fraction = significand >> SIGNIFICAND - 1 - self.fraction_bits
        kept = self.exponent_bits - 1
        field = exponent >> 16 << kept | exponent & (1 << kept) - 1
        if not significand & INTEGER_BIT:
            field = 0
        low = fraction & (1 << self.fraction_bits) - 1
        sign = sign_of(value) << self.exponent_bits + self.fraction_bits
        return sign | field << self.fraction_bits | low


SINGLE, DOUBLE = Binary(8, 23), Binary(11, 52)
_EXTENDED_EXPONENT = 15


def extended_to_register(bits: int) -> int:
    """The 80 bits of a double-extended number as a register."""
    exponent = bits >> SIGNIFICAND & (1 << _EXTENDED_EXPONENT) - 1
    sign, significand = bits >> SIGNIFICAND + _EXTENDED_EXPONENT & 1, bits & ONES
    bias = (1 << _EXTENDED_EXPONENT - 1) - 1
    if exponent == (1 << _EXTENDED_EXPONENT) - 1:
        return packed(sign, SPECIAL, significand)
    if exponent == 0:
        return packed(sign, BIAS + 1 - bias if significand else 0, significand)
    return packed(sign, exponent - bias + BIAS, significand)


def extended_from_register(value: int) -> int:
    """The 80 bits that a store of a double-extended number writes."""
    significand, exponent = significand_of(value), exponent_of(value)
    kept = _EXTENDED_EXPONENT - 1
    field = exponent >> 16 << kept | exponent & (1 << kept) - 1
    if not significand & INTEGER_BIT:
        field = 0
    return (sign_of(value) << _EXTENDED_EXPONENT | field) << SIGNIFICAND | significand


def integer_to_register(bits: int) -> int:
    """64 bits as an integer in a register."""
    return packed(0, INTEGER, bits)
