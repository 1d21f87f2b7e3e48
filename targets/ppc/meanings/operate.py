"""Operations on general registers: sums, carries, products, logic; record and overflow forms.

Power ISA 3.1B, Book I, section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.registers import CA, CR, EQ, GT, LT, OV, SO, UN

Unary = Callable[[Machine, Value], Value]
Binary = Callable[[Machine, Value, Value], Value]

WORD = 32  # bits
_WORD_ONES = (1 << WORD) - 1


class Forms(NamedTuple):
    """Which forms of an instruction a row is: with a record in CR0, with overflow in OV and SO."""

    records: bool = False
    overflows: bool = False


PLAIN = Forms()


def undefined(m: Machine, name: str, *values: Value) -> Value:
    """What the architecture does not say about the result of `name`."""
    return m.opaque(f"{name}, undefined", *values)


# Words -------------------------------------------------------------------------------------


def unsigned_word(m: Machine, value: Value) -> Value:
    """The low 32 bits, zero-extended."""
    return value if m.width == WORD else value & m.const(_WORD_ONES)


def signed_word(m: Machine, value: Value) -> Value:
    """The low 32 bits, sign-extended."""
    return value if m.width == WORD else m.sext(value, WORD)


def word_only(m: Machine, name: str, value: Value, *sources: Value) -> Value:
    """A result of 32 bits whose upper half is undefined in a register of 64."""
    if m.width == WORD:
        return value
    high = m.shl(undefined(m, name, *sources), m.const(WORD))
    return high | unsigned_word(m, value)


# CR0, overflow -----------------------------------------------------------------------------


def ordered(m: Machine, less: Value, equal: Value) -> Value:
    """A field of the condition register, from two conditions and SO."""
    found = m.ite(less, m.const(LT), m.ite(equal, m.const(EQ), m.const(GT)))
    return found | m.get(SO) & m.const(UN)


def record(m: Machine, result: Value) -> None:
    """What a record form says in CR0 of its result."""
    zero = m.const(0)
    m.set(Reg(CR), ordered(m, m.slt(result, zero), m.eq(result, zero)))


def overflow(m: Machine, happened: Value) -> None:
    """OV, and SO, which stays set."""
    m.set(OV, happened)
    m.set(SO, m.get(SO) | happened)


def finish(m: Machine, forms: Forms, target: Reg, result: Value, overflowed: Value) -> None:
    """Writes a result, and what the forms say of it; `overflowed` is 1 or 0."""
    m.set(target, result)
    if forms.overflows:
        overflow(m, overflowed)
    if forms.records:
        record(m, result)


def sign(m: Machine, value: Value) -> Value:
    """The highest bit."""
    return m.lshr(value, m.const(m.width - 1))


# Sums --------------------------------------------------------------------------------------


def sum_of(
    prepared: Callable[[Machine, Any], Value],
    carry: int | Reg,
    forms: Forms = PLAIN,
    carries: bool = False,
) -> Does:
    """rt = prepared(ra) + rb + carry; CA is the carry out if it `carries`.

    `prepared` is ra or its complement; `carry` is a number, or CA.
    """

    def does(m: Machine, rt: Reg, ra: Any, *second: Any) -> None:
        a = prepared(m, ra)
        b = m.get(second[0]) if second else m.const(0)
        _add(m, rt, a, b, carry, forms, carries)

    return does


def sum_with(constant: int, prepared: Callable[[Machine, Any], Value], forms: Forms) -> Does:
    """rt = prepared(ra) + constant + CA, with CA: addme, addze, subfme, subfze."""

    def does(m: Machine, rt: Reg, ra: Reg) -> None:
        _add(m, rt, prepared(m, ra), m.const(constant), CA, forms, carries=True)

    return does


def _add(
    m: Machine, rt: Reg, a: Value, b: Value, carry: int | Reg, forms: Forms, carries: bool
) -> None:
    partial = a + b
    carried = m.get(carry) if isinstance(carry, Reg) else m.const(carry)
    result = partial + carried
    if carries:  # out of either sum: never out of both
        m.set(CA, m.bit(m.ult(partial, a)) | m.bit(m.ult(result, partial)))
    finish(m, forms, rt, result, sign(m, (a ^ result) & (b ^ result)))


def itself(m: Machine, source: Any) -> Value:
    """The value of a register or number."""
    return m.get(source)


def complement(m: Machine, source: Any) -> Value:
    """What is added to subtract it, with a carry of 1."""
    return ~m.get(source)


def negation(forms: Forms) -> Does:
    """neg."""

    def does(m: Machine, rt: Reg, ra: Reg) -> None:
        a = m.get(ra)
        result = m.const(0) - a
        finish(m, forms, rt, result, m.bit(m.eq(a, m.const(1 << m.width - 1))))

    return does


def shifted_sum(m: Machine, rt: Reg, ra: Reg, si: Value) -> None:
    """addis."""
    m.set(rt, m.get(ra) + si * m.const(1 << 16))


def sum_of_place(m: Machine, rt: Reg, number: Value) -> None:
    """addpcis: the number above 16 bits, and the address of the next instruction."""
    m.set(rt, m.next + number * m.const(1 << 16))


def extended_sum(m: Machine, rt: Reg, ra: Reg, rb: Reg) -> None:
    """addex: OV as the carry in and out."""
    a = m.get(ra)
    partial = a + m.get(rb)
    result = partial + m.get(OV)
    m.set(OV, m.bit(m.ult(partial, a)) | m.bit(m.ult(result, partial)))
    m.set(rt, result)


# Products and quotients --------------------------------------------------------------------


def product_high(m: Machine, a: Value, b: Value) -> Value:
    """The high half of the signed product of two registers."""
    zero = m.const(0)
    less = m.ite(m.slt(a, zero), b, zero) + m.ite(m.slt(b, zero), a, zero)
    return m.umulh(a, b) - less


def product(forms: Forms) -> Does:
    """mulld, and on a 32-bit machine mullw."""

    def does(m: Machine, rt: Reg, ra: Reg, rb: Reg) -> None:
        a, b = m.get(ra), m.get(rb)
        result = a * b
        extended = m.ashr(result, m.const(m.width - 1))
        fits = m.eq(product_high(m, a, b), extended)
        finish(m, forms, rt, result, m.bit(m.negate(fits)))

    return does


def word_product(forms: Forms) -> Does:
    """mullw: all 64 bits of the product of two words."""
    narrow = product(forms)

    def does(m: Machine, rt: Reg, ra: Reg, rb: Reg) -> None:
        if m.width == WORD:
            narrow(m, rt, ra, rb)
            return
        result = signed_word(m, m.get(ra)) * signed_word(m, m.get(rb))
        fits = m.eq(m.sext(result, WORD), result)
        finish(m, forms, rt, result, m.bit(m.negate(fits)))

    return does


def word_product_high(name: str, signed: bool, forms: Forms) -> Does:
    """mulhw, mulhwu: the upper half of a register of 64 bits is undefined."""
    extend = signed_word if signed else unsigned_word

    def does(m: Machine, rt: Reg, ra: Reg, rb: Reg) -> None:
        a, b = m.get(ra), m.get(rb)
        if m.width == WORD:
            high = product_high(m, a, b) if signed else m.umulh(a, b)
        else:
            high = m.lshr(extend(m, a) * extend(m, b), m.const(WORD))
        finish(m, forms, rt, word_only(m, name, high, a, b), m.const(0))

    return does


def quotient(name: str, forms: Forms) -> Does:
    """A quotient; what divides no number, or does not fit, is undefined, and overflows."""

    def does(m: Machine, rt: Reg, *operands: Reg) -> None:
        values = [m.get(operand) for operand in operands]
        result = m.opaque(name, *values)
        overflowed = m.opaque(f"{name}, overflow", *values) if forms.overflows else m.const(0)
        finish(m, forms, rt, result, overflowed)

    return does


def rest(name: str, quotient_name: str, bits: int, signed: bool) -> Does:
    """modsw, moduw, modsd, modud: what a quotient leaves; undefined where there is no quotient.

    Of 64 bits the upper half is undefined where the operands are words.
    """
    extend = (signed_word if signed else unsigned_word) if bits == WORD else itself

    def does(m: Machine, rt: Reg, ra: Reg, rb: Reg) -> None:
        a, b = m.get(ra), m.get(rb)
        dividend, divisor = extend(m, a), extend(m, b)
        unknown = m.opaque(name, a, b)
        found = dividend - extend(m, m.opaque(quotient_name, a, b)) * divisor
        if bits < m.width:
            found = unsigned_word(m, found) | unknown & ~unsigned_word(m, m.const(-1))
        if signed:
            least = m.eq(dividend, m.const(-(1 << bits - 1)))
            found = m.ite(m.both(least, m.eq(divisor, m.const(-1))), unknown, found)
        m.set(rt, m.ite(m.eq(divisor, m.const(0)), unknown, found))

    return does


def multiply_add(high: Binary | None) -> Does:
    """maddld, maddhd, maddhdu: a product plus rc, its low half or the high one."""

    def does(m: Machine, rt: Reg, ra: Reg, rb: Reg, rc: Reg) -> None:
        a, b, c = m.get(ra), m.get(rb), m.get(rc)
        low = a * b + c
        if high is None:
            m.set(rt, low)
            return
        carry = m.bit(m.ult(low, c))
        is_signed = high is product_high
        extended = m.ashr(c, m.const(m.width - 1)) if is_signed else m.const(0)
        m.set(rt, high(m, a, b) + extended + carry)

    return does


# Logic, and whatever is a function of registers --------------------------------------------


def binary(function: Binary, forms: Forms = PLAIN) -> Does:
    """rt = function(ra, rb); the rows say which operands those are."""

    def does(m: Machine, rt: Reg, ra: Any, rb: Any) -> None:
        finish(m, forms, rt, function(m, m.get(ra), m.get(rb)), m.const(0))

    return does


def unary(function: Unary, forms: Forms = PLAIN) -> Does:
    """ra = function(rs)."""

    def does(m: Machine, ra: Reg, rs: Reg) -> None:
        finish(m, forms, ra, function(m, m.get(rs)), m.const(0))

    return does


def unknown(name: str) -> Does:
    """The first operand is some function of the others."""

    def does(m: Machine, target: Reg, *sources: Any) -> None:
        m.set(target, m.opaque(name, *(m.get(source) for source in sources)))

    return does
