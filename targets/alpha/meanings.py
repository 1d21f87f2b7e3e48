"""What Alpha's instructions do, as functions over `Machine`.

Alpha Architecture Handbook v4, chapter 4.

Makers return a meaning for a family of rows; the rows in `integer` and `floating` name them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewriter.core.isa import Does, Reg
from rewriter.core.machine import Machine, Value
from targets.alpha.registers import FZERO, ZERO

Binary = Callable[[Machine, Value, Value], Value]
Unary = Callable[[Machine, Value], Value]
Test = Callable[[Machine, Value], Value]


def binary(function: Binary) -> Does:
    """rc = function(ra, rb)."""

    def does(m: Machine, ra: Any, rb: Any, rc: Reg) -> None:
        m.set(rc, function(m, m.get(ra), m.get(rb)))

    return does


def trapping(function: Binary, name: str) -> Does:
    """As `binary`, and an overflow traps."""

    def does(m: Machine, ra: Any, rb: Any, rc: Reg) -> None:
        a, b = m.get(ra), m.get(rb)
        m.event(name, a, b)
        m.set(rc, function(m, a, b))

    return does


def single(function: Unary) -> Does:
    """rc = function(rb)."""

    def does(m: Machine, rb: Any, rc: Reg) -> None:
        m.set(rc, function(m, m.get(rb)))

    return does


def compare(test: Binary) -> Does:
    """rc = 1 if test(ra, rb) else 0."""
    return binary(lambda m, a, b: m.bit(test(m, a, b)))


def long(function: Binary) -> Binary:
    """The low 32 bits of the result, sign-extended."""
    return lambda m, a, b: m.sext(function(m, a, b), 32)


def scaled(scale: int, sign: int) -> Binary:
    """scale * ra + sign * rb."""

    def function(m: Machine, a: Value, b: Value) -> Value:
        product = a * m.const(scale)
        return product + b if sign > 0 else product - b

    return function


def test_zero(condition: str) -> Test:
    """A register's test: the suffix of CMOVxx and Bxx."""
    tests: dict[str, Test] = {
        "eq": lambda m, a: m.eq(a, m.const(0)),
        "ne": lambda m, a: m.negate(m.eq(a, m.const(0))),
        "lt": lambda m, a: m.slt(a, m.const(0)),
        "ge": lambda m, a: m.negate(m.slt(a, m.const(0))),
        "le": lambda m, a: m.sle(a, m.const(0)),
        "gt": lambda m, a: m.slt(m.const(0), a),
        "lbs": lambda m, a: m.eq(a & m.const(1), m.const(1)),
        "lbc": lambda m, a: m.eq(a & m.const(1), m.const(0)),
    }
    return tests[condition]


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


def conditional_move(test: Test) -> Does:
    """rc = rb if test(ra)."""

    def does(m: Machine, ra: Any, rb: Any, rc: Reg) -> None:
        m.set(rc, m.ite(test(m, m.get(ra)), m.get(rb), m.get(rc)))

    return does


# Memory -----------------------------------------------------------------------------------


def lda(scale: int) -> Does:
    """ra = rb + scale * disp."""

    def does(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
        m.set(ra, m.get(rb) + disp * m.const(scale))

    return does


Convert = Callable[[Machine, Value], Value]


def load(size: int, convert: Convert | None = None) -> Does:
    """ra = convert(size bytes at rb + disp).  A load into $31 is a hint (Handbook, 4.11)."""

    def does(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
        address = m.get(rb) + disp
        if ra in (ZERO, FZERO):
            m.event("prefetch", address)
            return
        value = m.load(address, size)
        m.set(ra, convert(m, value) if convert else value)

    return does


def load_unaligned(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
    """LDQ_U; into $31 it is UNOP."""
    if ra != ZERO:
        m.set(ra, m.load((m.get(rb) + disp) & m.const(-8), 8))


def load_locked(size: int) -> Does:
    """LDx_L."""

    def does(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
        address = m.get(rb) + disp
        m.event("lock", address)
        value = m.load(address, size)
        m.set(ra, m.sext(value, 32) if size == 4 else value)

    return does


def store(size: int, convert: Convert | None = None) -> Does:
    """Low `size` bytes of convert(ra) to rb + disp."""

    def does(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
        value = m.get(ra)
        m.store(m.get(rb) + disp, convert(m, value) if convert else value, size)

    return does


def store_unaligned(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
    """STQ_U."""
    m.store((m.get(rb) + disp) & m.const(-8), m.get(ra), 8)


def store_conditional(size: int) -> Does:
    """STx_C: ra becomes one if it stored."""

    def does(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
        m.set(ra, m.conditional_store(m.get(rb) + disp, m.get(ra), size))

    return does


# Bytes ------------------------------------------------------------------------------------


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
    result = m.const(0)
    for i in range(8):
        mask, at = m.const(0xFF), m.const(8 * i)
        below = m.ult(m.lshr(a, at) & mask, m.lshr(b, at) & mask)
        result = result | m.ite(below, m.const(0), m.const(1 << i))
    return result


# Multimedia -------------------------------------------------------------------------------


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


# Control ----------------------------------------------------------------------------------


def branch(test: Test) -> Does:
    """To the target if test(ra)."""

    def does(m: Machine, ra: Reg, target: Value) -> None:
        m.branch(test(m, m.get(ra)), target)

    return does


def branch_and_link(m: Machine, ra: Reg, target: Value) -> None:
    """BR, BSR: ra is the next address."""
    m.set(ra, m.next)
    m.jump(target)


def jump(m: Machine, ra: Reg, rb: Reg, hint: Value) -> None:
    """JMP, JSR, RET, JSR_COROUTINE: the target is read before ra is written."""
    target = m.get(rb) & m.const(-4)
    m.set(ra, m.next)
    m.jump(target)


def barrier(name: str) -> Does:
    """Something ordered that reads no register, whatever its fields say."""
    return lambda m, *ignored: m.event(name)


def event(name: str) -> Does:
    """Something ordered, with its register operands."""

    def does(m: Machine, *operands: Any) -> None:
        m.event(name, *(m.get(operand) for operand in operands))

    return does


# Floating point ---------------------------------------------------------------------------


def opaque(name: str) -> Does:
    """A floating-point result: an unknown function of the sources."""

    def does(m: Machine, *operands: Reg) -> None:
        *sources, fc = operands
        m.set(fc, m.opaque(name, *(m.get(s) for s in sources)))

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


def _swap_words(m: Machine, value: Value, count: int) -> Value:
    result = m.const(0)
    for i in range(count):
        word = m.zext(m.lshr(value, m.const(16 * i)), 16)
        result = result | m.shl(word, m.const(16 * (count - 1 - i)))
    return result


def f_to_register(m: Machine, value: Value) -> Value:
    """VAX F format in memory (words swapped) to a register (Handbook, table 2-1)."""
    straight = _swap_words(m, value, 2)
    exponent = m.lshr(straight, m.const(23)) & m.const(0xFF)
    low7 = exponent & m.const(0x7F)
    high = m.lshr(exponent, m.const(7))
    any_one = m.bit(m.negate(m.eq(low7, m.const(0))))
    middle = m.ite(m.eq(high, m.const(1)), m.const(0), any_one) * m.const(7)
    return _join(m, m.lshr(straight, m.const(31)), high, middle, low7, straight & m.const(0x7FFFFF))


def register_to_f(m: Machine, value: Value) -> Value:
    """A register to VAX F format in memory."""
    return _swap_words(m, register_to_s(m, value), 2)


def g_swap(m: Machine, value: Value) -> Value:
    """VAX G and D formats: the four words in the other order."""
    return _swap_words(m, value, 4)


def copy_sign(sign_of: Callable[[Machine, Value], Value], kept: int) -> Does:
    """CPYS, CPYSN, CPYSE: top bits of fa (kept of them), the rest of fb."""
    mask = ((1 << kept) - 1) << (64 - kept)

    def does(m: Machine, fa: Reg, fb: Reg, fc: Reg) -> None:
        top = sign_of(m, m.get(fa)) & m.const(mask)
        m.set(fc, top | (m.get(fb) & m.const(~mask)))

    return does


def quad_to_long(m: Machine, b: Value) -> Value:
    """CVTQL: a longword in the register's split format."""
    return m.shl(b & m.const(0xC0000000), m.const(32)) | m.shl(b & m.const(0x3FFFFFFF), m.const(29))


def long_to_quad(m: Machine, b: Value) -> Value:
    """CVTLQ."""
    return m.sext(register_to_s(m, b), 32)


def move_fp(convert: Convert | None = None) -> Does:
    """ITOFx, FTOIx: as a store by one and a load by the other."""

    def does(m: Machine, source: Reg, target: Reg) -> None:
        value = m.get(source)
        m.set(target, convert(m, value) if convert else value)

    return does
