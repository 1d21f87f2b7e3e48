"""Permutes, splats, moves to and from general registers (Power ISA 3.1B, Book I, chapters 6 and 7).

Elements are counted from the most significant, in either byte order.
"""

from __future__ import annotations

from typing import Any

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.meanings import wide
from targets.ppc.meanings.unknown import Maker
from targets.ppc.meanings.vector import every
from targets.ppc.meanings.wide import DOUBLEWORD, QUADWORD, Parts
from targets.ppc.registers import parts

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
    place = QUADWORD
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
