"""The batched reading: NumPy lanes, thousands of inputs through the same instructions at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine

Lanes = NDArray[np.uint64]
_ONE = np.uint64(1)


@dataclass
class Batched(Machine):
    """One run per lane, in lockstep.

    `memory` has one row of bytes per lane, the row of lane n standing at address `base[n]`.
    Misaligned or outside accesses raise `IndexError`: a batch is drawn so that it has none.
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
    byteorder: str = field(kw_only=True)

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
        offset = (address - self.base).astype(np.int64)
        if np.any(address % np.uint64(size)) or np.any(
            (offset < 0) | (offset + size > self.memory.shape[1])
        ):
            raise IndexError(f"{size}-byte access outside its lane or misaligned")
        order = np.arange(size) if self.byteorder == "little" else np.arange(size)[::-1]
        return np.arange(self.lanes)[:, None], offset[:, None] + order

    def load(self, address: Lanes, size: int) -> Lanes:
        data = self.memory[self._at(address, size)].astype(np.uint64)
        weights = _ONE << (np.arange(size, dtype=np.uint64) * np.uint64(8))
        return np.asarray((data * weights).sum(axis=1, dtype=np.uint64))

    def store(self, address: Lanes, value: Lanes, size: int) -> None:
        shifts = np.arange(size, dtype=np.uint64) * np.uint64(8)
        self.memory[self._at(address, size)] = (value[:, None] >> shifts).astype(np.uint8)

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
        return np.full(self.lanes, value % (1 << self.width), dtype=np.uint64)

    def code(self, address: int) -> Lanes:
        return self.const(address)

    def shl(self, value: Lanes, amount: Lanes) -> Lanes:
        return value << amount

    def lshr(self, value: Lanes, amount: Lanes) -> Lanes:
        return value >> amount

    def ashr(self, value: Lanes, amount: Lanes) -> Lanes:
        return (value.view(np.int64) >> amount.view(np.int64)).view(np.uint64)

    def eq(self, a: Lanes, b: Lanes) -> NDArray[np.bool_]:
        return np.equal(a, b)

    def ult(self, a: Lanes, b: Lanes) -> NDArray[np.bool_]:
        return np.less(a, b)

    def slt(self, a: Lanes, b: Lanes) -> NDArray[np.bool_]:
        return np.less(a.view(np.int64), b.view(np.int64))

    def both(self, a: NDArray[np.bool_], b: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.logical_and(a, b)

    def negate(self, condition: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.logical_not(condition)

    def ite(self, condition: NDArray[np.bool_], a: Lanes, b: Lanes) -> Lanes:
        return np.where(condition, a, b)

    def umulh(self, a: Lanes, b: Lanes) -> Lanes:
        half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
        a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
        middle = a1 * b0 + (a0 * b0 >> half)
        high: Lanes = a1 * b1 + (middle >> half) + ((a0 * b1 + (middle & low)) >> half)
        return high

    def ctpop(self, value: Lanes) -> Lanes:
        return np.asarray(np.bitwise_count(value), dtype=np.uint64)

    def cttz(self, value: Lanes) -> Lanes:
        return self.ctpop(~value & (value - _ONE))

    def ctlz(self, value: Lanes) -> Lanes:
        for shift in (1, 2, 4, 8, 16, 32):
            value = value | value >> np.uint64(shift)
        return np.uint64(self.width) - self.ctpop(value)
