"""Bytes of a register: extracted, inserted, masked, compared."""

from __future__ import annotations

from rewriter.core.readings.machine import Machine, Value
from targets.alpha.meanings.operate import Binary


def byte_shift(m: Machine, b: Value) -> Value:
    """Bits from the bottom to byte rb<2:0>."""
    return (b & m.const(7)) * m.const(8)


def high_shift(m: Machine, b: Value) -> Value:
    """64 - 8 * rb<2:0>, modulo 64: the complement that the xxxH instructions shift by."""
    return ((m.const(0) - b) & m.const(7)) * m.const(8)


def _ones(size: int) -> int:
    return (1 << 8 * size) - 1


def extract_low(size: int) -> Binary:
    """EXTBL, EXTWL, EXTLL, EXTQL."""
    return lambda m, a, b: m.zext(m.lshr(a, byte_shift(m, b)), 8 * size)


def extract_high(size: int) -> Binary:
    """EXTWH, EXTLH, EXTQH."""
    return lambda m, a, b: m.zext(m.shl(a, high_shift(m, b)), 8 * size)


def insert_low(size: int) -> Binary:
    """INSBL, INSWL, INSLL, INSQL."""
    return lambda m, a, b: m.shl(m.zext(a, 8 * size), byte_shift(m, b))


def _upper_half(m: Machine, value: Value, b: Value) -> Value:
    """What of `value` shifted by rb<2:0> bytes lands above the register; nothing when it is 0."""
    zero = m.const(0)
    return m.ite(m.eq(b & m.const(7), zero), zero, m.lshr(value, high_shift(m, b)))


def insert_high(size: int) -> Binary:
    """INSWH, INSLH, INSQH."""
    return lambda m, a, b: _upper_half(m, m.zext(a, 8 * size), b)


def mask_low(size: int) -> Binary:
    """MSKBL, MSKWL, MSKLL, MSKQL."""
    return lambda m, a, b: a & ~m.shl(m.const(_ones(size)), byte_shift(m, b))


def mask_high(size: int) -> Binary:
    """MSKWH, MSKLH, MSKQH."""
    return lambda m, a, b: a & ~_upper_half(m, m.const(_ones(size)), b)


def byte_mask(m: Machine, b: Value) -> Value:
    """0xff in each byte whose bit of rb<7:0> is set, at once: code is full of these."""
    ones = m.const(0x0101010101010101)
    own = (b & m.const(0xFF)) * ones & m.const(0x8040201008040201)  # byte i has bit i of rb alone
    some = m.lshr(own + m.const(0x7F7F7F7F7F7F7F7F), m.const(7)) & ones
    return some * m.const(0xFF)


def compare_bytes(m: Machine, a: Value, b: Value) -> Value:
    """CMPBGE: bit i says that byte i of ra is not below byte i of rb."""
    zero, mask = m.const(0), m.const(0xFF)
    result = zero
    for i in range(8):
        at = m.const(8 * i)
        below = m.ult(m.lshr(a, at) & mask, m.lshr(b, at) & mask)
        result = result | m.ite(below, zero, m.const(1 << i))
    return result
