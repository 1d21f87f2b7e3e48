"""Vector loads and stores (Power ISA 3.1B, Book I, 6.7 and 7.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.meanings import wide
from targets.ppc.meanings.unknown import Maker
from targets.ppc.meanings.wide import DOUBLEWORD, QUADWORD, Parts

Load: TypeAlias = Callable[[Machine, Value], Parts]
Store: TypeAlias = Callable[[Machine, Value, Parts], None]

_PAIR = 2 * QUADWORD


def _address(m: Machine, operands: tuple[Any, ...]) -> Value:
    return m.get(operands[0]) + m.get(operands[1])


def loading(load: Load) -> Maker:
    """A vector from the sum of the operands after the first."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, *addends: Any) -> None:
            wide.put(m, target, load(m, _address(m, addends)))

        return does

    return make


def storing(store: Store) -> Maker:
    """A vector to the sum of the operands after the first."""

    def make(name: str) -> Does:
        def does(m: Machine, source: Reg, *addends: Any) -> None:
            store(m, _address(m, addends), wide.get(m, source))

        return does

    return make


# Whole vectors -----------------------------------------------------------------------------


def load(m: Machine, address: Value) -> Parts:
    """LXV, LXVX: sixteen bytes in the machine's order."""
    return wide.load(m, address, QUADWORD)


def load_aligned(m: Machine, address: Value) -> Parts:
    """LVX: as LXV from an address of which the lowest four bits are ignored."""
    return load(m, address & m.const(-QUADWORD))


def load_elements(size: int) -> Load:
    """LXVD2X, LXVW4X, LXVH8X, LXVB16X: elements of so many bytes, the first one first."""

    def elements(m: Machine, address: Value) -> Parts:
        places = [address + m.const(offset) for offset in range(0, QUADWORD, size)]
        if size == DOUBLEWORD:
            return [part for place in places for part in wide.load(m, place, size)]
        return wide.join(m, [m.load(place, size) for place in places], size)

    return elements


def load_splat(size: int) -> Load:
    """LXVDSX, LXVWSX: one element, everywhere."""

    def splat(m: Machine, address: Value) -> Parts:
        if size == DOUBLEWORD:
            return wide.load(m, address, size) * 2
        return wide.join(m, [m.load(address, size)] * (QUADWORD // size), size)

    return splat


def load_last(size: int) -> Load:
    """LXVRBX and its like: the last element, the others are zero."""

    def last(m: Machine, address: Value) -> Parts:
        if size == DOUBLEWORD:
            found = wide.load(m, address, size)
            return [m.const(0)] * len(found) + found
        return [m.const(0)] * (8 * QUADWORD // m.width - 1) + [m.load(address, size)]

    return last


def store(m: Machine, address: Value, value: Parts) -> None:
    """STXV, STXVX: sixteen bytes in the machine's order."""
    wide.store(m, address, value)


def store_aligned(m: Machine, address: Value, value: Parts) -> None:
    """STVX: as STXV to an address of which the lowest four bits are ignored."""
    store(m, address & m.const(-QUADWORD), value)


def store_elements(size: int) -> Store:
    """STXVD2X, STXVW4X, STXVH8X, STXVB16X: elements of so many bytes, the first one first."""

    def elements(m: Machine, address: Value, value: Parts) -> None:
        if size == DOUBLEWORD:
            half = len(value) // 2
            wide.store(m, address, value[:half])
            wide.store(m, address + m.const(size), value[half:])
            return
        for number, element in enumerate(wide.split(m, value, size)):
            m.store(address + m.const(number * size), element, size)

    return elements


def store_last(size: int) -> Store:
    """STXVRBX and its like: the last element."""

    def last(m: Machine, address: Value, value: Parts) -> None:
        if size == DOUBLEWORD:
            wide.store(m, address, value[len(value) // 2 :])
        else:
            m.store(address, value[-1], size)

    return last


# Scalars -----------------------------------------------------------------------------------


def load_low(size: int) -> Load:
    """LXSIBZX, LXSIHZX: the low byte or halfword of doubleword 0, the rest of which is zero."""

    def low(m: Machine, address: Value) -> Parts:
        return [m.const(0)] * (8 * DOUBLEWORD // m.width - 1) + [m.load(address, size)]

    return low


def store_low(size: int) -> Store:
    """STXSIBX, STXSIHX: the low byte or halfword of doubleword 0."""

    def low(m: Machine, address: Value, value: Parts) -> None:
        m.store(address, value[-1], size)

    return low


# Pairs of registers ------------------------------------------------------------------------


def load_pair(name: str) -> Does:
    """LXVP: 32 bytes in the machine's order; the first register holds the most significant."""

    def does(m: Machine, target: Reg, *addends: Any) -> None:
        found = wide.load(m, _address(m, addends), _PAIR)
        half = len(found) // 2
        wide.put(m, target, found[:half])
        wide.put(m, Reg(target + 1), found[half:])

    return does


def store_pair(name: str) -> Does:
    """STXVP."""

    def does(m: Machine, source: Reg, *addends: Any) -> None:
        value = [*wide.get(m, source), *wide.get(m, Reg(source + 1))]
        wide.store(m, _address(m, addends), value)

    return does


# One element, whose place in the register the address says -------------------------------------


def _element(m: Machine, address: Value, size: int) -> tuple[Value, Value]:
    """The part, and the shift in it, of the element that an address says."""
    part, inside = m.width // 8, address & m.const(m.width // 8 - size)
    number = m.lshr(address & m.const(QUADWORD - size), m.const(part.bit_length() - 1))
    if m.byteorder == "big":
        return number, m.const(8 * (part - size)) - inside * m.const(8)
    return m.const(QUADWORD // part - 1) - number, inside * m.const(8)


def load_element(size: int) -> Maker:
    """LVEBX, LVEHX, LVEWX: one element; what the others hold then is undefined."""

    def make(name: str) -> Does:
        def does(m: Machine, target: Reg, *addends: Any) -> None:
            address, ones = _address(m, addends), m.const((1 << 8 * size) - 1)
            value = m.load(address & m.const(-size), size)
            number, shift = _element(m, address, size)
            found = []
            for n in range(8 * QUADWORD // m.width):
                lost = m.opaque(f"{name} undefined {n}", value, address)
                with_it = lost & ~m.shl(ones, shift) | m.shl(value, shift)
                found.append(m.ite(m.eq(number, m.const(n)), with_it, lost))
            wide.put(m, target, found)

        return does

    return make


def store_element(size: int) -> Maker:
    """STVEBX, STVEHX, STVEWX: one element."""

    def make(name: str) -> Does:
        def does(m: Machine, source: Reg, *addends: Any) -> None:
            address, first, *others = _address(m, addends), *wide.get(m, source)
            number, shift = _element(m, address, size)
            for n, part in enumerate(others, 1):
                first = m.ite(m.eq(number, m.const(n)), part, first)
            m.store(address & m.const(-size), m.lshr(first, shift), size)

        return does

    return make


# Part of a vector, whose length is in a register -----------------------------------------------


def load_length(name: str) -> Does:
    """LXVL, LXVLL: as many of sixteen bytes as the most significant byte of rb says."""

    def does(m: Machine, target: Reg, ra: Reg, rb: Reg) -> None:
        values = m.get(ra), m.get(rb)
        m.event(name, *values)
        parts = range(8 * QUADWORD // m.width)
        wide.put(m, target, [m.observed(f"{name} {n}", *values) for n in parts])

    return does


def store_length(name: str) -> Does:
    """STXVL, STXVLL."""

    def does(m: Machine, source: Reg, ra: Reg, rb: Reg) -> None:
        m.event(name, m.get(ra), m.get(rb), *wide.get(m, source))

    return does


# Addresses as data, and streams ----------------------------------------------------------------

_COUNTING = 0x0001020304050607_08090A0B0C0D0E0F
_ONES = int("01" * QUADWORD, 16)


def shift_left_control(m: Machine, target: Reg, ra: Reg, rb: Reg) -> None:
    """LVSL: sixteen bytes that count up from the lowest four bits of the address."""
    _control(m, target, (m.get(ra) + m.get(rb)) & m.const(15))


def shift_right_control(m: Machine, target: Reg, ra: Reg, rb: Reg) -> None:
    """LVSR: from 16 less those."""
    _control(m, target, m.const(16) - ((m.get(ra) + m.get(rb)) & m.const(15)))


def _control(m: Machine, target: Reg, first: Value) -> None:
    """The bytes first, first + 1, ...: none is above 31."""
    counting, ones = wide.constant(m, _COUNTING), wide.constant(m, _ONES)
    wide.put(m, target, [c + o * first for c, o in zip(counting, ones, strict=True)])


def stream(name: str) -> Does:
    """DST and its like: a stream of prefetches begins."""

    def does(m: Machine, ra: Reg, rb: Reg, strm: int) -> None:
        m.event(name, m.get(ra), m.get(rb), m.const(strm))

    return does


def stop_stream(m: Machine, strm: int) -> None:
    """DSS: one ends."""
    m.event("dss", m.const(strm))


def stop_streams(m: Machine) -> None:
    """DSSALL: all end."""
    m.event("dssall")
