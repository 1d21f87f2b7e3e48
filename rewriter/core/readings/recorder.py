"""The reading of a meaning that finds out what it reads and writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rewriter.core.isa.instruction import Effects, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value


class _Any:
    """A value of which nothing is known; every operation gives another."""

    def _same(self, *_: Any) -> _Any:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __neg__ = _same


_ANY = _Any()
_OPERAND_BASE = 1 << 16  # stands for "the register in operand n", above every real register


@dataclass
class Recorder(Machine):
    """Runs a meaning with unknown values and notes every access."""

    width: int
    following: int = 0
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    loads: bool = False
    stores: bool = False
    size: int = 0
    events: list[str] = field(default_factory=list)
    rounds: bool = False

    def get(self, source: Reg | Value) -> Value:
        if isinstance(source, Reg):
            self.reads.append(source)
        return _ANY

    def set(self, register: Reg, value: Value) -> None:
        self.writes.append(register)

    def load(self, address: Value, size: int) -> Value:
        self.loads, self.size = True, size
        return _ANY

    def store(self, address: Value, value: Value, size: int) -> None:
        self.stores, self.size = True, size

    def conditional_store(self, address: Value, value: Value, size: int) -> Value:
        self.stores, self.size = True, size
        self.events.append("conditional store")
        return _ANY

    def event(self, name: str, *values: Value) -> None:
        self.events.append(name)

    def arithmetic(self, name: str, *values: Value) -> None:
        self.rounds = True

    def branch(self, condition: Value, target: Value) -> None:
        pass

    def jump(self, target: Value) -> None:
        pass

    # Arithmetic on unknowns gives unknowns.

    def const(self, value: int) -> Value:
        return _ANY

    def code(self, address: int) -> Value:
        return _ANY

    def negate(self, condition: Value) -> Value:
        return _ANY

    def ctpop(self, value: Value) -> Value:
        return _ANY

    def cttz(self, value: Value) -> Value:
        return _ANY

    def ctlz(self, value: Value) -> Value:
        return _ANY

    def opaque(self, name: str, *values: Value) -> Value:
        return _ANY

    def shl(self, value: Value, amount: Value) -> Value:
        return _ANY

    def lshr(self, value: Value, amount: Value) -> Value:
        return _ANY

    def ashr(self, value: Value, amount: Value) -> Value:
        return _ANY

    def eq(self, a: Value, b: Value) -> Value:
        return _ANY

    def ult(self, a: Value, b: Value) -> Value:
        return _ANY

    def slt(self, a: Value, b: Value) -> Value:
        return _ANY

    def both(self, a: Value, b: Value) -> Value:
        return _ANY

    def umulh(self, a: Value, b: Value) -> Value:
        return _ANY

    def ite(self, condition: Value, a: Value, b: Value) -> Value:
        return _ANY


def record(op: Op, width: int) -> Effects:
    """The effects of a row on registers of `width` bits."""
    machine = Recorder(width)
    operands = op.format.operands
    op.does(
        machine,
        *(
            Reg(_OPERAND_BASE + i) if o.kind is Kind.REGISTER else _ANY
            for i, o in enumerate(operands)
        ),
    )
    return Effects(
        reads=_named(machine.reads),
        writes=_named(machine.writes),
        fixed_reads=frozenset(int(r) for r in machine.reads if r < _OPERAND_BASE),
        fixed_writes=frozenset(int(r) for r in machine.writes if r < _OPERAND_BASE),
        loads=machine.loads,
        stores=machine.stores,
        size=machine.size,
        events=tuple(machine.events),
        rounds=machine.rounds,
    )


def _named(registers: list[int]) -> tuple[int, ...]:
    return tuple(sorted({int(r) - _OPERAND_BASE for r in registers if r >= _OPERAND_BASE}))
