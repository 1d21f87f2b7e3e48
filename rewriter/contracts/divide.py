"""Division, which Alpha has no instruction for: routines with a linkage of their own.

What happens where the divisor is zero or the quotient does not fit differs between systems (glibc
raises SIGFPE, the kernel goes on), and is left open.  A 32-bit operand, unsigned ones too, is
sign-extended in its register, and so is a 32-bit result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rewriter.contracts.contract import (
    MASK64,
    Arena,
    Case,
    Contract,
    Kind,
    Plan,
    Result,
    View,
    widen,
)
from rewriter.contracts.place import scatter

Divide = Callable[[int, int], int]


def quotient(a: int, b: int) -> int:
    """Rounded to zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    """With the sign of the dividend."""
    return a - quotient(a, b) * b


def _signed(value: int, bits: int) -> int:
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _model(divide: Divide, bits: int, signed: bool, view: View, a: int, b: int) -> int | None:
    low = (1 << bits) - 1
    x, y = (_signed(v, bits) if signed else v & low for v in (a, b))
    if y == 0 or (x, y) == (-(1 << bits - 1), -1):
        return None
    result = divide(x, y)
    return widen(result) if bits == 32 else result & MASK64


def _rounded_up(bits: int) -> list[int]:
    """Numbers that doubles round up: a quotient in floating point is then too large."""
    return [(1 << bit) - (1 << bit - 54) + 1 for bit in range(56, bits - 1, 2)]


def values(bits: int) -> tuple[int, ...]:
    """Numbers of every length, with their neighbours and negatives."""
    found = [0, 1, 2, 3, 5, 7, 10, 100, 1000, 10000, 86400, 1000000007]
    for bit in range(2, bits, 3):
        noise = scatter(bit) << 32 | scatter(bit, 1)
        found += [(1 << bit) - 1, 1 << bit, (1 << bit) + 1, noise >> 64 - bit]
    found += _rounded_up(bits)
    found += [-value for value in found[1::2]] + [-(1 << bits - 1), (1 << bits - 1) - 1, -1, -2]
    return tuple(dict.fromkeys(found))


def _build(numbers: tuple[int, ...], bits: int, arena: Arena, dividend: int, divisor: int) -> Case:
    a, b = numbers[dividend], numbers[divisor] or 1
    if a == -(1 << bits - 1) and b == -1:
        b = 1
    low = widen if bits == 32 else lambda v: v & MASK64
    return Case((low(a), low(b)), ())


def _open(numbers: tuple[int, ...], bits: int, arena: Arena, dividend: int) -> Case:
    """By zero; the last is a quotient that does not fit."""
    low = widen if bits == 32 else lambda v: v & MASK64
    if dividend == len(numbers):
        return Case((low(-(1 << bits - 1)), low(-1)), ())
    return Case((low(numbers[dividend]), 0), ())


def _either(numbers: tuple[int, ...], bits: int, arena: Arena, **point: int) -> Case:
    build = _build if "divisor" in point else _open
    return build(numbers, bits, arena, **point)


def _contract(name: str, divide: Divide, bits: int, signed: bool) -> Contract:
    numbers = values(bits)
    every, some = range(len(numbers)), range(0, len(numbers), 5)
    rounded = [numbers.index(number) for number in _rounded_up(bits)]
    return Contract(
        name,
        (Kind.QUAD, Kind.QUAD) if bits == 64 else (Kind.INT, Kind.INT),
        Result.QUAD if bits == 64 else Result.INT,
        partial(_model, divide, bits, signed),
        partial(_either, numbers, bits),
        (
            Plan(
                "pairs",
                {"dividend": every, "divisor": every},
                {"dividend": some, "divisor": some},
            ),
            *(
                [Plan("rounded", few={"dividend": rounded, "divisor": (1, 3, 6)})]
                if rounded
                else ()
            ),
            Plan("left open", few={"dividend": (0, 1, len(numbers) - 4, len(numbers))}),
        ),
        linkage="divide",
    )


CONTRACTS = tuple(
    _contract(f"{name}{size}{sign}", divide, bits, sign == "")
    for name, divide in (("div", quotient), ("rem", remainder))
    for size, bits in (("l", 32), ("q", 64))
    for sign in ("", "u")
)
