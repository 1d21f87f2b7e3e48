"""The rows of an instruction set, with all that is derived from them.

Decoder, encoder, text, and what instructions read and write: of one, and of a whole text at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import and_
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa import (
    Effects,
    Flow,
    Format,
    Insn,
    Kind,
    Masks,
    Op,
    Operand,
    Reg,
    register,
    register_mask,
)
from rewriter.core.recorder import record

Words = NDArray[np.unsignedinteger[Any]]

_REMEMBERED = 1 << 16
"""Decoded words that are kept: code repeats itself nearby, and a kernel has half a million."""

_UNSEEN = Insn(None, ())  # type: ignore[arg-type]
"""What a word stands for that is not remembered."""

_LISTED = 8
"""Bits of an operand whose values are written down."""


def by_row(rows: NDArray[np.int16]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each row number that is there, with the positions at which it is; -1 is none."""
    order = np.argsort(rows, kind="stable")
    numbers, starts = np.unique(rows[order], return_index=True)
    bounds = [*starts.tolist(), len(rows)]
    for number, start, end in zip(numbers.tolist(), bounds, bounds[1:], strict=False):
        if number >= 0:
            yield number, order[start:end]


@dataclass
class Table:
    """The rows of one instruction set, with what is derived from them.

    `constants` maps registers that cannot change (Alpha's $31) to their value; `data` is a row for
    words that are no instructions, which `decode` never gives.
    """

    name: str
    rows: tuple[Op, ...]
    word_bits: int
    constants: dict[int, int] = field(default_factory=dict)
    register_names: tuple[str, ...] = ()
    _decoded: dict[int, Insn | None] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._groups = self._by_mask()
        self.data = _data_row(self.rows[0].format.size)
        self._by_name: dict[str, list[Op]] = {}
        for row in self.rows:
            self._by_name.setdefault(row.name, []).append(row)
        self._effects = {id(row): record(row) for row in (*self.rows, self.data)}
        self._variable = ~register_mask(self.constants)
        self._reads = {n: (e.reads, register_mask(e.fixed_reads)) for n, e in self._effects.items()}
        self._writes = {
            n: (e.writes, register_mask(e.fixed_writes)) for n, e in self._effects.items()
        }

    def _by_mask(self) -> list[tuple[int, dict[int, int]]]:
        groups: dict[int, dict[int, int]] = {}
        for index, row in enumerate(self.rows):
            assert row.match & ~row.mask == 0, row
            clash = groups.setdefault(row.mask, {}).setdefault(row.match, index)
            assert clash == index, f"{row} and {self.rows[clash]} have the same encoding"
        # The most specific mask wins, as in a manual's list of exceptions to a general form.
        return sorted(groups.items(), key=lambda item: -item[0].bit_count())

    def __iter__(self) -> Iterator[Op]:
        return iter(self.rows)

    def find(self, name: str, form: str = "") -> Op:
        """The row called `name`, in format `form` if it has several; KeyError if there is none."""
        for row in self._by_name[name]:
            if not form or row.format.name == form:
                return row
        raise KeyError(f"{name} has no format {form}")

    def effects(self, op: Op) -> Effects:
        """What the row reads and writes."""
        return self._effects[id(op)]

    def decode(self, word: int) -> Insn | None:
        """The instruction that `word` encodes, or None."""
        insn = self._decoded.get(word, _UNSEEN)
        if insn is _UNSEEN:
            if len(self._decoded) == _REMEMBERED:
                self._decoded.clear()
            insn = self._decoded[word] = self._decode(word)
        return insn

    @cached_property
    def _by_major(self) -> tuple[int, dict[int, list[tuple[int, dict[int, Op]]]]]:
        """The bits that every mask has; by what is in them, the masks and rows of such words."""
        major = reduce(and_, (mask for mask, _ in self._groups))
        found: dict[int, dict[int, dict[int, Op]]] = {}
        for mask, rows in self._groups:
            for match, index in rows.items():
                found.setdefault(match & major, {}).setdefault(mask, {})[match] = self.rows[index]
        return major, {key: list(masks.items()) for key, masks in found.items()}

    @cached_property
    def _fields(self) -> dict[str, tuple[_Field, ...]]:
        """How the operands of each format are read."""
        return {row.format.name: tuple(map(_field, row.format.operands)) for row in self.rows}

    def _decode(self, word: int) -> Insn | None:
        major, groups = self._by_major
        for fixed, rows in groups.get(word & major, ()):
            op = rows.get(word & fixed)
            if op is not None:
                values = [
                    listed[word >> low & mask] if listed else extract(word)
                    for low, mask, listed, extract in self._fields[op.format.name]
                ]
                return Insn(op, tuple(values))
        return None

    def encode(self, insn: Insn) -> int:
        """The word for `insn`; ValueError when an operand does not fit."""
        word = insn.op.match
        for operand, value in zip(insn.op.format.operands, insn.operands, strict=True):
            word |= operand.insert(value)
        return word

    def classify(self, words: Words) -> NDArray[np.int16]:
        """The row number of each word, -1 where none matches.

        One vectorised pass per mask, over the words whose major opcode has a row of that mask.
        """
        result = np.full(words.shape, -1, dtype=np.int16)
        major, _ = self._by_major
        low = (major & -major).bit_length() - 1 if major else 0
        majors = (words & words.dtype.type(major)) >> words.dtype.type(low)
        for mask, rows in reversed(self._groups):
            matches = np.array(sorted(rows), dtype=words.dtype)
            numbers = np.array([rows[int(match)] for match in matches], dtype=np.int16)
            has = np.zeros((major >> low) + 1, dtype=np.bool_)
            has[[(match & major) >> low for match in rows]] = True
            near = np.flatnonzero(has[majors])
            masked = words[near] & words.dtype.type(mask)
            at = np.minimum(np.searchsorted(matches, masked), len(matches) - 1)
            found = matches[at] == masked
            result[near[found]] = numbers[at[found]]
        return result

    def extract(self, words: Words, operand: Operand) -> NDArray[np.int64]:
        """The values of `operand` in each word."""
        values = (
            (words >> words.dtype.type(operand.low)) & words.dtype.type((1 << operand.width) - 1)
        ).astype(np.int64)
        if operand.signed:
            values -= (values >> (operand.width - 1)) << operand.width
        return values * operand.scale + operand.base

    def uses_and_defs(
        self, words: Words, rows: NDArray[np.int16]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Register masks (bit n for register n) read and written by each word."""
        uses = np.zeros(words.shape, dtype=np.uint64)
        defs = np.zeros(words.shape, dtype=np.uint64)
        for number, at in by_row(rows):
            op, here = self.rows[number], words[at]
            effects = self.effects(op)
            for masks, indices, fixed in (
                (uses, effects.reads, effects.fixed_reads),
                (defs, effects.writes, effects.fixed_writes),
            ):
                total = np.full(at.shape, register_mask(fixed), dtype=np.uint64)
                for index in indices:
                    registers = self.extract(here, op.format.operands[index]).astype(np.uint64)
                    total |= np.uint64(1) << registers
                masks[at] = total & np.uint64(~register_mask(self.constants) & (1 << 64) - 1)
        return uses, defs

    def uses(self, insn: Insn) -> int:
        """Mask of the registers that `insn` reads."""
        return (insn.masks or self._masks(insn))[0]

    def defs(self, insn: Insn) -> int:
        """Mask of the registers that `insn` writes."""
        return (insn.masks or self._masks(insn))[1]

    def computes(self, insn: Insn) -> Reg | None:
        """The register that `insn` makes of registers and memory if it does no more than that."""
        return (insn.masks or self._masks(insn))[2]

    def accesses(self, insn: Insn) -> bool:
        """Whether `insn` loads or stores; a load without a result is a hint."""
        return (insn.masks or self._masks(insn))[3]

    def leads(self, insn: Insn, address: int) -> int | None:
        """Where `insn` at `address` goes if it is a jump that does nothing else, keeps no link."""
        alone = insn.op.flow is Flow.JUMP and not self.defs(insn)
        return insn.target(address) if alone else None

    def _masks(self, insn: Insn) -> Masks:
        effects, written = self.effects(insn.op), self._set(insn)
        noticed = effects.stores or effects.events or effects.rounds
        more = noticed or insn.op.flow is not Flow.NEXT
        single = written and not written & written - 1 and not more
        result = register(written.bit_length() - 1) if single else None
        accesses = effects.stores or (effects.loads and bool(written))
        insn.masks = masks = self._used(insn), written, result, accesses
        return masks

    def _used(self, insn: Insn) -> int:
        named, mask = self._reads[id(insn.op)]
        for index in named:
            mask |= 1 << insn.operands[index]
        return mask & self._variable

    def _set(self, insn: Insn) -> int:
        named, mask = self._writes[id(insn.op)]
        for index in named:
            mask |= 1 << insn.operands[index]
        return mask & self._variable

    def text(self, insn: Insn, address: int | None = None) -> str:
        """Assembler text; a target is absolute when `address` is given."""
        values: dict[str, str] = {}
        for operand, value in zip(insn.op.format.operands, insn.operands, strict=True):
            if operand.kind is Kind.REGISTER:
                values[operand.name] = self.register_names[value]
            elif operand.kind is Kind.TARGET and address is not None:
                values[operand.name] = f"{address + insn.size + value:x}"
            else:
                values[operand.name] = str(value)
        return f"{insn.name} {insn.op.format.syntax.format(**values)}".rstrip()


_Field: TypeAlias = tuple[int, int, tuple[int, ...], Callable[[int], int]]
"""Where an operand is, as lowest bit and mask; its values by code, or else what works it out."""


def _field(operand: Operand) -> _Field:
    mask, few = (1 << operand.width) - 1, operand.width <= _LISTED
    values = tuple(operand.extract(code << operand.low) for code in range(mask + 1)) if few else ()
    return operand.low, mask, values, operand.extract


def _data_row(size: int) -> Op:
    value = Operand("value", Kind.IMMEDIATE, 0, 8 * size)
    return Op(
        ".word", Format("data", (value,), "{value}", size), 0, 0, _no_effect, "", flow=Flow.STOP
    )


def _no_effect(machine: Any, value: Any) -> None:
    """Data is never executed."""
