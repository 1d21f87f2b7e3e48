"""Formats of IA-64 instructions, and the makers of rows.

The text of a format says what is written and what is read: a register before the `=` is written,
one in brackets or after the `=` is read, and one in `updates` (the address that a memory
instruction increments) is both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rewriter.core.isa.instruction import Does, Flow, Format, Op
from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ia64.isa.fields import LONG, QP, SLOT, SLOT_BITS, Unit, ignored
from targets.ia64.registers import NUMBERS

_NAMES = re.compile(r"\{(\w+)\}")
_BRACKETS = re.compile(r"\[[^]]*\]")


@dataclass(frozen=True, slots=True)
class SlotFormat(Format):
    """A format of one slot; `size` is 0, because a slot has no bytes of its own."""

    updates: tuple[str, ...] = ()

    def _registers(self, text: str) -> set[str]:
        kinds = {o.name for o in self.operands if o.kind is Kind.REGISTER}
        return {name for name in _NAMES.findall(text) if name in kinds}

    @property
    def written(self) -> set[str]:
        """The register operands that the instruction writes."""
        left, equals, _ = self.syntax.partition("=")
        written = self._registers(_BRACKETS.sub("", left)) if equals else set()
        return written | set(self.updates)

    @property
    def read(self) -> set[str]:
        """The register operands that it reads; the qualifying predicate is one."""
        left, equals, right = self.syntax.partition("=")
        sources = " ".join(_BRACKETS.findall(left)) + right if equals else left
        qp = {QP.name} & {operand.name for operand in self.operands}
        return self._registers(sources) | set(self.updates) | qp


@dataclass(frozen=True, slots=True, eq=False)
class SlotOp(Op):
    """A row: `rules` are the restrictions on where it may stand, in the manual's words.

    Of each row there is one object, so it is told by that: what is kept of rows is asked for with
    every new instruction.
    """

    unit: str = ""
    rules: frozenset[str] = frozenset()

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<SlotOp {self.name} {self.format.name}>"


# Restrictions (SDM volume 3, instruction pages and 4.1): first or last of an instruction group,
# the slot, a privilege level of 0.
FIRST, LAST, SLOT2, PRIVILEGED = "first", "last", "slot 2", "privileged"


def form(
    name: str, syntax: str, *operands: Operand, updates: str = "", predicated: bool = True
) -> SlotFormat:
    """A format; all but a few instructions have a qualifying predicate.

    `syntax` starts right behind the mnemonic if it starts with a completer.
    """
    fields = (*operands, *((QP,) if predicated else ()))
    completers = tuple(f"{{{operand.name}}}" for operand in operands if operand.names)
    text = syntax if syntax.startswith(completers) else " " + syntax
    return SlotFormat(name, fields, text, 0, tuple(updates.split()))


# Features that a processor must have.
ITANIUM_9300, ITANIUM_9500 = "itanium 9300", "itanium 9500"

Selectors = dict[str, tuple[int, int]]
_OPERATION = (37, 4)
_UNIT = (SLOT_BITS, 3)


def maker(unit: str, selectors: Selectors) -> Callable[..., SlotOp]:
    """The function that makes rows of a unit, given names for the bits that select."""
    bits = {"op": _OPERATION, **selectors}

    def row(
        name: str,
        layout: SlotFormat,
        sched: str,
        *,
        reads: str = "",
        writes: str = "",
        memory: str = "",
        event: bool = False,
        rules: Sequence[str] = (),
        flow: Flow = Flow.NEXT,
        needs: str = "",
        **selected: int,
    ) -> SlotOp:
        mask, match = _unit_bits(unit)
        for key, value in selected.items():
            low, width = bits[key]
            assert 0 <= value < 1 << width, (name, key, value)
            assert not mask >> low & (1 << width) - 1, (name, key)
            mask |= ((1 << width) - 1) << low
            match |= value << low
        layout = _whole(layout, mask, unit)
        if layout.written & {"f1", "f2"}:
            writes += " psr.mf"
        does = opaque(name, layout, _numbers(reads), _numbers(writes), memory.split(), event)
        return SlotOp(
            name, layout, match, mask, does, sched, needs, flow, "", unit, frozenset(rules)
        )

    return row


def _unit_bits(unit: str) -> tuple[int, int]:
    """Mask and match of the unit's bits; an A-type instruction goes to M (0) or I (1)."""
    low, width = _UNIT
    if unit == "A":
        return 0b110 << low, 0
    return ((1 << width) - 1) << low, Unit[unit] << low


def _whole(layout: SlotFormat, mask: int, unit: str) -> SlotFormat:
    """The format with all other bits of the word as operands, too."""
    operands = (*layout.operands, *((SLOT,) if unit == "A" else ()))
    slot = (1 << SLOT_BITS) - 1
    free = (slot | slot << LONG if unit == Unit.X.name else slot) & ~mask
    for operand in operands:
        assert not operand.mask & mask, (layout.name, operand.name)
        free &= ~operand.mask
    if free:
        operands = (*operands, ignored(free))
    return SlotFormat(layout.name, operands, layout.syntax, 0, layout.updates)


def _numbers(names: str) -> tuple[Reg, ...]:
    return tuple(NUMBERS[name] for name in names.split())


def opaque(
    name: str,
    layout: SlotFormat,
    reads: tuple[Reg, ...],
    writes: tuple[Reg, ...],
    memory: Sequence[str],
    event: bool,
) -> Does:
    """The meaning of a row that says only what it depends on and what it changes.

    Every result is an unknown function of all that is read.  An event is seen by the world and
    keeps its place among events and stores.
    """
    names = [operand.name for operand in layout.operands]
    read = [names.index(n) for n in names if n in layout.read]
    written = [names.index(n) for n in names if n in layout.written]
    address = names.index("r3") if memory else 0

    def does(machine: Machine, *operands: Value) -> None:
        values = [machine.get(operands[n]) for n in read] + [machine.get(r) for r in reads]
        if "load" in memory:
            values.append(machine.load(machine.get(operands[address]), 8))
        if "store" in memory:
            machine.store(machine.get(operands[address]), machine.opaque(name, *values), 8)
        if event:
            machine.event(name, *values)
        for register in (*(operands[n] for n in written), *writes):
            machine.set(register, machine.opaque(name, *values))

    return does
