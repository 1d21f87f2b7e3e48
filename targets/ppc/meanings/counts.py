"""Counts and permutations of bits and bytes (Power ISA 3.1B, Book I, 3.3.13 and 3.3.15)."""

from __future__ import annotations

from rewriter.core.readings.machine import Machine, Value
from targets.ppc.meanings.operate import WORD, unsigned_word


def leading_zeros_of_word(m: Machine, value: Value) -> Value:
    """cntlzw."""
    return m.ctlz(unsigned_word(m, value)) - m.const(m.width - WORD)


def trailing_zeros_of_word(m: Machine, value: Value) -> Value:
    """cnttzw."""
    return m.cttz(value if m.width == WORD else value | m.const(1 << WORD))


def leading_zeros(m: Machine, value: Value) -> Value:
    """cntlzd."""
    return m.ctlz(value)


def trailing_zeros(m: Machine, value: Value) -> Value:
    """cnttzd."""
    return m.cttz(value)


def set_bits(m: Machine, value: Value) -> Value:
    """popcntd."""
    return m.ctpop(value)


def _repeated(m: Machine, pattern: int, bits: int) -> Value:
    """A pattern in each part of so many bits of a register."""
    return m.const(sum(pattern << at for at in range(0, m.width, bits)))


def set_bits_of_bytes(m: Machine, value: Value) -> Value:
    """popcntb: in each byte how many of its bits are set."""
    one, two, four = m.const(1), m.const(2), m.const(4)
    value = value - (m.lshr(value, one) & _repeated(m, 0x55, 8))
    pairs = _repeated(m, 0x33, 8)
    value = (value & pairs) + (m.lshr(value, two) & pairs)
    return value + m.lshr(value, four) & _repeated(m, 0x0F, 8)


def set_bits_of_words(m: Machine, value: Value) -> Value:
    """popcntw: in each word."""
    if m.width == WORD:
        return m.ctpop(value)
    high = m.ctpop(m.lshr(value, m.const(WORD)))
    return m.shl(high, m.const(WORD)) | m.ctpop(unsigned_word(m, value))


def _bytes_folded(m: Machine, value: Value, bits: int) -> Value:
    """The lowest bits of the bytes of each part of so many bits, added modulo two."""
    at = bits // 2
    while at >= 8:
        value = value ^ m.lshr(value, m.const(at))
        at //= 2
    return value & _repeated(m, 1, bits)


def parity_of_words(m: Machine, value: Value) -> Value:
    """prtyw."""
    return _bytes_folded(m, value, WORD)


def parity(m: Machine, value: Value) -> Value:
    """prtyd."""
    return _bytes_folded(m, value, 64)


def permuted_bits(m: Machine, rs: Value, rb: Value) -> Value:
    """bpermd: bit n of the result is the bit of rb that byte n of rs names, or 0."""
    result = m.const(0)
    for n in range(8):
        index = m.zext(m.lshr(rs, m.const(8 * n)), 8)
        by = m.const(63) - (index & m.const(63))
        bit = m.lshr(rb, by) & m.const(1)
        named = m.ite(m.ult(index, m.const(64)), bit, m.const(0))
        result = result | m.shl(named, m.const(n))
    return result


def swapped(m: Machine, value: Value, unit: int, bits: int) -> Value:
    """The bytes of each unit in the other order, for all units of a value of so many bits."""
    at = unit // 2
    while at >= 8:
        low = m.const(sum(((1 << at) - 1) << place for place in range(0, bits, 2 * at)))
        value = m.shl(value & low, m.const(at)) | m.lshr(value, m.const(at)) & low
        at //= 2
    return value
