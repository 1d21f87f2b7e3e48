"""Lanes of a register (MVI): minima and maxima, errors of pixels, packing."""

from __future__ import annotations

from rewriter.core.readings.machine import Machine, Value
from targets.alpha.meanings.operate import Binary, Unary


def lanes(bits: int, choose: Binary) -> Binary:
    """choose() on each lane of `bits` bits."""

    def function(m: Machine, a: Value, b: Value) -> Value:
        result = m.const(0)
        for low in range(0, 64, bits):
            one, other = (m.zext(m.lshr(v, m.const(low)), bits) for v in (a, b))
            result = result | m.shl(choose(m, one, other), m.const(low))
        return result

    return function


def pick(bits: int, signed: bool, largest: bool) -> Binary:
    """The smaller or larger of two zero-extended lanes."""

    def choose(m: Machine, a: Value, b: Value) -> Value:
        less = m.slt(m.sext(a, bits), m.sext(b, bits)) if signed else m.ult(a, b)
        return m.ite(less, b, a) if largest else m.ite(less, a, b)

    return choose


def pixel_error(m: Machine, a: Value, b: Value) -> Value:
    """PERR: the sum of the absolute differences of the bytes."""
    total = m.const(0)
    for low in range(0, 64, 8):
        x, y = (m.zext(m.lshr(v, m.const(low)), 8) for v in (a, b))
        total = total + m.ite(m.ult(x, y), y - x, x - y)
    return total


def gather(bits: int, apart: int) -> Unary:
    """PKxB: the low byte of each lane of `bits` bits, packed; `apart` lanes."""

    def function(m: Machine, b: Value) -> Value:
        result = m.const(0)
        for i in range(apart):
            result = result | m.shl(m.zext(m.lshr(b, m.const(bits * i)), 8), m.const(8 * i))
        return result

    return function


def spread(bits: int, apart: int) -> Unary:
    """UNPKBx: the low bytes, each to its own lane of `bits` bits."""

    def function(m: Machine, b: Value) -> Value:
        result = m.const(0)
        for i in range(apart):
            result = result | m.shl(m.zext(m.lshr(b, m.const(8 * i)), 8), m.const(bits * i))
        return result

    return function
