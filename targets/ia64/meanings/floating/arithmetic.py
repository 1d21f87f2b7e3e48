"""Floating-point arithmetic on whole registers: multiply and add, compares, conversions
(SDM vol. 3, fma to frsqrta).

`Operation`s take registers and an environment and give the result with its flags; the parallel
forms use them on each half.
"""

from __future__ import annotations

from collections.abc import Callable

from targets.ia64.meanings.floating.environment import Environment
from targets.ia64.meanings.floating.real import (
    INDEFINITE,
    INFINITY,
    INTEGER_BIT,
    QUIET,
    SIGN,
    SIGNIFICAND,
    SPECIAL,
    exponent_of,
    is_infinity,
    is_nan,
    is_zero,
    sign_of,
    significand_of,
)
from targets.ia64.meanings.floating.rounding import (
    Exact,
    Flag,
    below,
    exact,
    product,
    rounded,
    shape,
    total,
)

Outcome = tuple[int, Flag]
_NEGATIVE = 1 << SIGN
_TABLE_BITS = 10  # of the fraction of an approximation
REGISTER = shape(SIGNIFICAND, 17)  # what a register can hold


def is_signalling(value: int) -> bool:
    """A NaN that raises Invalid."""
    return is_nan(value) and not value & QUIET


def is_unsupported(value: int) -> bool:
    """A special exponent without the integer bit: no number at all."""
    return exponent_of(value) == SPECIAL and not value & INTEGER_BIT


def is_denormal(value: int) -> bool:
    """A number whose integer bit is clear, but no zero."""
    return not value & INTEGER_BIT and bool(significand_of(value))


def input_flags(*values: int) -> Flag:
    """Invalid for signalling NaNs and non-numbers, Denormal for unnormalised ones."""
    found = Flag(0)
    for value in values:
        if is_unsupported(value) or is_signalling(value):
            found |= Flag.INVALID
        elif is_denormal(value):
            found |= Flag.DENORMAL
    return found


def nan_of(*values: int) -> Outcome | None:
    """The result if one of the operands is not a number: the first such, made quiet."""
    if any(is_unsupported(value) for value in values):
        return INDEFINITE, Flag.INVALID
    for value in values:
        if is_nan(value):
            invalid = any(is_signalling(each) for each in values)
            return value | QUIET, Flag.INVALID if invalid else Flag(0)
    return None


def multiply_add(f3: int, f4: int, f2: int | None, env: Environment) -> Outcome:
    """f3 * f4 + f2, rounded once; None for f2 is no addition, so that a zero keeps its sign."""
    added = () if f2 is None else (f2,)
    if nan := nan_of(f4, *added, f3):
        return nan
    flags = input_flags(f3, f4, *added) & Flag.DENORMAL
    sign = sign_of(f3) ^ sign_of(f4)
    if is_infinity(f3) or is_infinity(f4):
        opposed = f2 is not None and is_infinity(f2) and sign_of(f2) != sign
        if is_zero(f3) or is_zero(f4) or opposed:
            return INDEFINITE, Flag.INVALID
        return sign << SIGN | INFINITY, flags
    if f2 is not None and is_infinity(f2):
        return f2, flags
    number = product(exact(f3), exact(f4))
    if f2 is not None:
        number = total(number, exact(f2), env.mode)
    result, found = rounded(number, env.shape, env.mode, env.flush)
    return result, flags | found


def negated(value: int) -> int:
    """The number with the other sign; a NaN stays as it is."""
    return value if is_nan(value) else value ^ _NEGATIVE


# Compares -----------------------------------------------------------------------------------


def less(a: int, b: int) -> bool:
    """a < b for operands that are no NaNs."""
    return below(_ordered(a), _ordered(b))


def _ordered(value: int) -> Exact:
    """An infinity as a number beyond all others."""
    if is_infinity(value):
        return sign_of(value), 1, 1 << SIGNIFICAND // 3
    return exact(value)


Relation = Callable[[int, int, bool], bool]
# Relation: does it hold (operands, whether they are unordered), and is a quiet NaN Invalid.
RELATIONS: dict[str, tuple[Relation, bool]] = {
    "eq": (lambda a, b, no: not no and not less(a, b) and not less(b, a), False),
    "lt": (lambda a, b, no: not no and less(a, b), True),
    "le": (lambda a, b, no: not no and not less(b, a), True),
    "unord": (lambda a, b, no: no, False),
    "neq": (lambda a, b, no: no or less(a, b) or less(b, a), False),
    "nlt": (lambda a, b, no: no or not less(a, b), True),
    "nle": (lambda a, b, no: no or less(b, a), True),
    "ord": (lambda a, b, no: not no, False),
}


def compared(relation: str, a: int, b: int) -> tuple[bool, Flag]:
    """Whether the relation holds, and the flags."""
    holds, strict = RELATIONS[relation]
    unordered = is_nan(a) or is_nan(b)
    flags = input_flags(a, b)
    if unordered:
        flags &= Flag.INVALID
        if strict:
            flags |= Flag.INVALID
    return holds(a, b, unordered), flags


def chosen(name: str, a: int, b: int) -> Outcome:
    """min, max, amin, amax: the second operand unless the first one is strictly beyond it."""
    flags = input_flags(a, b)
    if is_nan(a) or is_nan(b):
        return b, flags & Flag.INVALID | Flag.INVALID
    left, right = (a & ~_NEGATIVE, b & ~_NEGATIVE) if name.startswith("a") else (a, b)
    first = less(left, right) if name.endswith("min") else less(right, left)
    return (a if first else b), flags
