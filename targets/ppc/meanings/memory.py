"""Loads and stores, reservations, cache blocks.

Power ISA 3.1B, Book I, sections 3.3.2 to 3.3.7, and Book II, sections 4.3 to 4.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.meanings.counts import swapped
from targets.ppc.registers import CR, EQ, GPR, SO, XER

_WORD = 4  # bytes
_PREFIXED = 8

Convert = Callable[[Machine, Value], Value]
"""From what was loaded to the register, or from the register to what is stored."""


def signed(size: int) -> Convert:
    """The sign of a number of so many bytes extended."""
    return lambda m, value: m.sext(value, 8 * size)


def reversed_bytes(size: int) -> Convert:
    """The bytes of a number of so many in the other order."""
    return lambda m, value: swapped(m, m.zext(value, 8 * size), 8 * size, 8 * size)


def _sum(m: Machine, parts: tuple[Any, ...]) -> Value:
    """The address: a base and a distance or an index, in the order of the text."""
    one, other = parts
    return m.get(one) + m.get(other)


def load(size: int, convert: Convert | None = None) -> Does:
    """A register is loaded."""

    def does(m: Machine, rt: Reg, *parts: Any) -> None:
        value = m.load(_sum(m, parts), size)
        m.set(rt, convert(m, value) if convert else value)

    return does


def load_update(size: int, base: int, convert: Convert | None = None) -> Does:
    """The base, which stands there among the parts of the address, becomes the address."""

    def does(m: Machine, rt: Reg, *parts: Any) -> None:
        address = _sum(m, parts)
        value = m.load(address, size)
        m.set(rt, convert(m, value) if convert else value)
        m.set(parts[base], address)

    return does


def store(size: int, convert: Convert | None = None) -> Does:
    """A register is stored."""

    def does(m: Machine, rs: Reg, *parts: Any) -> None:
        value = m.get(rs)
        m.store(_sum(m, parts), convert(m, value) if convert else value, size)

    return does


def store_update(size: int, base: int) -> Does:
    """As `load_update`: the value that is stored is read before the base is written."""

    def does(m: Machine, rs: Reg, *parts: Any) -> None:
        address = _sum(m, parts)
        m.store(address, m.get(rs), size)
        m.set(parts[base], address)

    return does


# Prefixed: a distance of 34 bits from a base, or from the instruction itself ------------------


def _here(m: Machine) -> Value:
    return m.next - m.const(_PREFIXED)


def sum_from_here(m: Machine, rt: Reg, distance: Value) -> None:
    """pla: the address of the instruction and a distance."""
    m.set(rt, _here(m) + distance)


def load_from_here(size: int, convert: Convert | None = None) -> Does:
    """A register is loaded from near the instruction."""

    def does(m: Machine, rt: Reg, distance: Value) -> None:
        value = m.load(_here(m) + distance, size)
        m.set(rt, convert(m, value) if convert else value)

    return does


def store_from_here(size: int) -> Does:
    """A register is stored near the instruction."""

    def does(m: Machine, rs: Reg, distance: Value) -> None:
        m.store(_here(m) + distance, m.get(rs), size)

    return does


# Several registers -------------------------------------------------------------------------


def load_many(m: Machine, first: int, distance: Value, ra: Reg) -> None:
    """lmw: from a register to the last one."""
    address = m.get(ra) + distance
    for place, number in enumerate(range(first, 32)):
        m.set(Reg(GPR + number), m.load(address + m.const(_WORD * place), _WORD))


def store_many(m: Machine, first: int, distance: Value, ra: Reg) -> None:
    """stmw."""
    address = m.get(ra) + distance
    for place, number in enumerate(range(first, 32)):
        m.store(address + m.const(_WORD * place), m.get(Reg(GPR + number)), _WORD)


def _string(first: int, length: int) -> list[tuple[Reg, int]]:
    """The registers of a string, after the last the first, and how many bytes are in each."""
    wholes = range(0, length, _WORD)
    return [
        (Reg(GPR + (first + place) % 32), min(_WORD, length - at))
        for place, at in enumerate(wholes)
    ]


def _bytes_in(m: Machine, address: Value, count: int) -> Value:
    """Bytes as the highest of a word, zeros below them."""
    result = m.const(0)
    for n in range(count):
        byte = m.load(address + m.const(n), 1)
        result = result | m.shl(byte, m.const(8 * (_WORD - 1 - n)))
    return result


def load_string(m: Machine, first: int, ra: Reg, length: int) -> None:
    """lswi."""
    address = m.get(ra)
    for place, (register, count) in enumerate(_string(first, length)):
        m.set(register, _bytes_in(m, address + m.const(_WORD * place), count))


def store_string(m: Machine, first: int, ra: Reg, length: int) -> None:
    """stswi."""
    address = m.get(ra)
    for place, (register, count) in enumerate(_string(first, length)):
        value = m.get(register)
        for n in range(count):
            byte = m.lshr(value, m.const(8 * (_WORD - 1 - n)))
            m.store(address + m.const(_WORD * place + n), byte, 1)


def load_string_indexed(m: Machine, rt: Reg, ra: Reg, rb: Reg) -> None:
    """lswx: XER says how many registers, so that each may be loaded or stay."""
    values = (m.get(ra), m.get(rb), m.get(XER))
    m.event("lswx", m.const(0), *values)
    for number in range(32):
        register = Reg(GPR + number)
        m.set(register, m.observed(f"lswx r{number}", m.get(register), m.get(rt), *values))


def store_string_indexed(m: Machine, rs: Reg, ra: Reg, rb: Reg) -> None:
    """stswx: XER says how many registers."""
    every = (m.get(Reg(GPR + number)) for number in range(32))
    m.event("stswx", m.get(ra), m.get(rb), m.get(XER), m.get(rs), *every)


# Reservations ------------------------------------------------------------------------------


def load_reserved(size: int) -> Does:
    """lbarx, lharx, lwarx, ldarx."""

    def does(m: Machine, rt: Reg, ra: Reg, rb: Reg, hint: int) -> None:
        address = m.get(ra) + m.get(rb)
        m.event("lock", address)
        m.set(rt, m.load(address, size))

    return does


def store_conditional(size: int) -> Does:
    """stbcx., sthcx., stwcx., stdcx.: CR0 says whether it stored."""

    def does(m: Machine, rs: Reg, ra: Reg, rb: Reg) -> None:
        stored = m.conditional_store(m.get(ra) + m.get(rb), m.get(rs), size)
        m.set(Reg(CR), stored * m.const(EQ) | m.get(SO))

    return does


# Registers in pairs ------------------------------------------------------------------------


def load_pair(m: Machine, rt: Reg, distance: Value, ra: Reg) -> None:
    """lq."""
    _pair(m, "lq", rt, m.get(ra) + distance)


def store_pair(m: Machine, rs: Reg, distance: Value, ra: Reg) -> None:
    """stq."""
    m.event("stq", m.get(ra) + distance, m.get(rs), m.get(Reg(rs + 1)))


def load_reserved_pair(m: Machine, rt: Reg, ra: Reg, rb: Reg, hint: int) -> None:
    """lqarx."""
    address = m.get(ra) + m.get(rb)
    m.event("lock", address)
    _pair(m, "lqarx", rt, address)


def _pair(m: Machine, name: str, rt: Reg, address: Value) -> None:
    """One access, which the table does not take apart."""
    m.event(name, address)
    m.set(rt, m.observed(f"{name} high"))
    m.set(Reg(rt + 1), m.observed(f"{name} low"))


def store_conditional_pair(m: Machine, rs: Reg, ra: Reg, rb: Reg) -> None:
    """stqcx."""
    address = m.get(ra) + m.get(rb)
    m.event("conditional store", address)
    m.event("stqcx.", address, m.get(rs), m.get(Reg(rs + 1)))
    m.set(Reg(CR), m.observed("stqcx. stored") * m.const(EQ) | m.get(SO))


# Cache blocks ------------------------------------------------------------------------------


def touch(m: Machine, ra: Reg, rb: Reg) -> None:
    """dcbt, dcbtst: a hint that never faults."""
    m.event("prefetch", m.get(ra) + m.get(rb))


def touch_stream(name: str) -> Does:
    """dcbt, dcbtst with another TH: what is asked for is in the address."""

    def does(m: Machine, ra: Reg, rb: Reg, th: int) -> None:
        m.event(name, m.get(ra) + m.get(rb), m.const(th))

    return does


def block(name: str) -> Does:
    """Something is done to the block of an address; what else there is says how."""

    def does(m: Machine, ra: Reg, rb: Reg, *how: int) -> None:
        m.event(name, m.get(ra) + m.get(rb), *(m.const(number) for number in how))

    return does


# Others ------------------------------------------------------------------------------------


def load_inhibited(size: int) -> Does:
    """lbzcix and the like: what a device says."""

    def does(m: Machine, rt: Reg, ra: Reg, rb: Reg) -> None:
        address = m.get(ra) + m.get(rb)
        m.event("load past the caches", address, m.const(size))
        m.set(rt, m.observed("load past the caches"))

    return does


def store_inhibited(size: int) -> Does:
    """stbcix and the like: a device sees it."""

    def does(m: Machine, rs: Reg, ra: Reg, rb: Reg) -> None:
        address = m.get(ra) + m.get(rb)
        m.event("store past the caches", address, m.get(rs), m.const(size))

    return does


def update_loaded(name: str) -> Does:
    """lwat, ldat: memory is updated with registers above the target, which gets what was there."""

    def does(m: Machine, rt: Reg, ra: Reg, function: int) -> None:
        sources = (m.get(Reg(GPR + number)) for number in range(32))
        m.event(name, m.const(function), m.get(ra), m.get(rt), *sources)
        m.set(rt, m.observed(name))

    return does


def update_stored(name: str) -> Does:
    """stwat, stdat."""

    def does(m: Machine, rs: Reg, ra: Reg, function: int) -> None:
        m.event(name, m.const(function), m.get(ra), m.get(rs))

    return does


def nothing(m: Machine) -> None:
    """pnop."""
