"""Meanings read as Z3 expressions, without the product's terms, folding or prover."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import z3

from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine

_QUAD = 8


@dataclass
class Z3Machine(Machine):
    """One run on unknowns.

    Memory is an array of aligned quadwords; `seen` are the events and the results of which the
    table says nothing but what they are made of, `accesses` what is loaded and stored, in order.
    """

    constants: dict[int, int] = field(default_factory=dict)
    width: int = 64
    following: int = 0
    registers: dict[int, Any] = field(default_factory=dict)
    memory: Any = None
    seen: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    accesses: list[tuple[bool, int, Any]] = field(default_factory=list)
    condition: Any = None
    target: Any = None

    def __post_init__(self) -> None:
        bits = z3.BitVecSort(self.width)
        self.memory = z3.Array("memory", bits, bits)

    def copy(self) -> Self:
        """The same state."""
        kept = dict(self.registers), list(self.seen), list(self.accesses)
        made = copy(self)
        made.registers, made.seen, made.accesses = kept
        return made

    def get(self, source: Any) -> Any:
        if not isinstance(source, Reg):
            return source
        if source in self.constants:
            return self.const(self.constants[source])
        if source not in self.registers:
            self.registers[source] = z3.BitVec(f"r{int(source)}", self.width)
        return self.registers[source]

    def set(self, register: Reg, value: Any) -> None:
        if register not in self.constants:
            self.registers[register] = z3.simplify(value)

    def _place(self, address: Any) -> tuple[Any, Any]:
        """The quadword of an address, and by how many bits it is shifted in it."""
        within = address & self.const(_QUAD - 1)
        return z3.simplify(address & self.const(-_QUAD)), within * self.const(8)

    def load(self, address: Any, size: int) -> Any:
        self.accesses.append((False, size, z3.simplify(address)))
        quad, shift = self._place(address)
        whole = z3.Select(self.memory, quad)
        return whole if size == _QUAD else self.zext(z3.LShR(whole, shift), 8 * size)

    def store(self, address: Any, value: Any, size: int) -> None:
        self.accesses.append((True, size, z3.simplify(address)))
        quad, shift = self._place(address)
        if size < _QUAD:
            mask = self.const((1 << 8 * size) - 1) << shift
            value = z3.Select(self.memory, quad) & ~mask | (value << shift) & mask
        self.memory = z3.Store(self.memory, quad, z3.simplify(value))

    def conditional_store(self, address: Any, value: Any, size: int) -> Any:
        self.store(address, value, size)
        return self.opaque("conditional store", address)

    def branch(self, condition: Any, target: Any) -> None:
        self.condition, self.target = condition, target

    def jump(self, target: Any) -> None:
        self.condition, self.target = z3.BoolVal(True), target

    def opaque(self, name: str, *values: Any) -> Any:
        self.seen.append((name, values))
        result = z3.Function(f"{name}/{len(self.seen)}", *[z3.BitVecSort(64)] * (len(values) + 1))
        return result(*values)

    def event(self, name: str, *values: Any) -> None:
        self.seen.append((name, values))

    def const(self, value: int) -> Any:
        return z3.BitVecVal(value, self.width)

    def code(self, address: int) -> Any:
        return self.const(address)

    def shl(self, value: Any, amount: Any) -> Any:
        return value << self._amount(amount)

    def lshr(self, value: Any, amount: Any) -> Any:
        return z3.LShR(value, self._amount(amount))

    def ashr(self, value: Any, amount: Any) -> Any:
        return value >> self._amount(amount)

    def _amount(self, amount: Any) -> Any:
        return amount & self.const(self.width - 1)

    def eq(self, a: Any, b: Any) -> Any:
        return a == b

    def ult(self, a: Any, b: Any) -> Any:
        return z3.ULT(a, b)

    def slt(self, a: Any, b: Any) -> Any:
        return a < b

    def both(self, a: Any, b: Any) -> Any:
        return z3.And(a, b)

    def negate(self, condition: Any) -> Any:
        return z3.Not(condition)

    def ite(self, condition: Any, a: Any, b: Any) -> Any:
        return z3.If(condition, a, b)

    def umulh(self, a: Any, b: Any) -> Any:
        wide = z3.ZeroExt(self.width, a) * z3.ZeroExt(self.width, b)
        return z3.Extract(2 * self.width - 1, self.width, wide)

    def ctpop(self, value: Any) -> Any:
        bits = [z3.ZeroExt(self.width - 1, z3.Extract(n, n, value)) for n in range(self.width)]
        total = bits[0]
        for one in bits[1:]:
            total = total + one
        return total

    def cttz(self, value: Any) -> Any:
        return self._first(value, range(self.width))

    def ctlz(self, value: Any) -> Any:
        return self._first(value, range(self.width)[::-1])

    def _first(self, value: Any, order: range) -> Any:
        """How many bits come before the first that is set."""
        found = self.const(self.width)
        for count, n in reversed(list(enumerate(order))):
            found = z3.If(z3.Extract(n, n, value) == 1, self.const(count), found)
        return found
