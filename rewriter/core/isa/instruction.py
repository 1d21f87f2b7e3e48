"""The vocabulary of an instruction set: formats of operands, one `Op` per row, `Insn`.

A target writes rows; all else is derived from them (`table`).  Nothing here knows a word size: a
word is an integer, `Format.size` says how many bytes of text it takes (an IA-64 slot is a 41-bit
word that a bundle layer cuts out).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.isa.registers import Reg


class To(Enum):
    """Where a transfer of control leads when it is taken."""

    NEXT = "the next instruction"
    PLACE = "an encoded target"
    REGISTER = "where a register says"
    CALLER = "where the function was called from"
    SYSTEM = "the system, which comes back"
    NOWHERE = "it never comes back"


class Flow(Enum):
    """Where control goes after an instruction: where to, whether always, and what it leaves.

    One that is `conditional` goes on at the next instruction where its condition does not hold;
    which operands and registers make the condition its row's meaning says.  One that `links`
    leaves the address of the next instruction in a register, whether it is taken or not.
    """

    NEXT = (To.NEXT,)
    HERE = (To.NEXT, False, True)  # no call: code asks where it stands
    BRANCH = (To.PLACE, True)
    JUMP = (To.PLACE,)
    CALL = (To.PLACE, False, True)
    CALL_IF = (To.PLACE, True, True)
    INDIRECT = (To.REGISTER,)
    INDIRECT_IF = (To.REGISTER, True)
    INDIRECT_CALL = (To.REGISTER, False, True)
    INDIRECT_CALL_IF = (To.REGISTER, True, True)
    RETURN = (To.CALLER,)
    RETURN_IF = (To.CALLER, True)
    TRAP = (To.SYSTEM,)  # unless data is behind it
    STOP = (To.NOWHERE,)

    __hash__ = object.__hash__  # each is there once: an `Enum`'s own goes by its name, and is slow

    def __init__(self, to: To, conditional: bool = False, links: bool = False) -> None:
        self.to, self.conditional, self.links = to, conditional, links

    @property
    def calls(self) -> bool:
        """Whether it leads to a function that comes back."""
        return self.links and self.to is not To.NEXT

    @property
    def falls(self) -> bool:
        """Whether control may go on at the next instruction without having been elsewhere."""
        return self.conditional or self.to is To.NEXT


CALLS = frozenset(flow for flow in Flow if flow.calls)
"""Flows that call a function."""

COMING_BACK = CALLS | {Flow.TRAP}
"""Flows behind which control goes on after it was in code that is not seen there."""

FALLING = frozenset(flow for flow in Flow if flow.falls)
"""Flows after which the next instruction may be executed at once."""

STRAIGHT = frozenset(flow for flow in FALLING if not flow.links)
"""Flows in the middle of straight code: where they are taken is a side exit of it."""

AWAY = frozenset(Flow) - FALLING - COMING_BACK
"""Flows behind which control does not go on."""


def leading(to: To) -> frozenset[Flow]:
    """Flows that lead there when they are taken."""
    return frozenset(flow for flow in Flow if flow.to is to)


BRANCHING = leading(To.PLACE) - CALLS
"""Flows that go to an encoded target and do not come back."""


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


Summary: TypeAlias = tuple[int, int, tuple[Reg, ...], bool, int]
"""Masks of registers that are read and written; those that are computed, if no more is done;
whether memory is accessed; how many bytes are loaded or stored."""


@dataclass(slots=True, unsafe_hash=True)
class Insn:
    """An instruction with its operand values; position-free (a target operand is a distance).

    Nobody changes one; a class that sees to that takes twice as long to make one, and millions are
    made.  `masks` is its table's, which finds once what it reads, writes and computes.
    """

    op: Op
    operands: tuple[int, ...]
    masks: Summary | None = field(default=None, init=False, repr=False, compare=False)

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
