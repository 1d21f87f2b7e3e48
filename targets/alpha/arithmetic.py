"""T-floating arithmetic on plain numbers, for trials: what the division routines of glibc use.

Operands and results are registers' bits.  Only finite, normal numbers and zero are known, and only
what their quotients and sums are rounded to: chopped (`/c`) or to the nearest even.  The flags that
these operations raise are in the FPCR, whose value is fixed here: a routine that puts back what it
read leaves them as they were.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

FPCR = 0x8A00_0000_0000_0000
"""What is read from it: rounding to nearest, inexact trap off (Handbook v4, table 4-9)."""

_MASK64 = (1 << 64) - 1
_SILENT = frozenset({"excb", "trapb", "mf_fpcr"})


def _number(bits: int) -> Fraction:
    """The number of a register; NotImplementedError where it is none that is known here."""
    exponent = bits >> 52 & 0x7FF
    if exponent == 0x7FF or (exponent == 0 and bits << 1 & _MASK64):
        raise NotImplementedError("an infinity, not a number, or denormal")
    (value,) = struct.unpack("<d", bits.to_bytes(8, "little"))
    return Fraction(value)


def _bits(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def _chopped(exact: Fraction) -> float:
    nearest = float(exact)
    return math.nextafter(nearest, 0.0) if abs(Fraction(nearest)) > abs(exact) else nearest


def _quotient(a: int, b: int) -> Fraction:
    return _number(a) / _number(b)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _to_quad(bits: int) -> int:
    return math.trunc(_number(bits)) & _MASK64


_OPERATIONS: Mapping[str, Callable[..., int]] = MappingProxyType(
    {
        "mf_fpcr": lambda: FPCR,
        "cvtqt": lambda a: _bits(float(_signed(a))),
        "cvttq/c": _to_quad,
        "addt": lambda a, b: _bits(float(_number(a) + _number(b))),
        "divt": lambda a, b: _bits(float(_quotient(a, b))),
        "divt/c": lambda a, b: _bits(_chopped(_quotient(a, b))),
    }
)


def answer(name: str, *values: int) -> int | None:
    """What an operation gives; None where it is not known."""
    try:
        return _OPERATIONS[name](*values)
    except (KeyError, NotImplementedError, ZeroDivisionError):
        return None


def lasting(event: tuple[object, ...]) -> bool:
    """Whether an event is more than a wait, or the FPCR read or put back as it was."""
    return event[0] not in _SILENT and event != ("mt_fpcr", FPCR)
