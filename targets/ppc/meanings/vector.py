"""Logic, sums, comparisons and counts of elements (Power ISA 3.1B, Book I, chapters 6 and 7).

Elements are counted from the most significant, in either byte order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.meanings import wide
from targets.ppc.meanings.unknown import CR6, Maker, pure
from targets.ppc.meanings.wide import QUADWORD, Parts
from targets.ppc.registers import EQ, LT

PartWise: TypeAlias = Callable[..., Value]
"""One part of a result from the same parts of the sources, after the machine."""


def every(number: int, size: int) -> int:
    """Elements of so many bytes that all hold the number, as wide as two vectors."""
    bits = 8 * size
    return sum(number << place for place in range(0, 16 * QUADWORD, bits))


def each(function: PartWise) -> Maker:
    """Every part of the result of the same parts of the sources."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, *sources: Reg) -> None:
            columns = zip(*(wide.get(m, source) for source in sources), strict=True)
            wide.put(m, target, [function(m, *column) for column in columns])

        return does

    return make


def narrow(size: int, known: Maker, shape: str) -> Maker:
    """What is known of elements of so many bytes; nothing where a part is narrower than one."""

    def make(name: str) -> Does:
        exact, other = known(name), pure(shape)(name)

        def does(m: Machine, *operands: Any) -> None:
            (exact if 8 * size <= m.width else other)(m, *operands)

        return does

    return make


# Logical -----------------------------------------------------------------------------------

AND = each(lambda m, a, b: a & b)
ANDC = each(lambda m, a, b: a & ~b)
OR = each(lambda m, a, b: a | b)
XOR = each(lambda m, a, b: a ^ b)
NOR = each(lambda m, a, b: ~(a | b))
ORC = each(lambda m, a, b: a | ~b)
NAND = each(lambda m, a, b: ~(a & b))
EQV = each(lambda m, a, b: ~(a ^ b))
SELECT = each(lambda m, a, b, c: a & ~c | b & c)


# Elements ----------------------------------------------------------------------------------


def _top(m: Machine, size: int) -> Value:
    """The most significant bit of each element of a part."""
    return m.const(every(1 << 8 * size - 1, size))


def added(size: int) -> Maker:
    """VADDUBM and its like: sums of elements."""

    def function(m: Machine, a: Value, b: Value) -> Value:
        top = _top(m, size)
        return (a & ~top) + (b & ~top) ^ (a ^ b) & top

    return narrow(size, each(function), "v=vv")


def subtracted(size: int) -> Maker:
    """VSUBUBM and its like: differences of elements."""

    def function(m: Machine, a: Value, b: Value) -> Value:
        top = _top(m, size)
        return (a | top) - (b & ~top) ^ (a ^ ~b) & top

    return narrow(size, each(function), "v=vv")


def _zeros(m: Machine, value: Value, size: int) -> Value:
    """All bits of the elements of a part that are zero."""
    top = _top(m, size)
    found = ~((value & ~top) + ~top | value) & top
    return m.lshr(found, m.const(8 * size - 1)) * m.const((1 << 8 * size) - 1)


def equal(size: int) -> Maker:
    """VCMPEQUB and its like."""
    return narrow(size, _compared(lambda m, a, b: _zeros(m, a ^ b, size)), "v=vv")


def unequal(size: int) -> Maker:
    """VCMPNEB and its like."""
    return _compared(lambda m, a, b: ~_zeros(m, a ^ b, size))


def unequal_or_zero(size: int) -> Maker:
    """VCMPNEZB and its like: also where an element of either is zero."""
    return _compared(
        lambda m, a, b: ~_zeros(m, a ^ b, size) | _zeros(m, a, size) | _zeros(m, b, size)
    )


def _compared(function: PartWise) -> Maker:
    """A comparison; a record form says in CR6 whether it holds for all elements, and for none."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, va: Reg, vb: Reg) -> None:
            columns = zip(wide.get(m, va), wide.get(m, vb), strict=True)
            found = [function(m, a, b) for a, b in columns]
            wide.put(m, target, found)
            if name.endswith("."):
                m.set(CR6, _all(m, found, -1) * m.const(LT) | _all(m, found, 0) * m.const(EQ))

        return does

    return make


def _all(m: Machine, values: Parts, number: int) -> Value:
    """One if each is the number, else zero."""
    return m.bit(reduce(m.both, (m.eq(value, m.const(number)) for value in values)))


def leading_even(m: Machine, rt: Reg, vb: Reg) -> None:
    """VCLZLSBB: bytes before the first with its lowest bit set."""
    _count(m, rt, wide.get(m, vb), m.ctlz)


def trailing_even(m: Machine, rt: Reg, vb: Reg) -> None:
    """VCTZLSBB: bytes after the last with its lowest bit set."""
    _count(m, rt, wide.get(m, vb)[::-1], m.cttz)


def _count(m: Machine, rt: Reg, values: Parts, count: Callable[[Value], Value]) -> None:
    counts = [m.lshr(count(v & m.const(every(1, 1))), m.const(3)) for v in values]
    full, result = m.const(m.width // 8), m.const(0)
    for number in counts[::-1]:
        result = number + m.ite(m.eq(number, full), result, m.const(0))
    m.set(rt, result)
