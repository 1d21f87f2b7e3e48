"""The rows of an instruction set, with all that is derived from them.

Decoder, encoder, text, and what instructions read and write: of one, and of a whole text at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.instruction import Effects, Flow, Format, Insn, Op, Summary
from rewriter.core.isa.operands import Kind, Operand, Plan, Words, plan
from rewriter.core.isa.registers import Masks, Reg, in_columns, register, register_mask
from rewriter.core.masks import bits
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.readings.recorder import record, record_insn
from rewriter.core.terms.term import Terms

Groups: TypeAlias = list[tuple[int, dict[int, int]]]
"""Masks, the most specific first, and the row of each match."""

Named: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, int], ...], int]
"""Registers that an instruction touches: operands that name them, operands and the distance of
registers beside theirs, and the mask of those that none names."""

REMEMBERED = 1 << 14
"""Decoded words that are kept, and what is said of each: code repeats itself nearby, and a kernel
has half a million."""

_UNSEEN = Insn(None, ())  # type: ignore[arg-type]
"""What a word stands for that is not remembered."""


def by_row(rows: NDArray[np.integer[Any]]) -> Iterator[tuple[int, NDArray[np.intp]]]:
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

    `word_bits` is the length of an instruction, `width` that of a register, in bits; `byteorder` is
    that of memory; `aligned` says that an access traps whose size does not divide its address.
    `constants` maps registers that cannot change (Alpha's $31) to their value;
    `data` is a row for words that are no instructions, which `decode` never gives.
    """

    name: str
    rows: tuple[Op, ...]
    word_bits: int
    width: int
    byteorder: ByteOrder
    aligned: bool
    constants: dict[int, int] = field(default_factory=dict)
    register_names: tuple[str, ...] = ()
    _decoded: dict[int, Insn | None] = field(default_factory=dict, repr=False, init=False)

    def __post_init__(self) -> None:
        self._groups = self._by_mask()
        self.data = _data_row(self.rows[0].format.size)
        self._by_name: dict[str, list[Op]] = {}
        for row in self.rows:
            self._by_name.setdefault(row.name, []).append(row)
        self._effects = {id(row): record(row, self.width) for row in (*self.rows, self.data)}
        self._variable = ~register_mask(self.constants)
        self._reads = {n: _read(e) for n, e in self._effects.items()}
        self._writes = {n: _written(e) for n, e in self._effects.items()}

    def _by_mask(self) -> list[tuple[int, dict[int, int]]]:
        groups: dict[int, dict[int, int]] = {}
        for index, row in enumerate(self.rows):
            assert row.match & ~row.mask == 0, row
            clash = groups.setdefault(row.mask, {}).setdefault(row.match, index)
            assert clash == index, f"{row} and {self.rows[clash]} have the same encoding"
        # The most specific mask wins, as in a manual's list of exceptions to a general form.
        return sorted(groups.items(), key=lambda item: -item[0].bit_count())

    @property
    def size(self) -> int:
        """Bytes of text of an instruction; 0 where it has none of its own, as in a bundle."""
        return self.rows[0].format.size

    @property
    def cell(self) -> int:
        """Bytes of a register, and of memory that one access takes at most."""
        return self.width // 8

    def terms(self) -> Terms:
        """A store of terms for its registers."""
        return Terms(self.width)

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
            if len(self._decoded) == REMEMBERED:
                self._decoded.clear()
            insn = self._decoded[word] = self._decode(word)
        return insn

    # How a word's row is found: by its major opcode, then by the few masks that rows of it have.

    @cached_property
    def major(self) -> int:
        """The bits of the major opcode: those that all rows fix."""
        return reduce(and_, (row.mask for row in self.rows))

    @cached_property
    def _by_major(self) -> dict[int, Groups]:
        """By what is in the bits of the major opcode the masks and rows of such words."""
        found: dict[int, Groups] = {}
        for mask, rows in self._groups:
            for match, number in rows.items():
                for key in _filled(match & self.major, self.major & ~mask):
                    groups = found.setdefault(key, [])
                    if not groups or groups[-1][0] != mask:
                        groups.append((mask, {}))
                    groups[-1][1][match] = number
        return found

    @cached_property
    def _plans(self) -> list[tuple[Plan, ...]]:
        """How the operands of each row are read."""
        plans = {operand: plan(operand) for row in self.rows for operand in row.format.operands}
        return [tuple(plans[operand] for operand in row.format.operands) for row in self.rows]

    @cached_property
    def _reserving(self) -> dict[Operand, list[int]]:
        """Operands with codes that make a word no instruction, and the rows that have them."""
        found: dict[Operand, list[int]] = {}
        for number, row in enumerate(self.rows):
            for operand in row.format.operands:
                if operand.reserved:
                    found.setdefault(operand, []).append(number)
        return found

    @cached_property
    def _checked(self) -> frozenset[int]:
        return frozenset(number for numbers in self._reserving.values() for number in numbers)

    def _decode(self, word: int) -> Insn | None:
        for mask, rows in self._by_major.get(word & self.major, ()):
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

    def encode(self, insn: Insn) -> int:
        """The word for `insn`; ValueError when an operand does not fit."""
        word = insn.op.match
        for operand, value in zip(insn.op.format.operands, insn.operands, strict=True):
            word |= operand.insert(value)
        return word

    def classify(self, words: Words) -> NDArray[np.int16]:
        """The row number of each word, -1 where none matches.

        Words are put in the order of their major opcodes, which share no row.
        """
        result = np.full(words.shape, -1, dtype=np.int16)
        low = (self.major & -self.major).bit_length() - 1 if self.major else 0
        majors = words >> words.dtype.type(low) & words.dtype.type(self.major >> low)
        codes = majors.astype(np.min_scalar_type(self.major >> low))
        for number, at in by_row(codes):
            groups = self._by_major.get(number << low)
            if groups is not None:
                result[at] = _rows_of(words[at], groups)
        self._refuse(words, result)
        return result

    def _refuse(self, words: Words, rows: NDArray[np.int16]) -> None:
        """Takes the row from words that hold a reserved code in some operand."""
        for operand, numbers in self._reserving.items():
            at = np.flatnonzero(np.isin(rows, numbers))
            rows[at[np.isin(operand.codes(words[at]), operand.reserved)]] = -1

    def extract(self, words: Words, operand: Operand) -> NDArray[np.int64]:
        """The values of `operand` in each word."""
        return operand.values_of(operand.codes(words))

    # What is read and written, in columns of 64 registers -------------------------------------

    @cached_property
    def columns(self) -> int:
        """Columns of 64 bits that a mask of all registers has."""
        return max(1, -(-len(self.register_names) // 64))

    def columns_of(self, mask: int) -> Masks:
        """A mask of registers in columns."""
        row: Masks = in_columns([mask], self.columns)[0]
        return row

    def uses_and_defs(self, words: Words, rows: NDArray[np.int16]) -> tuple[Masks, Masks]:
        """Masks of the registers read and written by each word: bit n % 64 of column n // 64."""
        uses = np.zeros((len(words), self.columns), dtype=np.uint64)
        defs = np.zeros((len(words), self.columns), dtype=np.uint64)
        for number, at in by_row(rows):
            uses[at], defs[at] = self._row_masks(self.rows[number], words[at])
        variable = self.columns_of(self._variable)
        return uses & variable, defs & variable

    def naming_bits(self, words: Words, rows: NDArray[np.int16]) -> NDArray[np.uint64]:
        """Of each word the bits that say which registers it touches, and its row: two columns."""
        kept = np.array([*self._naming, 0], dtype=np.uint64)[rows]
        return np.stack((words & kept, rows.astype(np.uint64)), axis=1)

    @cached_property
    def _naming(self) -> list[int]:
        """By row, the bits of the row itself and of the operands that name registers."""
        return [
            reduce(or_, (row.format.operands[at].mask for at in self.naming(row)), row.mask)
            for row in self.rows
        ]

    def _row_masks(self, op: Op, words: Words) -> tuple[Masks, Masks]:
        """Masks, in columns, of what words of one row read and write."""
        if self.effects(op).selected:
            return self._word_masks(words)
        number = id(op)
        return (
            self._named(words, op, self._reads[number]),
            self._named(words, op, self._writes[number]),
        )

    def _word_masks(self, words: Words) -> tuple[Masks, Masks]:
        """Masks of words whose operands say in another way which registers they touch."""
        distinct, which = np.unique(words, return_inverse=True)
        found = [self._masks(cast(Insn, self.decode(word)))[:2] for word in distinct.tolist()]
        reads, writes = (in_columns(masks, self.columns) for masks in zip(*found, strict=True))
        return reads[which], writes[which]

    def _named(self, words: Words, op: Op, named: Named) -> Masks:
        """Masks, in columns, of registers that words of one row touch."""
        indices, beside, fixed = named
        masks = np.zeros((len(words), self.columns), dtype=np.uint64)
        every = np.arange(len(words))
        for index, distance in (*((index, 0) for index in indices), *beside):
            registers = self.extract(words, op.format.operands[index]) + distance
            masks[every, registers >> 6] |= np.uint64(1) << (registers & 63).view(np.uint64)
        return masks | self.columns_of(fixed)

    def summary(self, insn: Insn) -> Summary:
        """What `uses`, `defs`, `computes` and `accesses` say, and how many bytes are accessed."""
        return insn.masks or self._masks(insn)

    def uses(self, insn: Insn) -> int:
        """Mask of the registers that `insn` reads."""
        return (insn.masks or self._masks(insn))[0]

    def defs(self, insn: Insn) -> int:
        """Mask of the registers that `insn` writes."""
        return (insn.masks or self._masks(insn))[1]

    def naming(self, op: Op) -> tuple[int, ...]:
        """The operands of a row, by index, that say which registers an instruction touches."""
        if self.effects(op).selected:
            return tuple(range(len(op.format.operands)))
        touched = (self._reads[id(op)], self._writes[id(op)])
        named = {n for indices, beside, _ in touched for n in (*indices, *(n for n, _ in beside))}
        return tuple(sorted(named.union(op.format.registers)))

    def link(self, insn: Insn) -> Reg | None:
        """The register in which `insn` leaves the address of the next instruction."""
        effects = self.effects(insn.op)
        if effects.selected:
            effects = record_insn(insn.op, self.width, insn.operands)
        given = (*(insn.operands[index] for index in effects.links), *effects.fixed_links)
        return next((register(r) for r in given if self._variable >> r & 1), None)

    def computes(self, insn: Insn) -> tuple[Reg, ...]:
        """The registers that `insn` makes of registers and memory if it does no more than that."""
        return (insn.masks or self._masks(insn))[2]

    def accesses(self, insn: Insn) -> bool:
        """Whether `insn` loads or stores; a load without a result is a hint."""
        return (insn.masks or self._masks(insn))[3]

    def accessed(self, insn: Insn) -> int:
        """How many bytes `insn` loads or stores; what its row says is of any such instruction."""
        return (insn.masks or self._masks(insn))[4]

    def leads(self, insn: Insn, address: int) -> int | None:
        """Where `insn` at `address` goes if it is a jump that does nothing else, keeps no link."""
        alone = insn.op.flow is Flow.JUMP and not self.defs(insn)
        return insn.target(address) if alone else None

    def _masks(self, insn: Insn) -> Summary:
        effects, written = self.effects(insn.op), self._set(insn)
        noticed = effects.stores or effects.events or effects.rounds
        more = noticed or insn.op.flow is not Flow.NEXT
        results = () if more else tuple(map(register, bits(written)))
        accesses = effects.stores or (effects.loads and bool(written))
        exact = record_insn(insn.op, self.width, insn.operands) if effects.selected else effects
        insn.masks = masks = self._used(insn), written, results, accesses, exact.size
        return masks

    def _used(self, insn: Insn) -> int:
        return self._mask(insn, self._reads, _read)

    def _set(self, insn: Insn) -> int:
        return self._mask(insn, self._writes, _written)

    def _mask(self, insn: Insn, known: dict[int, Named], kind: Callable[[Effects], Named]) -> int:
        """The mask of the registers that `insn` touches."""
        named, beside, mask = known[id(insn.op)]
        if self.effects(insn.op).selected:
            named, beside, mask = kind(record_insn(insn.op, self.width, insn.operands))
        for index in named:
            mask |= 1 << insn.operands[index]
        for index, distance in beside:
            mask |= 1 << insn.operands[index] + distance
        return mask & self._variable

    def text(self, insn: Insn, address: int | None = None) -> str:
        """Assembler text; a target is absolute when `address` is given."""
        values: dict[str, str] = {}
        for operand, value in zip(insn.op.format.operands, insn.operands, strict=True):
            if operand.kind is Kind.REGISTER:
                values[operand.name] = self.register_names[value]
            elif operand.kind is Kind.TARGET and address is not None:
                values[operand.name] = f"{operand.goal(value, address, insn.size):x}"
            else:
                values[operand.name] = str(value)
        return f"{insn.name} {insn.op.format.syntax.format(**values)}".rstrip()


def _read(effects: Effects) -> Named:
    return effects.reads, effects.more_reads, register_mask(effects.fixed_reads)


def _written(effects: Effects) -> Named:
    return effects.writes, effects.more_writes, register_mask(effects.fixed_writes)


def _filled(match: int, free: int) -> Iterator[int]:
    """A number with every content of some free bits."""
    part = free
    while True:
        yield match | part
        if not part:
            return
        part = part - 1 & free


def _rows_of(words: Words, groups: Groups) -> NDArray[np.int16]:
    """The row of each word among those of one major opcode, the most specific mask winning."""
    result = np.full(words.shape, -1, dtype=np.int16)
    for mask, rows in reversed(groups):
        matches = np.array(sorted(rows), dtype=words.dtype)
        numbers = np.array([rows[int(match)] for match in matches], dtype=np.int16)
        masked = words & words.dtype.type(mask)
        at = np.minimum(np.searchsorted(matches, masked), len(matches) - 1)
        found = matches[at] == masked
        result[found] = numbers[at[found]]
    return result


def _data_row(size: int) -> Op:
    value = Operand("value", Kind.IMMEDIATE, ((0, 8 * size),))
    return Op(
        ".word", Format("data", (value,), "{value}", size), 0, 0, _no_effect, "", flow=Flow.STOP
    )


def _no_effect(machine: Any, value: Any) -> None:
    """Data is never executed."""
