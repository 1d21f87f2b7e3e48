"""Floating-point registers: formats in memory, signs, tests; results are opaque."""

from __future__ import annotations

from collections.abc import Callable

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.alpha.meanings.memory import Convert
from targets.alpha.meanings.operate import Test


def test_fp_zero(condition: str) -> Test:
    """A floating register's test: minus zero counts as zero."""
    magnitude_zero: Test = lambda m, a: m.eq(m.shl(a, m.const(1)), m.const(0))  # noqa: E731

    def less(m: Machine, a: Value) -> Value:
        return m.both(m.slt(a, m.const(0)), m.negate(magnitude_zero(m, a)))

    def less_or_equal(m: Machine, a: Value) -> Value:
        return m.negate(m.both(m.negate(m.slt(a, m.const(0))), m.negate(magnitude_zero(m, a))))

    tests: dict[str, Test] = {
        "eq": magnitude_zero,
        "ne": lambda m, a: m.negate(magnitude_zero(m, a)),
        "lt": less,
        "ge": lambda m, a: m.negate(less(m, a)),
        "le": less_or_equal,
        "gt": lambda m, a: m.negate(less_or_equal(m, a)),
    }
    return tests[condition]


def arithmetic(name: str) -> Does:
    """A floating-point result: an unknown function of the sources and of the FPCR."""

    def does(m: Machine, *operands: Reg) -> None:
        *sources, fc = operands
        values = [m.get(source) for source in sources]
        m.arithmetic(name, *values)
        m.set(fc, m.observed(name, *values))

    return does


def s_to_register(m: Machine, value: Value) -> Value:
    """S format in memory to T format in a register (Handbook, table 2-2)."""
    exponent = m.lshr(value, m.const(23)) & m.const(0xFF)
    low7 = exponent & m.const(0x7F)
    high = m.lshr(exponent, m.const(7))
    all_ones = m.bit(m.eq(low7, m.const(0x7F)))
    any_one = m.bit(m.negate(m.eq(low7, m.const(0))))
    middle = m.ite(m.eq(high, m.const(1)), all_ones, any_one) * m.const(7)
    return _join(m, m.lshr(value, m.const(31)), high, middle, low7, value & m.const(0x7FFFFF))


def _join(
    m: Machine, sign: Value, high: Value, middle: Value, low7: Value, fraction: Value
) -> Value:
    fields = ((sign, 63), (high, 62), (middle, 59), (low7, 52), (fraction, 29))
    result = m.const(0)
    for value, low in fields:
        result = result | m.shl(value, m.const(low))
    return result


def register_to_s(m: Machine, value: Value) -> Value:
    """T format in a register to S format in memory."""
    top = m.lshr(value, m.const(62))
    return m.shl(top, m.const(30)) | (m.lshr(value, m.const(29)) & m.const(0x3FFFFFFF))


def swap_words(m: Machine, value: Value, count: int) -> Value:
    """The lowest words of a value in the other order."""
    result = m.const(0)
    for i in range(count):
        word = m.zext(m.lshr(value, m.const(16 * i)), 16)
        result = result | m.shl(word, m.const(16 * (count - 1 - i)))
    return result


def f_to_register(m: Machine, value: Value) -> Value:
    """VAX F format in memory (words swapped) to a register (Handbook, table 2-1)."""
    straight = swap_words(m, value, 2)
    exponent = m.lshr(straight, m.const(23)) & m.const(0xFF)
    low7 = exponent & m.const(0x7F)
    high = m.lshr(exponent, m.const(7))
    any_one = m.bit(m.negate(m.eq(low7, m.const(0))))
    middle = m.ite(m.eq(high, m.const(1)), m.const(0), any_one) * m.const(7)
    return _join(m, m.lshr(straight, m.const(31)), high, middle, low7, straight & m.const(0x7FFFFF))


def register_to_f(m: Machine, value: Value) -> Value:
    """A register to VAX F format in memory."""
    return swap_words(m, register_to_s(m, value), 2)


def g_swap(m: Machine, value: Value) -> Value:
    """VAX G and D formats: the four words in the other order."""
    return swap_words(m, value, 4)


def copy_sign(sign_of: Callable[[Machine, Value], Value], kept: int) -> Does:
    """CPYS, CPYSN, CPYSE: top bits of fa (kept of them), the rest of fb."""
    mask = ((1 << kept) - 1) << (64 - kept)

    def does(m: Machine, fa: Reg, fb: Reg, fc: Reg) -> None:
        top = sign_of(m, m.get(fa)) & m.const(mask)
        m.set(fc, top | (m.get(fb) & m.const(~mask)))

    return does


def quad_to_long(name: str) -> Does:
    """CVTQL: a longword in the register's split format; an overflow is arithmetic's."""

    def does(m: Machine, fb: Reg, fc: Reg) -> None:
        b = m.get(fb)
        m.arithmetic(name, b)
        high = m.shl(b & m.const(0xC0000000), m.const(32))
        m.set(fc, high | m.shl(b & m.const(0x3FFFFFFF), m.const(29)))

    return does


def long_to_quad(m: Machine, b: Value) -> Value:
    """CVTLQ."""
    return m.sext(register_to_s(m, b), 32)


def move_fp(convert: Convert | None = None) -> Does:
    """ITOFx, FTOIx: as a store by one and a load by the other."""

    def does(m: Machine, source: Reg, target: Reg) -> None:
        value = m.get(source)
        m.set(target, convert(m, value) if convert else value)

    return does
