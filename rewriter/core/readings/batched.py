"""The batched reading: NumPy lanes, thousands of inputs through the same instructions at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import ByteOrder, Machine

Lanes = NDArray[np.unsignedinteger[Any]]
"""A value in each lane, in as many bits as a register has."""


@dataclass
class Batched(Machine):
    """One run per lane, in lockstep.

    `memory` has one row of bytes per lane, the row of lane n standing at address `base[n]`.
    Accesses outside, and misaligned ones where they trap (`aligned`), raise `IndexError`: a batch
    is drawn so that it has none.  `width` is 8, 16, 32 or 64 bits.
    """

    lanes: int
    memory: NDArray[np.uint8]
    base: Lanes
    constants: dict[int, int] = field(default_factory=dict)
    registers: dict[int, Lanes] = field(default_factory=dict)
    taken: NDArray[np.bool_] | None = None
    target: Lanes | None = None
    events: list[tuple[Any, ...]] = field(default_factory=list)
    width: int = field(kw_only=True)
    byteorder: ByteOrder = field(kw_only=True)
    aligned: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        self._kind = np.dtype(f"u{self.width // 8}")
        self._number = np.dtype(f"i{self.width // 8}")

    def get(self, source: Reg | Lanes) -> Lanes:
        if not isinstance(source, Reg):
            return source
        if source in self.constants:
            return self.const(self.constants[source])
        return self.registers[source]

    def set(self, register: Reg, value: Lanes) -> None:
        if register not in self.constants:
            self.registers[register] = value

    def _at(self, address: Lanes, size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        offset = (address - self.base).view(self._number).astype(np.int64)
        misaligned = self.aligned and np.any(address % address.dtype.type(size))
        if misaligned or np.any((offset < 0) | (offset + size > self.memory.shape[1])):
            raise IndexError(f"{size}-byte access outside its lane or misaligned")
        order = np.arange(size) if self.byteorder == "little" else np.arange(size)[::-1]
        return np.arange(self.lanes)[:, None], offset[:, None] + order

    def load(self, address: Lanes, size: int) -> Lanes:
        data = self.memory[self._at(address, size)].astype(self._kind)
        return np.asarray((data << self._shifts(size)).sum(axis=1, dtype=self._kind))

    def store(self, address: Lanes, value: Lanes, size: int) -> None:
        parts = value[:, None] >> self._shifts(size)
        self.memory[self._at(address, size)] = parts.astype(np.uint8)

    def _shifts(self, size: int) -> Lanes:
        """How far up each byte of a number is, the lowest first."""
        return np.arange(0, 8 * size, 8, dtype=self._kind)

    def conditional_store(self, address: Lanes, value: Lanes, size: int) -> Lanes:
        self.store(address, value, size)
        return self.const(1)  # one processor a lane: nothing takes the lock away

    def branch(self, condition: NDArray[np.bool_], target: Lanes) -> None:
        self.taken, self.target = condition, target

    def jump(self, target: Lanes) -> None:
        self.taken, self.target = np.ones(self.lanes, dtype=bool), target

    def opaque(self, name: str, *values: Lanes) -> Lanes:
        raise NotImplementedError(f"{name} has no concrete meaning")

    def event(self, name: str, *values: Lanes) -> None:
        self.events.append((name, *values))

    def const(self, value: int) -> Lanes:
        return np.full(self.lanes, value % (1 << self.width), dtype=self._kind)

    def code(self, address: int) -> Lanes:
        return self.const(address)

    def shl(self, value: Lanes, amount: Lanes) -> Lanes:
        return value << amount

    def lshr(self, value: Lanes, amount: Lanes) -> Lanes:
        return value >> amount

    def ashr(self, value: Lanes, amount: Lanes) -> Lanes:
        shifted = value.view(self._number) >> amount.view(self._number)
        return np.asarray(shifted.view(self._kind))

    def eq(self, a: Lanes, b: Lanes) -> NDArray[np.bool_]:
        return np.equal(a, b)

    def ult(self, a: Lanes, b: Lanes) -> NDArray[np.bool_]:
        return np.less(a, b)

    def slt(self, a: Lanes, b: Lanes) -> NDArray[np.bool_]:
        return np.asarray(np.less(a.view(self._number), b.view(self._number)))

    def both(self, a: NDArray[np.bool_], b: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.logical_and(a, b)

    def negate(self, condition: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.logical_not(condition)

    def ite(self, condition: NDArray[np.bool_], a: Lanes, b: Lanes) -> Lanes:
        return np.where(condition, a, b)

    def umulh(self, a: Lanes, b: Lanes) -> Lanes:
        bits = self.width // 2
        half, low = self._kind.type(bits), self._kind.type((1 << bits) - 1)
        a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
        middle = a1 * b0 + (a0 * b0 >> half)
        high: Lanes = a1 * b1 + (middle >> half) + ((a0 * b1 + (middle & low)) >> half)
        return high

    def ctpop(self, value: Lanes) -> Lanes:
        return np.asarray(np.bitwise_count(value), dtype=value.dtype)

    def cttz(self, value: Lanes) -> Lanes:
        return self.ctpop(~value & (value - value.dtype.type(1)))

    def ctlz(self, value: Lanes) -> Lanes:
        kind = value.dtype.type
        for shift in (1, 2, 4, 8, 16, 32):
            if shift < self.width:
                value = value | value >> kind(shift)
        return np.asarray(kind(self.width) - self.ctpop(value))
