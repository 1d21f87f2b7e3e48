"""ffs, ffsll: one more than the number of the lowest bit that is set, zero for zero."""

from __future__ import annotations

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


def ffsll(view: View, value: int) -> int:
    """Of a 64-bit integer."""
    return (value & -value).bit_length()


def ffs(view: View, value: int) -> int:
    """Of a 32-bit integer; the high half of the register does not count."""
    return ffsll(view, value & 0xFFFFFFFF)


def _quad(arena: Arena, low: int, seed: int) -> Case:
    """A number whose lowest set bit is bit `low`; zero for 64."""
    high = scatter(seed) << 32 | scatter(seed + 1) if seed else 0
    return Case((((high | 1) << low) & MASK64,), ())


def _int(arena: Arena, low: int, seed: int) -> Case:
    return Case((widen(_quad(arena, low, seed).arguments[0] & 0xFFFFFFFF),), ())


def _plans(bits: int) -> tuple[Plan, ...]:
    lows = range(bits + 1)
    return (Plan("every bit", {"low": lows, "seed": range(200)}, {"low": lows, "seed": (0, 1)}),)


CONTRACTS = (
    Contract("ffs", (Kind.INT,), Result.INT, ffs, _int, _plans(32)),
    Contract("ffsll", (Kind.QUAD,), Result.INT, ffsll, _quad, _plans(64)),
)
