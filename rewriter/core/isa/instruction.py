"""The vocabulary of an instruction set: formats of operands, one `Op` per row, `Insn`.

A target writes rows; all else is derived from them (`table`).  Nothing here knows a word size: a
word is an integer, `Format.size` says how many bytes of text it takes (an IA-64 slot is a 41-bit
word that a bundle layer cuts out).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from rewriter.core.isa.flow import AWAY as AWAY
from rewriter.core.isa.flow import BRANCHING as BRANCHING
from rewriter.core.isa.flow import CALLS as CALLS
from rewriter.core.isa.flow import COMING_BACK as COMING_BACK
from rewriter.core.isa.flow import FALLING as FALLING
from rewriter.core.isa.flow import STRAIGHT as STRAIGHT
from rewriter.core.isa.flow import Flow as Flow
from rewriter.core.isa.flow import To as To
from rewriter.core.isa.flow import leading as leading
from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.isa.registers import Reg


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
        return self.match

    def __repr__(self) -> str:
        return f"<Op {self.name} {self.format.name}>"


Summary: TypeAlias = tuple[int, int, tuple[Reg, ...], bool, int]
"""Masks of registers that are read and written; those that are computed, if no more is done;
whether memory is accessed; how many bytes are loaded or stored."""


@dataclass(slots=True)
class Insn:
    """An instruction with its operand values; position-free (a target operand is a distance).

    Nobody changes one; a class that sees to that takes twice as long to make one, and millions are
    made.  `masks` is its table's, which finds once what it reads, writes and computes.
    """

    op: Op
    operands: tuple[int, ...]
    masks: Summary | None = field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        # That of both, without a call for the row's.
        return hash((self.op.match, self.operands))

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
        if form.target is None:
            return None
        return form.operands[form.target].goal(self.operands[form.target], address, form.size)


@dataclass(frozen=True)
class Effects:
    """What a row reads and writes, found by running its meaning on a recording machine.

    `reads` and `writes` index operands; `fixed_reads` and `fixed_writes` are registers that the
    encoding does not name; `links` and `fixed_links` are those that get the address of the next
    instruction.  `size` is how many bytes it loads or stores.  `rounds` says that it is
    floating-point arithmetic: it reads the control register, may set its flags, and may trap.
    `more_reads` and `more_writes` are registers beside those that operands name: the operand's
    index, and how far from its number.  A row is `selected` whose operands say which registers are
    read or written in another way; it is then told what any of its instructions may do.  A row is
    `placed` whose meaning asks for the address of the next instruction.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    fixed_reads: frozenset[int]
    fixed_writes: frozenset[int]
    loads: bool
    stores: bool
    size: int
    events: tuple[str, ...]
    rounds: bool = False
    more_reads: tuple[tuple[int, int], ...] = ()
    more_writes: tuple[tuple[int, int], ...] = ()
    selected: bool = False
    links: tuple[int, ...] = ()
    fixed_links: frozenset[int] = frozenset()
    placed: bool = False
