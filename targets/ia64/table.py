"""The table over slots: what core's `Table` derives from rows, for words cut out of bundles.

Words of different major opcodes share no row, so both decoders look first at the unit and the
major opcode and then only at the few masks that rows of that opcode have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa import Flow, Insn, Kind, Op, Operand, Reg, register_mask
from rewriter.core.table import Table
from targets.ia64.fields import QP, Field, Words
from targets.ia64.registers import AR, READ_TO_WRITE, READ_WITH, WRITTEN_WITH

_MAJOR = 37  # the unit (3 bits) and the major opcode (4 bits) are the word's bits 37 to 43
_MAJORS = 1 << 7
_COLUMN = (1 << 64) - 1

# The branches whose only condition is the qualifying predicate.
_ALWAYS = ("br.cond", "brl.cond")

Besides = dict[int, tuple[Reg, ...]]
Masks = list[tuple[int, dict[int, int]]]  # mask, and the row of each match


def _fields(op: Op) -> tuple[Field, ...]:
    return tuple(operand for operand in op.format.operands if isinstance(operand, Field))


_Plan = tuple[int, int, tuple[int | None, ...], Callable[[int], int | None]]


def _plan(operand: Field) -> _Plan:
    """How an operand is read: where it is and its values by code, or else what works it out."""
    return operand.low, (1 << operand.width) - 1, operand.listed, operand.read


@dataclass
class SlotTable(Table):
    """Rows of all units.  A word is as `fields` describes it."""

    _majors: dict[int, Masks] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        Table.__post_init__(self)
        for mask, rows in self._groups:
            for match, number in rows.items():
                for major in _majors_of(mask, match):
                    groups = self._majors.setdefault(major, [])
                    if not groups or groups[-1][0] != mask:
                        groups.append((mask, {}))
                    groups[-1][1][match] = number
        every = (*self.rows, self.data)
        self._reads_with = {id(row): _moving(row, self._reads[id(row)][0]) for row in every}
        self._writes_with = {id(row): _moving(row, self._writes[id(row)][0]) for row in every}
        plans = {operand: _plan(operand) for row in self.rows for operand in _fields(row)}
        self._plans = [tuple(plans[operand] for operand in _fields(row)) for row in self.rows]
        self._reserving: dict[Field, list[int]] = {}
        for number, row in enumerate(self.rows):
            for operand in _fields(row):
                if operand.reserved:
                    self._reserving.setdefault(operand, []).append(number)
        self._checked = frozenset(chain.from_iterable(self._reserving.values()))

    def _decode(self, word: int) -> Insn | None:
        for mask, rows in self._majors.get(word >> _MAJOR & _MAJORS - 1, ()):
            number = rows.get(word & mask)
            if number is not None:
                return self._made(number, word)
        return None

    def _made(self, number: int, word: int) -> Insn | None:
        """The instruction of a row in a word; None where a code in it is reserved."""
        found = [
            values[word >> low & mask] if values else read(word)
            for low, mask, values, read in self._plans[number]
        ]
        is_reserved = number in self._checked and None in found
        return None if is_reserved else Insn(self.rows[number], cast(tuple[int, ...], tuple(found)))

    def classify(self, words: Words) -> NDArray[np.int16]:
        """The row number of each word (its L slot left out), -1 where none matches."""
        result = np.full(words.shape, -1, dtype=np.int16)
        majors = (words >> np.uint64(_MAJOR)).astype(np.uint8)
        order = np.argsort(majors, kind="stable")
        ends = np.cumsum(np.bincount(majors, minlength=_MAJORS))
        for major, groups in self._majors.items():
            at = order[ends[major - 1] if major else 0 : ends[major]]
            if len(at):
                result[at] = _rows_of(words[at], groups)
        self._refuse(words, result)
        return result

    def _refuse(self, words: Words, rows: NDArray[np.int16]) -> None:
        """Takes the row from words that hold a reserved code in some operand."""
        for operand, numbers in self._reserving.items():
            at = np.flatnonzero(np.isin(rows, numbers))
            codes = operand.codes(words[at], words[at])
            rows[at[np.isin(codes, operand.reserved)]] = -1

    def extract(
        self, words: Words, operand: Operand, longs: Words | None = None
    ) -> NDArray[np.int64]:
        """The values of `operand` in each word; that of a long instruction needs the L slots."""
        assert isinstance(operand, Field)
        return operand.extract_all(words, words if longs is None else longs)

    def uses_and_defs(
        self, words: Words, rows: NDArray[np.int16]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Register masks read and written by each word, in columns of 64 registers."""
        columns = -(-len(self.register_names) // 64)
        uses = np.zeros((len(words), columns), dtype=np.uint64)
        defs = np.zeros((len(words), columns), dtype=np.uint64)
        order = np.argsort(rows, kind="stable")
        numbers, starts = np.unique(rows[order], return_index=True)
        for number, at in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
            if number >= 0:
                op = self.rows[number]
                effects = self.effects(op)
                touched = self._touched(words[at], op, effects.reads, READ_WITH)
                touched |= self._besides(words[at], op, effects.writes, READ_TO_WRITE)
                uses[at] = touched | _columns(register_mask(effects.fixed_reads), columns)
                touched = self._touched(words[at], op, effects.writes, WRITTEN_WITH)
                defs[at] = touched | _columns(register_mask(effects.fixed_writes), columns)
        variable = _columns(~register_mask(self.constants), columns)
        return uses & variable, defs & variable

    def _touched(
        self, words: Words, op: Op, indices: tuple[int, ...], besides: Besides
    ) -> NDArray[np.uint64]:
        """Masks, in columns, of what the operands at `indices` name in words of one row."""
        masks = np.zeros((len(words), -(-len(self.register_names) // 64)), dtype=np.uint64)
        every = np.arange(len(words))
        for index in indices:
            operand = op.format.operands[index]
            registers = self.extract(words, operand)
            masks[every, registers >> 6] |= np.uint64(1) << (registers & 63).view(np.uint64)
        return masks | self._besides(words, op, indices, besides)

    def _besides(
        self, words: Words, op: Op, indices: tuple[int, ...], besides: Besides
    ) -> NDArray[np.uint64]:
        """Masks, in columns, of what goes with the registers that those operands name."""
        masks = np.zeros((len(words), -(-len(self.register_names) // 64)), dtype=np.uint64)
        for index in indices:
            operand = op.format.operands[index]
            if operand.base >= AR:
                registers = self.extract(words, operand)
                for register, others in besides.items():
                    masks[registers == register] |= _columns(register_mask(others), masks.shape[1])
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
        for operand, value in zip(_fields(insn.op), insn.operands, strict=True):
            values[operand.name] = self._operand_text(operand, value, address)
        qp = insn.operand(QP.name) - QP.base if insn.has(QP.name) else 0
        text = f"{insn.name}{insn.op.format.syntax.format(**values)}".rstrip()
        return f"(p{qp:02d}) {text}" if qp else text

    def _operand_text(self, operand: Field, value: int, address: int | None) -> str:
        if operand.kind is Kind.REGISTER:
            return self.register_names[value]
        if operand.names:
            return operand.names[value]
        if operand.kind is Kind.TARGET and address is not None:
            return f"{(address + value) % (1 << 64):#x}"
        return f"{value % (1 << 64):#x}" if operand.hexadecimal else str(value)


def _moving(row: Op, indices: tuple[int, ...]) -> tuple[int, ...]:
    """Of the operands at `indices` those that may name a register which others go with."""
    return tuple(index for index in indices if row.format.operands[index].base >= AR)


def _besides(insn: Insn, indices: tuple[int, ...], besides: Besides) -> int:
    named = (besides.get(insn.operands[index], ()) for index in indices)
    return register_mask(register for registers in named for register in registers)


def _majors_of(mask: int, match: int) -> Iterator[int]:
    mask, match = mask >> _MAJOR, match >> _MAJOR
    return (major for major in range(_MAJORS) if major & mask == match)


def _rows_of(words: Words, groups: Masks) -> NDArray[np.int16]:
    """The row of each word among those of one major opcode."""
    result = np.full(words.shape, -1, dtype=np.int16)
    for mask, rows in reversed(groups):
        matches = np.array(sorted(rows), dtype=np.uint64)
        numbers = np.array([rows[int(match)] for match in matches], dtype=np.int16)
        masked = words & np.uint64(mask)
        at = np.minimum(np.searchsorted(matches, masked), len(matches) - 1)
        found = matches[at] == masked
        result[found] = numbers[at[found]]
    return result


def _columns(mask: int, columns: int) -> NDArray[np.uint64]:
    return np.array([mask >> 64 * n & _COLUMN for n in range(columns)], dtype=np.uint64)
