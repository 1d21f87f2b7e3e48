"""Integer operations on vectors, permutes, moves (Power ISA 3.1B, Book I, chapters 6 and 7).

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
from targets.ppc.meanings.wide import DOUBLEWORD, QUADWORD, Parts
from targets.ppc.registers import EQ, LT, parts

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


# Permutes ----------------------------------------------------------------------------------


def _part(m: Machine, register: Reg, number: int) -> Value:
    return m.get(parts(register, 8 * QUADWORD, m.width)[number])


def _window(m: Machine, one: Reg, other: Reg, start: int) -> Parts:
    """Sixteen bytes of two registers from a place in them; only what they need is read."""
    step = m.width // 8
    first, inside = divmod(start, step)
    count = QUADWORD // step

    def at(number: int) -> Value:
        return _part(m, one if number < count else other, number % count)

    if not inside:
        return [at(first + n) for n in range(count)]
    up, down = m.const(8 * inside), m.const(m.width - 8 * inside)
    return [m.shl(at(first + n), up) | m.lshr(at(first + n + 1), down) for n in range(count)]


def shift_octets(unit: int) -> Maker:
    """VSLDOI, XXSLDWI: two registers, shifted left by so many units of bytes."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, one: Reg, other: Reg, shift: int) -> None:
            wide.put(m, target, _window(m, one, other, unit * shift))

        return does

    return make


def permute_doublewords(m: Machine, target: Reg, one: Reg, other: Reg, dm: int) -> None:
    """XXPERMDI: a doubleword of each, which the bits of a number choose."""
    half = 8 * DOUBLEWORD // m.width
    chosen = ((one, dm >> 1), (other, dm & 1))
    values = [_part(m, r, half * which + n) for r, which in chosen for n in range(half)]
    wide.put(m, target, values)


def merged(size: int, low: bool) -> Maker:
    """VMRGHB and its like: elements of the first half of each in turn, or (low) of the second."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, one: Reg, other: Reg) -> None:
            halves = []
            for register in (one, other):
                elements = wide.split(m, wide.get(m, register), size)
                half = len(elements) // 2
                halves.append(elements[half:] if low else elements[:half])
            pairs = zip(*halves, strict=True)
            wide.put(m, target, wide.join(m, [e for pair in pairs for e in pair], size))

        return does

    return make


def merged_words(even: bool) -> Maker:
    """VMRGEW, VMRGOW: the words 0 and 2 of each in turn, or 1 and 3."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, one: Reg, other: Reg) -> None:
            words = [wide.split(m, wide.get(m, r), 4)[0 if even else 1 :: 2] for r in (one, other)]
            pairs = zip(*words, strict=True)
            wide.put(m, target, wide.join(m, [word for pair in pairs for word in pair], 4))

        return does

    return make


def packed(size: int) -> Maker:
    """VPKUHUM and its like: the low halves of elements of so many bytes."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, one: Reg, other: Reg) -> None:
            both = [*wide.get(m, one), *wide.get(m, other)]
            wide.put(m, target, wide.join(m, wide.split(m, both, size // 2)[1::2], size // 2))

        return does

    return make


def reversed_bytes(size: int) -> Maker:
    """XXBRH and its like: the bytes of each element in the other order."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, source: Reg) -> None:
            found = wide.split(m, wide.get(m, source), 1)
            turned = [b for n in range(0, QUADWORD, size) for b in found[n : n + size][::-1]]
            wide.put(m, target, wide.join(m, turned, 1))

        return does

    return make


def permuted(right: bool) -> Maker:
    """VPERM: the bytes of two registers that a third one numbers; VPERMR counts from the last."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, one: Reg, other: Reg, control: Reg) -> None:
            _permute(m, target, (one, other), control, right)

        return does

    return make


def permuted_in_place(right: bool) -> Maker:
    """XXPERM, XXPERMR: the second register is the target."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, one: Reg, control: Reg) -> None:
            _permute(m, target, (one, target), control, right)

        return does

    return make


def _permute(m: Machine, target: Reg, sources: tuple[Reg, Reg], control: Reg, right: bool) -> None:
    values = [part for source in sources for part in wide.get(m, source)]
    turn = m.const(2 * QUADWORD - 1 if right else 0)
    numbers = wide.split(m, wide.get(m, control), 1)
    chosen = [_byte(m, values, (n ^ turn) & m.const(2 * QUADWORD - 1)) for n in numbers]
    wide.put(m, target, wide.join(m, chosen, 1))


def _byte(m: Machine, values: Parts, number: Value) -> Value:
    """The byte of that number among the parts, of which there is a power of two."""
    step = m.width // 8
    place = 2 * QUADWORD // 2
    while len(values) > 1:
        half, is_low = len(values) // 2, m.eq(number & m.const(place), m.const(0))
        values = [m.ite(is_low, values[n], values[n + half]) for n in range(half)]
        place //= 2
    inside = m.const(step - 1) - (number & m.const(step - 1))
    return m.zext(m.lshr(values[0], m.shl(inside, m.const(3))), 8)


# Splats ------------------------------------------------------------------------------------


def splat(size: int) -> Maker:
    """VSPLTB and its like, XXSPLTW: an element, everywhere."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, source: Reg, number: int) -> None:
            step = m.width // 8
            part, inside = divmod(size * number, step)
            down = m.const(8 * (step - size - inside))
            element = m.zext(m.lshr(_part(m, source, part), down), 8 * size)
            _fill(m, target, element, size)

        return does

    return make


def splat_number(size: int) -> Maker:
    """VSPLTISB and its like, XXSPLTIB: a number, everywhere."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, number: Any) -> None:
            value = m.const(number) if isinstance(number, int) else number
            _fill(m, target, m.zext(value, 8 * size), size)

        return does

    return make


def _fill(m: Machine, target: Reg, element: Value, size: int) -> None:
    value = element * m.const(every(1, size))
    wide.put(m, target, [value] * (QUADWORD * 8 // m.width))


# Moves to and from general registers ---------------------------------------------------------


def move_from(low: bool) -> Maker:
    """MFVSRD, MFVSRLD: a doubleword."""

    def make(name: str) -> Does:
        def does(m: Machine, ra: Reg, xs: Reg) -> None:
            m.set(ra, _part(m, xs, 1 if low else 0))

        return does

    return make


def move_word_from(m: Machine, ra: Reg, xs: Reg) -> None:
    """MFVSRWZ: word 1."""
    m.set(ra, m.zext(wide.get(m, xs, DOUBLEWORD)[-1], 32))


def move_to(name: str) -> Does:
    """MTVSRD: doubleword 0."""

    def does(m: Machine, xt: Reg, ra: Reg) -> None:
        wide.put_first(m, xt, [m.get(ra)], name)

    return does


def move_word_to(signed: bool) -> Maker:
    """MTVSRWA, MTVSRWZ: a word, extended to doubleword 0."""

    def make(name: str) -> Does:
        def does(m: Machine, xt: Reg, ra: Reg) -> None:
            word = m.sext(m.get(ra), 32) if signed else m.zext(m.get(ra), 32)
            above = m.ashr(word, m.const(31)) if signed else m.const(0)
            wide.put_first(m, xt, [word] if m.width == 64 else [above, word], name)

        return does

    return make


def move_both_to(m: Machine, xt: Reg, ra: Reg, rb: Reg) -> None:
    """MTVSRDD: both doublewords."""
    wide.put(m, xt, [m.get(ra), m.get(rb)])


def splat_word_to(m: Machine, xt: Reg, ra: Reg) -> None:
    """MTVSRWS: a word, everywhere."""
    _fill(m, xt, m.zext(m.get(ra), 32), 4)
