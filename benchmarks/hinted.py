"""The addresses of hints in a recording: the emulator does nothing for a hint, and tells none.

An address is a register and a displacement.  What the register holds follows from an access through
the same value, before or behind the hint: registers hold values that nobody knows, moved by
additions of constants, and an access tells its base.  A hint whose base no access tells stays
without an address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rewriter.core.isa.flow import Flow
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import Table
from rewriter.core.readings.interpret import PREFETCH, Step
from rewriter.core.readings.recorder import Recorder

_WRITE_HINTS, _LINE = ("wh64", "wh64en"), 64  # bytes that one of them gives up
_ZERO, _WORD, _MASK = 31, 4, (1 << 64) - 1
_ADDED = {"addq": 1, "subq": -1}


class Held(NamedTuple):
    """A value that nobody knows, and what was added to it."""

    value: int
    added: int = 0


@dataclass
class Registers:
    """What is known of registers while instructions go by; `bases` are values that were told."""

    table: Table
    bases: dict[int, int] = field(default_factory=dict)
    _held: dict[int, Held] = field(default_factory=dict)
    _values: int = 0

    def of(self, register: int) -> Held:
        """What it holds."""
        if register not in self._held:
            self._held[register] = self._new()
        return self._held[register]

    def forget(self) -> None:
        """Something else ran, and left what it wanted."""
        self._held.clear()

    def told(self, insn: Insn, access: int) -> None:
        """An access at this address."""
        held = self.of(insn.operands[2])
        self.bases.setdefault(held.value, access - insn.operands[1] - held.added)

    def write(self, insn: Insn, writes: Sequence[int], reads: Sequence[int]) -> None:
        """What it leaves in registers."""
        moved = self._moved(insn, reads)
        for register in writes:
            self._held[register] = moved or self._new()

    def _moved(self, insn: Insn, reads: Sequence[int]) -> Held | None:
        """A register with a constant added; None for whatever else is computed."""
        if insn.name == "lda":
            held, added = self.of(insn.operands[2]), insn.operands[1]
        elif insn.name in _ADDED and len(reads) == 1:
            held, added = self.of(insn.operands[0]), _ADDED[insn.name] * insn.operands[1]
        elif insn.name == "bis" and insn.operands[0] == _ZERO and len(reads) == 2:
            held, added = self.of(insn.operands[1]), 0
        else:
            return None
        return Held(held.value, held.added + added)

    def _new(self) -> Held:
        self._values += 1
        return Held(self._values)


def hinted(steps: Sequence[Step], table: Table) -> list[Step]:
    """The steps with the addresses of hints, as far as accesses among them tell them."""
    registers, effects = Registers(table), dict[Insn, Recorder]()
    asked, following = list[tuple[int, Held]](), 0
    for number, step in enumerate(steps):
        insn = step.insn
        if step.address != following or insn.op.flow is Flow.TRAP:
            registers.forget()
        following = step.address + _WORD if step.target is None else step.target
        if insn not in effects:
            effects[insn] = Recorder(table.width)
            insn.op.does(effects[insn], *insn.operands)
        seen = effects[insn]
        if step.access is None and insn.name in _WRITE_HINTS:
            asked.append((number, registers.of(insn.operands[0])))
        elif step.access is None and PREFETCH in seen.events:
            held = registers.of(insn.operands[2])
            asked.append((number, Held(held.value, held.added + insn.operands[1])))
        elif step.access is not None and step.size and not insn.name.endswith("_u"):
            registers.told(insn, step.access)
        registers.write(insn, seen.writes, seen.reads)
    return _filled(steps, asked, registers.bases)


def _filled(
    steps: Sequence[Step], asked: Sequence[tuple[int, Held]], bases: dict[int, int]
) -> list[Step]:
    found = list(steps)
    for number, held in asked:
        if held.value in bases:
            address, step = bases[held.value] + held.added & _MASK, steps[number]
            found[number] = (
                replace(step, access=address & -_LINE, size=_LINE, store=True)
                if step.insn.name in _WRITE_HINTS
                else replace(step, access=address)
            )
    return found
