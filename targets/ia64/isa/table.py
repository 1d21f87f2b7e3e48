"""The table over slots: what core's `Table` derives from rows, for words cut out of bundles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.isa.operands import Kind, Operand, Words
from rewriter.core.isa.registers import Reg, register_mask
from rewriter.core.isa.table import Table
from targets.ia64.isa.fields import QP, slot_codes
from targets.ia64.registers import AR, READ_TO_WRITE, READ_WITH, WRITTEN_WITH

_MAJORS = 0x7F << 37
"""The unit (3 bits) and the major opcode (4 bits) are the word's bits 37 to 43."""

# The branches whose only condition is the qualifying predicate.
_ALWAYS = ("br.cond", "brl.cond")

Besides = dict[int, tuple[Reg, ...]]


@dataclass
class SlotTable(Table):
    """Rows of all units.  A word is as `fields` describes it."""

    def __post_init__(self) -> None:
        Table.__post_init__(self)
        every = (*self.rows, self.data)
        self._reads_with = {id(row): _moving(row, self._reads[id(row)][0]) for row in every}
        self._writes_with = {id(row): _moving(row, self._writes[id(row)][0]) for row in every}

    @property
    def major(self) -> int:
        """The unit and the major opcode; an A-type row stands under two units."""
        return _MAJORS

    def extract(
        self, words: Words, operand: Operand, longs: Words | None = None
    ) -> NDArray[np.int64]:
        """The values of `operand` in each word; that of a long instruction needs the L slots."""
        return operand.values_of(slot_codes(operand, words, words if longs is None else longs))

    def _row_masks(self, op: Op, words: Words) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """What words of one row read and write, with what goes with the registers they name."""
        effects = self.effects(op)
        read, written = Table._row_masks(self, op, words)
        read |= self._besides(words, op, effects.reads, READ_WITH)
        read |= self._besides(words, op, effects.writes, READ_TO_WRITE)
        return read, written | self._besides(words, op, effects.writes, WRITTEN_WITH)

    def _besides(
        self, words: Words, op: Op, indices: tuple[int, ...], besides: Besides
    ) -> NDArray[np.uint64]:
        """Masks, in columns, of what goes with the registers that those operands name."""
        masks = np.zeros((len(words), self.columns), dtype=np.uint64)
        for index in indices:
            operand = op.format.operands[index]
            if operand.base >= AR:
                registers = self.extract(words, operand)
                for register, others in besides.items():
                    masks[registers == register] |= self.columns_of(register_mask(others))
        return masks

    def _used(self, insn: Insn) -> int:
        number = id(insn.op)
        uses = Table._used(self, insn)
        if moving := self._reads_with[number]:
            uses |= _besides(insn, moving, READ_WITH)
        if moving := self._writes_with[number]:
            uses |= _besides(insn, moving, READ_TO_WRITE)
        return uses

    def _set(self, insn: Insn) -> int:
        moving = self._writes_with[id(insn.op)]
        defs = Table._set(self, insn)
        return defs | _besides(insn, moving, WRITTEN_WITH) if moving else defs

    def flow(self, insn: Insn) -> Flow:
        """Where control goes: a conditional branch under p0 is always taken."""
        flow = insn.op.flow
        if flow is Flow.BRANCH and insn.name in _ALWAYS and insn.operand(QP.name) == QP.base:
            return Flow.JUMP
        return flow

    def text(self, insn: Insn, address: int | None = None) -> str:
        """Text in objdump's syntax; a target is absolute when the bundle's address is given."""
        values: dict[str, str] = {}
        for operand, value in zip(insn.op.format.operands, insn.operands, strict=True):
            values[operand.name] = self._operand_text(operand, value, address)
        qp = insn.operand(QP.name) - QP.base if insn.has(QP.name) else 0
        text = f"{insn.name}{insn.op.format.syntax.format(**values)}".rstrip()
        return f"(p{qp:02d}) {text}" if qp else text

    def _operand_text(self, operand: Operand, value: int, address: int | None) -> str:
        if operand.kind is Kind.REGISTER:
            return self.register_names[value]
        if operand.names:
            return operand.names[value]
        if operand.kind is Kind.TARGET and address is not None:
            return f"{operand.goal(value, address, 0) % (1 << 64):#x}"
        return f"{value % (1 << 64):#x}" if operand.hexadecimal else str(value)


def _moving(row: Op, indices: tuple[int, ...]) -> tuple[int, ...]:
    """Of the operands at `indices` those that may name a register which others go with."""
    return tuple(index for index in indices if row.format.operands[index].base >= AR)


def _besides(insn: Insn, indices: tuple[int, ...], besides: Besides) -> int:
    named = (besides.get(insn.operands[index], ()) for index in indices)
    return register_mask(register for registers in named for register in registers)
