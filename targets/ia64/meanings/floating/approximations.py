"""Approximations of reciprocals, of whole registers and of singles (SDM vol. 3, frcpa, frsqrta,
fprcpa, fprsqrta).

Each gives the result, the flags, and whether it is an approximation that may be refined.
"""

from __future__ import annotations

from math import isqrt

from targets.ia64.meanings.floating.arithmetic import Outcome, input_flags, is_denormal, nan_of
from targets.ia64.meanings.floating.environment import Environment
from targets.ia64.meanings.floating.real import (
    BIAS,
    INDEFINITE,
    INFINITY,
    SIGN,
    SIGNIFICAND,
    SINGLE,
    is_infinity,
    is_zero,
    packed,
    sign_of,
)
from targets.ia64.meanings.floating.rounding import Flag, Shape, exact, rounded, shape

Approximation = tuple[int, Flag, bool]
_TABLE_BITS = 10  # of the fraction of an approximation
_REGISTER = shape(SIGNIFICAND, 17)
_SINGLE = shape(SINGLE.fraction_bits + 1, SINGLE.exponent_bits)


def _half_up(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)


# The reciprocal (its root) of the middle of each interval, to 11 bits, of which the first is the
# integer bit: but for one entry of the roots, HP's Ski has the same.  Intervals are the 256 values
# of the fraction's high bits; for the root 128 of numbers in [2, 4), then 128 of those in [1, 2).
RECIPROCALS = tuple(_half_up(1 << 20, 512 + 2 * index + 1) for index in range(256))
ROOTS = tuple(
    isqrt((1 << 32) // ((257 + 2 * (index % 128)) * (2 if index < 128 else 1))) + 1 >> 1
    for index in range(256)
)


def _reciprocal_entry(sign: int, exponent: int, significand: int) -> int:
    entry = RECIPROCALS[significand >> SIGNIFICAND - 9 & 0xFF]
    return packed(sign, 2 * BIAS - 1 - exponent, entry << SIGNIFICAND - 1 - _TABLE_BITS)


def _root_entry(exponent: int, significand: int) -> int:
    entry = ROOTS[(exponent & 1) << 7 | significand >> SIGNIFICAND - 8 & 0x7F]
    return packed(0, BIAS - 1 - (exponent - BIAS >> 1), entry << SIGNIFICAND - 1 - _TABLE_BITS)


def _leading(value: int) -> tuple[int, int]:
    """Biased exponent (perhaps below zero) and significand of a number, its first bit set."""
    _, m, e = exact(value)
    return e + m.bit_length() - 1 + BIAS, m << SIGNIFICAND - m.bit_length()


def reciprocal(f2: int, f3: int, env: Environment) -> Approximation:
    """frcpa: an approximation of 1 / f3 and true, or the quotient f2 / f3 itself and false.

    The quotient is given for zeros, infinities and NaNs, and for exponents so far out that
    refinement would leave the range: there the processor asks software for it.
    """
    special = _special_quotient(f2, f3)
    if special:
        return *special, False
    flags = input_flags(f2, f3)
    exponent, significand = _leading(f3)
    if not _near(_leading(f2)[0], exponent, _REGISTER):
        result, found = _quotient(f2, f3, env)
        return result, flags | found, False
    return _reciprocal_entry(sign_of(f3), exponent, significand), flags, True


def _special_quotient(num: int, den: int) -> Outcome | None:
    if nan := nan_of(num, den):
        return nan
    sign = (sign_of(num) ^ sign_of(den)) << SIGN
    flags = input_flags(num, den)
    if is_infinity(num) or is_zero(den):
        if is_infinity(den) or (is_zero(num) and is_zero(den)):
            return INDEFINITE, Flag.INVALID
        divided = is_zero(den) and not is_infinity(num)
        return sign | INFINITY, flags | (Flag.ZERO_DIVIDE if divided else Flag(0))
    if is_infinity(den) or is_zero(num):
        return sign, flags
    return None


def _near(num: int, den: int, limits: Shape) -> bool:
    """Whether refinement stays within the limits, by the biased exponents."""
    least, greatest = limits.least - BIAS, limits.greatest - BIAS
    return (
        least - 2 < den - BIAS < greatest - 2
        and least + 1 < num - den < greatest
        and num - BIAS > least + limits.precision - 1
    )


def _quotient(num: int, den: int, env: Environment) -> Outcome:
    sign, m, e = exact(num)
    other, n, f = exact(den)
    extra = 2 * SIGNIFICAND
    whole, rest = divmod(m << extra, n)
    number = sign ^ other, whole << 1 | bool(rest), e - f - extra - 1
    return rounded(number, env.shape, env.mode, env.flush)


def root_reciprocal(f3: int, env: Environment) -> Approximation:
    """frsqrta: an approximation of 1 / sqrt(f3) and true, or the root itself and false."""
    if nan := nan_of(f3):
        return *nan, False
    if is_zero(f3):
        return sign_of(f3) << SIGN, Flag(0), False
    if sign_of(f3):
        return INDEFINITE, Flag.INVALID, False
    if is_infinity(f3):
        return INFINITY, Flag(0), False
    flags = input_flags(f3)
    exponent, significand = _leading(f3)
    if exponent <= _REGISTER.least + _REGISTER.precision - 1:
        result, found = _root(f3, env)
        return result, flags | found, False
    return _root_entry(exponent, significand), flags, True


def _root(value: int, env: Environment) -> Outcome:
    _, m, e = exact(value)
    extra = 2 * SIGNIFICAND + (e & 1)
    whole = isqrt(m << extra)
    inexact = whole * whole != m << extra
    return rounded((0, whole << 1 | inexact, (e - extra) // 2 - 1), env.shape, env.mode)


# Singles ------------------------------------------------------------------------------------


def single_reciprocal(f2: int, f3: int, env: Environment) -> Approximation:
    """fprcpa on one half: always about 1 / f3, but for what has no such quotient."""
    special = _special_quotient(f2, f3)
    if special:
        return *special, False
    flags, sign = input_flags(f2, f3), sign_of(f3)
    exponent, significand = _leading(f3)
    if is_denormal(f3):
        return sign << SIGN | INFINITY, flags, False
    if exponent >= _SINGLE.greatest - 2:
        return sign << SIGN, flags, False
    result = _reciprocal_entry(sign, exponent, significand)
    return result, flags, _near(_leading(f2)[0], exponent, _SINGLE)


def single_root_reciprocal(f3: int, env: Environment) -> Approximation:
    """fprsqrta on one half: always about 1 / sqrt(f3), also of zero and infinity."""
    if nan := nan_of(f3):
        return *nan, False
    if is_zero(f3):
        return sign_of(f3) << SIGN | INFINITY, Flag(0), False
    if sign_of(f3):
        return INDEFINITE, Flag.INVALID, False
    if is_infinity(f3):
        return 0, Flag(0), False
    exponent, significand = _leading(f3)
    useful = exponent > _SINGLE.least + _SINGLE.precision - 1
    return _root_entry(exponent, significand), input_flags(f3), useful
