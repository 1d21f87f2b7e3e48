"""The vocabulary of an instruction set: fields, formats, one `Op` per row, `Insn`, and the `Table`.

A target writes rows; decoder, encoder, text, def/use sets and meanings are all derived from
them.  Nothing here knows a word size: a word is an integer, `Format.size` says how many bytes
of text it takes (an IA-64 slot is a 41-bit word that a bundle layer cuts out).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property, reduce
from operator import and_
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray


class Reg(int):
    """A register number in the target's one numbering of all its registers."""


@cache
def _register(number: int) -> Reg:
    """One object for each: a text names millions."""
    return Reg(number)


class Kind(Enum):
    """What the value of an operand field is."""

    REGISTER = "register"
    IMMEDIATE = "immediate"
    TARGET = "target"  # a code address, encoded relative to the next instruction


class Flow(Enum):
    """Where control goes after an instruction."""

    NEXT = "next"
    BRANCH = "branch"  # conditional: target or next
    JUMP = "jump"  # always, to an encoded target
    CALL = "call"  # to an encoded target; comes back
    INDIRECT = "indirect"  # to a register
    INDIRECT_CALL = "indirect call"
    RETURN = "return"
    TRAP = "trap"  # a call into the system; comes back unless the row says otherwise
    STOP = "stop"  # never comes back


AWAY = frozenset({Flow.JUMP, Flow.INDIRECT, Flow.RETURN, Flow.STOP})
"""Flows behind which control does not go on."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand and the bits that hold it.

    `low` and `width` are bits of the word; the value is the field, sign-extended if `signed`,
    times `scale`; a register's number is the field plus `base`.
    """

    name: str
    kind: Kind
    low: int
    width: int
    signed: bool = False
    scale: int = 1
    base: int = 0

    @property
    def mask(self) -> int:
        """The operand's bits, in place."""
        return ((1 << self.width) - 1) << self.low

    def extract(self, word: int) -> int:
        """The operand's value in `word`."""
        value = (word >> self.low) & ((1 << self.width) - 1)
        if self.signed and value >> (self.width - 1):
            value -= 1 << self.width
        return _register(value + self.base) if self.kind is Kind.REGISTER else value * self.scale

    def insert(self, value: int) -> int:
        """The bits that hold `value`; ValueError when they cannot."""
        field_value, rest = divmod(value - self.base, self.scale)
        span = 1 << self.width
        low, high = (-span // 2, span // 2) if self.signed else (0, span)
        if rest or not low <= field_value < high:
            raise ValueError(f"operand {self.name}={value} does not fit its {self.width}-bit field")
        return (field_value % span) << self.low


@dataclass(frozen=True, slots=True)
class Format:
    """A layout of operands, in the order of the assembler's text.

    `syntax` is a `str.format` template over operand names; `size` is in bytes of text;
    `registers`, `immediates` and `target` are the positions of the operands of each kind.
    """

    name: str
    operands: tuple[Operand, ...]
    syntax: str
    size: int
    positions: dict[str, int] = field(init=False, repr=False, compare=False)
    registers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    immediates: tuple[int, ...] = field(init=False, repr=False, compare=False)
    target: int | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        positions = {operand.name: number for number, operand in enumerate(self.operands)}
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "registers", self._of_kind(Kind.REGISTER))
        object.__setattr__(self, "immediates", self._of_kind(Kind.IMMEDIATE))
        object.__setattr__(self, "target", next(iter(self._of_kind(Kind.TARGET)), None))

    def _of_kind(self, kind: Kind) -> tuple[int, ...]:
        return tuple(n for n, operand in enumerate(self.operands) if operand.kind is kind)

    def index(self, name: str) -> int:
        """The position of operand `name`."""
        return self.positions[name]


Does = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Op:
    """One row: an instruction in one format.

    `match` and `mask` are the fixed bits; `does` is the meaning, called with a machine and the
    operands; `sched` names a scheduling class that a `Cpu` describes, or is empty for data; `needs`
    names the feature that a `Cpu` must have, or is empty.
    """

    name: str
    format: Format
    match: int
    mask: int
    does: Does
    sched: str
    needs: str = ""
    flow: Flow = Flow.NEXT
    source: str = ""

    def __hash__(self) -> int:
        return hash((self.name, self.format.name, self.match))

    def __repr__(self) -> str:
        return f"<Op {self.name} {self.format.name}>"


Masks: TypeAlias = tuple[int, int, Reg | None, bool]
"""Of registers that are read and written; the one that is computed, if no more is done; whether
memory is accessed."""


@dataclass(slots=True, unsafe_hash=True)
class Insn:
    """An instruction with its operand values; position-free (a target operand is a distance).

    Nobody changes one; a class that sees to that takes twice as long to make one, and millions are
    made.  `masks` is its `Table`'s, which finds once what it reads, writes and computes.
    """

    op: Op
    operands: tuple[int, ...]
    masks: Masks | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The mnemonic."""
        return self.op.name

    @property
    def size(self) -> int:
        """Bytes of text."""
        return self.op.format.size

    def operand(self, name: str) -> int:
        """The value of operand `name`."""
        return self.operands[self.op.format.positions[name]]

    def has(self, name: str) -> bool:
        """Whether the format has an operand `name`."""
        return name in self.op.format.positions

    @property
    def placeless(self) -> tuple[int, ...]:
        """The operands' values without how far a target is, which changes when code moves."""
        form = self.op.format
        if form.target is None:
            return self.operands
        values = zip(form.operands, self.operands, strict=True)
        return tuple(value for operand, value in values if operand.kind is not Kind.TARGET)

    def replace(self, **values: int) -> Insn:
        """The same instruction with some operands changed."""
        names = [operand.name for operand in self.op.format.operands]
        assert values.keys() <= set(names), (self, values)
        return Insn(
            self.op, tuple(values.get(n, v) for n, v in zip(names, self.operands, strict=True))
        )

    def target(self, address: int) -> int | None:
        """The encoded target of the instruction when it stands at `address`, if it has one."""
        form = self.op.format
        return None if form.target is None else address + form.size + self.operands[form.target]


@dataclass(frozen=True)
class Effects:
    """What a row reads and writes, found by running its meaning on a recording machine.

    `reads` and `writes` index operands; `fixed_reads` and `fixed_writes` are registers that the
    encoding does not name.  `size` is how many bytes it loads or stores.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    fixed_reads: frozenset[int]
    fixed_writes: frozenset[int]
    loads: bool
    stores: bool
    size: int
    events: tuple[str, ...]


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
        self._effects = {id(row): _effects(row) for row in (*self.rows, self.data)}
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

    def _masks(self, insn: Insn) -> Masks:
        effects, written = self.effects(insn.op), self._set(insn)
        more = effects.stores or effects.events or insn.op.flow is not Flow.NEXT
        single = written and not written & written - 1 and not more
        result = _register(written.bit_length() - 1) if single else None
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


def register_mask(registers: Iterable[int]) -> int:
    """The mask with bit n set for each register n."""
    mask = 0
    for register in registers:
        mask |= 1 << register
    return mask


def _data_row(size: int) -> Op:
    value = Operand("value", Kind.IMMEDIATE, 0, 8 * size)
    return Op(
        ".word", Format("data", (value,), "{value}", size), 0, 0, _no_effect, "", flow=Flow.STOP
    )


def _no_effect(machine: Any, value: Any) -> None:
    """Data is never executed."""


def _effects(op: Op) -> Effects:
    from rewriter.core.recorder import record

    return record(op)
