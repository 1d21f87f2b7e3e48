"""The reading of a meaning that finds out what it reads and writes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from rewriter.core.isa.instruction import Effects, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import ByteOrder, Machine, Value
from rewriter.core.readings.unknown import NEXT, UNKNOWN

_OPERAND = 1 << 16  # times n + 1 stands for "the register in operand n"


@dataclass
class Recorder(Machine):
    """Runs a meaning with unknown values and notes every access."""

    width: int
    byteorder: ByteOrder = "big"
    following: int = 0
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    links: list[int] = field(default_factory=list)
    loads: bool = False
    stores: bool = False
    size: int = 0
    events: list[str] = field(default_factory=list)
    rounds: bool = False
    placed: bool = False

    @property
    def next(self) -> Value:
        self.placed = True
        return NEXT

    def get(self, source: Reg | Value) -> Value:
        if isinstance(source, Reg):
            self.reads.append(source)
        return UNKNOWN

    def set(self, register: Reg, value: Value) -> None:
        self.writes.append(register)
        if value is NEXT:
            self.links.append(register)

    def load(self, address: Value, size: int) -> Value:
        self.loads, self.size = True, self.size + size
        return UNKNOWN

    def store(self, address: Value, value: Value, size: int) -> None:
        self.stores, self.size = True, self.size + size

    def conditional_store(self, address: Value, value: Value, size: int) -> Value:
        self.stores, self.size = True, self.size + size
        self.events.append("conditional store")
        return UNKNOWN

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
        return UNKNOWN

    def code(self, address: int) -> Value:
        return UNKNOWN

    def negate(self, condition: Value) -> Value:
        return UNKNOWN

    def ctpop(self, value: Value) -> Value:
        return UNKNOWN

    def cttz(self, value: Value) -> Value:
        return UNKNOWN

    def ctlz(self, value: Value) -> Value:
        return UNKNOWN

    def opaque(self, name: str, *values: Value) -> Value:
        return UNKNOWN

    def shl(self, value: Value, amount: Value) -> Value:
        return UNKNOWN

    def lshr(self, value: Value, amount: Value) -> Value:
        return UNKNOWN

    def ashr(self, value: Value, amount: Value) -> Value:
        return UNKNOWN

    def eq(self, a: Value, b: Value) -> Value:
        return UNKNOWN

    def ult(self, a: Value, b: Value) -> Value:
        return UNKNOWN

    def slt(self, a: Value, b: Value) -> Value:
        return UNKNOWN

    def both(self, a: Value, b: Value) -> Value:
        return UNKNOWN

    def umulh(self, a: Value, b: Value) -> Value:
        return UNKNOWN

    def ite(self, condition: Value, a: Value, b: Value) -> Value:
        return UNKNOWN


def record(op: Op, width: int) -> Effects:
    """The effects of a row on registers of `width` bits, with its lowest or highest selectors."""
    named = tuple(
        Reg(_OPERAND * (n + 1)) if operand.kind is Kind.REGISTER else UNKNOWN
        for n, operand in enumerate(op.format.operands)
    )
    selectors = [n for n, o in enumerate(op.format.operands) if o.kind is Kind.SELECTOR]
    if not selectors:
        return _run(op, width, named)
    ends = [op.format.operands[n].limits for n in selectors]
    low, high = (
        _run(op, width, _with(named, dict(zip(selectors, end, strict=True))))
        for end in zip(*ends, strict=True)
    )
    return low if low == high else _either(low, high)


def record_insn(op: Op, width: int, values: tuple[int, ...]) -> Effects:
    """The effects of an instruction whose operands have these values: all registers are fixed."""
    kinds = [operand.kind for operand in op.format.operands]
    operands = tuple(
        Reg(value) if kind is Kind.REGISTER else value if kind is Kind.SELECTOR else UNKNOWN
        for kind, value in zip(kinds, values, strict=True)
    )
    return _run(op, width, operands)


def _with(operands: tuple[Any, ...], changed: dict[int, int]) -> tuple[Any, ...]:
    return tuple(changed.get(n, operand) for n, operand in enumerate(operands))


def _run(op: Op, width: int, operands: tuple[Any, ...]) -> Effects:
    """What the row's meaning does with these operands."""
    machine = Recorder(width)
    op.does(machine, *operands)
    return Effects(
        reads=_named(machine.reads),
        writes=_named(machine.writes),
        fixed_reads=_fixed(machine.reads),
        fixed_writes=_fixed(machine.writes),
        loads=machine.loads,
        stores=machine.stores,
        size=machine.size,
        events=tuple(machine.events),
        rounds=machine.rounds,
        more_reads=_beside(machine.reads),
        more_writes=_beside(machine.writes),
        links=_named(machine.links),
        fixed_links=_fixed(machine.links),
        placed=machine.placed,
    )


def _either(one: Effects, other: Effects) -> Effects:
    """What either may do; a row whose selectors choose registers."""
    return replace(
        other,
        reads=tuple(sorted({*one.reads, *other.reads})),
        writes=tuple(sorted({*one.writes, *other.writes})),
        fixed_reads=one.fixed_reads | other.fixed_reads,
        fixed_writes=one.fixed_writes | other.fixed_writes,
        more_reads=tuple(sorted({*one.more_reads, *other.more_reads})),
        more_writes=tuple(sorted({*one.more_writes, *other.more_writes})),
        selected=True,
        links=tuple(sorted({*one.links, *other.links})),
        fixed_links=one.fixed_links | other.fixed_links,
    )


def _fixed(registers: list[int]) -> frozenset[int]:
    return frozenset(int(r) for r in registers if r < _OPERAND)


def _named(registers: list[int]) -> tuple[int, ...]:
    found = {divmod(int(r), _OPERAND) for r in registers if r >= _OPERAND}
    return tuple(sorted(n - 1 for n, distance in found if not distance))


def _beside(registers: list[int]) -> tuple[tuple[int, int], ...]:
    """Registers that stand so far from the one that an operand names."""
    found = {divmod(int(r), _OPERAND) for r in registers if r >= _OPERAND and r % _OPERAND}
    return tuple(sorted((n - 1, distance) for n, distance in found))
