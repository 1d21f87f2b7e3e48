"""Comparisons, and values made of fields of the condition register.

Power ISA 3.1B, Book I, sections 3.3.10, 3.3.18 and 3.3.19.
"""

from __future__ import annotations

from typing import Any

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.meanings.operate import Unary, ordered
from targets.ppc.registers import GT, LT


def compare(extend: Unary, signed: bool) -> Does:
    """A field says how the extended operands are ordered.

    A register is compared with itself for a branch to wait for it, before an isync.
    """

    def does(m: Machine, bf: Reg, ra: Reg, second: Any) -> None:
        other = m.again(ra) if isinstance(second, Reg) and second == ra else m.get(second)
        a, b = extend(m, m.get(ra)), extend(m, other)
        less = m.slt(a, b) if signed else m.ult(a, b)
        m.set(bf, ordered(m, less, m.eq(a, b)))

    return does


def _byte(m: Machine, value: Value, number: int) -> Value:
    return m.zext(m.lshr(value, m.const(8 * number)), 8)


def in_ranges(count: int) -> Does:
    """cmprb: whether the low byte of ra is in one of the ranges (low, high) of bytes of rb."""

    def does(m: Machine, bf: Reg, ra: Reg, rb: Reg) -> None:
        byte, ranges = _byte(m, m.get(ra), 0), m.get(rb)
        found = m.const(0)
        for n in range(count):
            low, high = _byte(m, ranges, 2 * n), _byte(m, ranges, 2 * n + 1)
            found = found | m.bit(m.both(m.ule(low, byte), m.ule(byte, high)))
        m.set(bf, found * m.const(GT))

    return does


def among_bytes(m: Machine, bf: Reg, ra: Reg, rb: Reg) -> None:
    """cmpeqb: whether the low byte of ra is any of rb's."""
    byte, others = _byte(m, m.get(ra), 0), m.get(rb)
    found = m.const(0)
    for n in range(m.width // 8):
        found = found | m.bit(m.eq(byte, _byte(m, others, n)))
    m.set(bf, found * m.const(GT))


def equal_bytes(m: Machine, rs: Value, rb: Value) -> Value:
    """cmpb: all ones in each byte that is the same in both."""
    result = m.const(0)
    for n in range(m.width // 8):
        same = m.eq(_byte(m, rs, n), _byte(m, rb, n))
        result = result | m.ite(same, m.const(0xFF << 8 * n), m.const(0))
    return result


def bit_of(m: Machine, field: Reg, bit: int) -> Value:
    """A bit of a field, 0 the most significant, as 1 or 0."""
    return m.lshr(m.get(field), m.const(3 - bit)) & m.const(1)


def is_set(m: Machine, field: Reg, bit: int) -> Value:
    """Whether a bit of a field is set."""
    return m.eq(bit_of(m, field, bit), m.const(1))


def selected(m: Machine, rt: Reg, ra: Reg, rb: Reg, field: Reg, bit: int) -> None:
    """isel."""
    m.set(rt, m.ite(is_set(m, field, bit), m.get(ra), m.get(rb)))


def sign_of_field(m: Machine, rt: Reg, bfa: Reg) -> None:
    """setb: -1 for less, 1 for greater, else 0."""
    field = m.get(bfa)
    greater = m.bit(m.eq(field & m.const(GT), m.const(GT)))
    less = m.eq(field & m.const(LT), m.const(LT))
    m.set(rt, m.ite(less, m.const(-1), greater))


def value_of_bit(if_set: int, if_clear: int) -> Does:
    """setbc, setbcr, setnbc, setnbcr."""

    def does(m: Machine, rt: Reg, field: Reg, bit: int) -> None:
        m.set(rt, m.ite(is_set(m, field, bit), m.const(if_set), m.const(if_clear)))

    return does
