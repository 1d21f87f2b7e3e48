"""Values wider than a register of the machine: doublewords, and vectors, in parts.

A part is as wide as a general register; the most significant comes first, in registers, and in
memory where the machine is big-endian.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.registers import parts

Parts: TypeAlias = list[Value]
DOUBLEWORD, QUADWORD = 8, 16  # bytes


def get(m: Machine, register: Reg, size: int = QUADWORD) -> Parts:
    """The first `size` bytes of a vector-scalar register."""
    return [m.get(part) for part in parts(register, 8 * size, m.width)]


def put(m: Machine, register: Reg, values: Parts) -> None:
    """Writes all parts of a vector-scalar register."""
    for part, value in zip(parts(register, 8 * QUADWORD, m.width), values, strict=True):
        m.set(part, value)


def put_first(m: Machine, register: Reg, values: Parts, name: str) -> None:
    """Writes doubleword 0; what the instruction `name` leaves in doubleword 1 is undefined."""
    lost = [m.opaque(f"{name} undefined {n}", *values) for n in range(len(values))]
    put(m, register, [*values, *lost])


def unknown(m: Machine, name: str, size: int, *values: Value) -> Parts:
    """A value of so many bytes that depends on `values` in a way that is not said."""
    return [m.opaque(f"{name} {n}", *values) for n in range(8 * size // m.width)]


def load(m: Machine, address: Value, size: int) -> Parts:
    """So many bytes of memory, at least a register's, in the machine's byte order."""
    step = m.width // 8
    found = [m.load(address + m.const(offset), step) for offset in range(0, size, step)]
    return found if m.byteorder == "big" else found[::-1]


def store(m: Machine, address: Value, values: Sequence[Value]) -> None:
    """Writes a value in the machine's byte order."""
    step = m.width // 8
    for number, value in enumerate(values if m.byteorder == "big" else values[::-1]):
        m.store(address + m.const(number * step), value, step)


def constant(m: Machine, value: int) -> Parts:
    """A number of sixteen bytes."""
    return [m.const(value >> low) for low in range(8 * QUADWORD - m.width, -1, -m.width)]


def split(m: Machine, value: Parts, size: int) -> list[Value]:
    """The elements of so many bytes, at most a part's, the most significant first."""
    bits = 8 * size
    lows = range(m.width - bits, -1, -bits)
    return [m.zext(m.lshr(part, m.const(low)), bits) for part in value for low in lows]


def join(m: Machine, elements: Sequence[Value], size: int) -> Parts:
    """The parts that elements of so many bytes make, of which no higher bits are set."""
    each = m.width // (8 * size)
    return [_joined(m, elements[n : n + each], 8 * size) for n in range(0, len(elements), each)]


def _joined(m: Machine, elements: Sequence[Value], bits: int) -> Value:
    value, *rest = elements
    for element in rest:
        value = m.shl(value, m.const(bits)) | element
    return value
