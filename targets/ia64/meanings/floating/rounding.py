"""Exact numbers, and one rounding to a precision and an exponent range (SDM vol. 1, 5.3, 5.4).

A finite number is (sign, m, e) with the value (-1)**sign * m * 2**e, m >= 0: integers, so that
nothing is rounded before the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag

from targets.ia64.meanings.floating.real import (
    BIAS,
    INFINITY,
    SIGN,
    SIGNIFICAND,
    exponent_of,
    packed,
    sign_of,
    significand_of,
)

Exact = tuple[int, int, int]
# Exponent 0 with a significand is a denormal double-extended number: the value has this exponent.
_DENORMAL = BIAS + 1 - 0x3FFF


class Mode(IntEnum):
    """Rounding control, as in FPSR."""

    NEAREST = 0
    DOWN = 1
    UP = 2
    ZERO = 3


class Flag(IntFlag):
    """IEEE flags, as the six bits of a status field (and of FPSR's traps)."""

    INVALID = 1
    DENORMAL = 2
    ZERO_DIVIDE = 4
    OVERFLOW = 8
    UNDERFLOW = 16
    INEXACT = 32


@dataclass(frozen=True, slots=True)
class Shape:
    """What a result is rounded to: bits of significand, least and greatest exponent (biased as in
    a register) of a normal number."""

    precision: int
    least: int
    greatest: int


def shape(precision: int, exponent_bits: int) -> Shape:
    """The shape with so many bits of exponent."""
    bias = (1 << exponent_bits - 1) - 1
    return Shape(precision, BIAS + 1 - bias, BIAS + bias)


def exact(value: int) -> Exact:
    """The number in a register that is finite."""
    exponent = exponent_of(value) or _DENORMAL
    return sign_of(value), significand_of(value), exponent - BIAS - (SIGNIFICAND - 1)


def product(a: Exact, b: Exact) -> Exact:
    """a * b."""
    return a[0] ^ b[0], a[1] * b[1], a[2] + b[2]


def total(a: Exact, b: Exact, mode: Mode) -> Exact:
    """a + b; a zero gets the sign that IEEE 754 gives it."""
    low = min(a[2], b[2])
    left, right = a[1] << a[2] - low, b[1] << b[2] - low
    number = (-left if a[0] else left) + (-right if b[0] else right)
    if number:
        return int(number < 0), abs(number), low
    sign = a[0] if a[0] == b[0] else int(mode is Mode.DOWN)
    return sign, 0, low


def below(a: Exact, b: Exact) -> bool:
    """a < b."""
    sign, number, _ = total(a, (b[0] ^ 1, *b[1:]), Mode.NEAREST)
    return bool(number and sign)


def _cut(number: int, bits: int, sign: int, mode: Mode) -> tuple[int, bool]:
    """The number without its low `bits` bits, rounded, and whether that lost something."""
    if bits <= 0:
        return number << -bits, False
    kept, rest = number >> bits, number & (1 << bits) - 1
    if not rest:
        return kept, False
    half = 1 << bits - 1
    match mode:
        case Mode.NEAREST:
            away = rest > half or (rest == half and kept & 1)
        case Mode.DOWN:
            away = bool(sign)
        case Mode.UP:
            away = not sign
        case Mode.ZERO:
            away = False
    return kept + bool(away), True


def rounded(number: Exact, to: Shape, mode: Mode, flush: bool = False) -> tuple[int, Flag]:
    """The register for a number, and the flags; `flush` makes zero of what is too small."""
    sign, m, e = number
    if not m:
        return sign << SIGN, Flag(0)
    lowest = e + m.bit_length() - to.precision  # the weight of the last bit that stays
    kept, inexact = _cut(m, lowest - e, sign, mode)
    if kept >> to.precision:
        kept, lowest = kept >> 1, lowest + 1
    exponent = lowest + to.precision - 1 + BIAS
    if exponent > to.greatest:
        return _overflowed(sign, to, mode)
    flags = Flag.INEXACT if inexact else Flag(0)
    if exponent < to.least:
        if flush:
            return sign << SIGN, Flag.UNDERFLOW | Flag.INEXACT
        exponent = to.least
        kept, inexact = _cut(m, exponent - BIAS - (to.precision - 1) - e, sign, mode)
        flags = Flag.UNDERFLOW | Flag.INEXACT if inexact else Flag(0)
        if not kept:
            return sign << SIGN, flags
    return packed(sign, exponent, kept << SIGNIFICAND - to.precision), flags


def _overflowed(sign: int, to: Shape, mode: Mode) -> tuple[int, Flag]:
    outward = mode is Mode.NEAREST or mode is (Mode.DOWN if sign else Mode.UP)
    largest = packed(0, to.greatest, (1 << to.precision) - 1 << SIGNIFICAND - to.precision)
    return sign << SIGN | (INFINITY if outward else largest), Flag.OVERFLOW | Flag.INEXACT


def to_integer(number: Exact, mode: Mode) -> tuple[int, bool]:
    """The integer that the number is rounded to, and whether that changed it."""
    sign, m, e = number
    kept, inexact = _cut(m, -e, sign, mode)
    return -kept if sign else kept, inexact
