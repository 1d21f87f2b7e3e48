"""What a proof that code was only reordered asks about an instruction, and of a target.

The proof takes an instruction as an unknown function of what it reads (`Transfer.function`), and
knows of its meaning only what reordering needs: predication, sums, order, and where control goes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import register_mask


class Order(Enum):
    """What an instruction must not change places with, beside what its registers say.

    All but the first two happen as often, under the same conditions, in old and new code.
    """

    FREE = "no effect but on registers: may be added, dropped and moved"
    WATCHED = "reads what only an interruption changes: as the free, but stays among fences"
    COUNTED = "may fault, stays on its side of every fence"
    LOAD = "stays behind stores that may overlap"
    STORE = "stays behind loads and stores that may overlap"
    KEPT = "stays behind accesses that may overlap, and behind all of its own order"
    CHECKED = "an advanced load, its check, or a load from anywhere: stays among such and stores"
    STACK = "moves the stack's pointer: keeps its place among accesses"
    FENCE = "keeps its place among all but the free"
    SYSTEM = "a fence that may need a stop behind it"
    SWITCH = "a system instruction that gives names to other registers: what is watched passes it"
    SEEN = "a system instruction at which all registers may be read"

    def __init__(self, said: str) -> None:
        """`is_event`: it does more than to write registers.  `is_fence`: nothing but the free
        crosses it.  `is_system`: what stood behind it in another group must not come into its
        group."""
        self.is_event = self.name not in ("FREE", "WATCHED")
        self.is_system = self.name in ("SYSTEM", "SWITCH", "SEEN")
        self.is_fence = self.is_system or self.name == "FENCE"


class How(Enum):
    """How a result changes its register."""

    SET = "set, under the qualifying predicate"
    ALWAYS = "a predicate: set if the qualifying predicate is true, else cleared"
    CLEARS = "a predicate: cleared if the function is true"
    SETS = "a predicate: set if the function is true"
    GATHERS = "bits are only ever set in it, in any order"


@dataclass(frozen=True, slots=True)
class Result:
    """A register that an instruction writes; `part` tells its results from one another.

    A result that gathers and has a `constant` depends on nothing that is read.
    """

    register: int
    part: int = 0
    how: How = How.SET
    constant: Hashable = None


@dataclass(frozen=True, slots=True)
class Sum:
    """A register that is set to the sum of others and a constant, as far as it is wide."""

    register: int
    addends: tuple[int, ...]
    constant: int = 0


@dataclass(frozen=True, slots=True)
class Exit:
    """A place where control may leave: to `distance` from its base, or to where a register says.

    `certain`: it is taken whenever the qualifying predicate is true, and does nothing otherwise.
    `links`: it passes on the address behind it.  `rotates`: it renames registers.
    """

    distance: int | None = None
    certain: bool = True
    links: bool = False
    rotates: bool = False


@dataclass(frozen=True, slots=True)
class Transfer:
    """An instruction as the proof sees it.

    `guard` is its qualifying predicate, None when it always executes.  Two instructions of one
    `function` give the same for the same values of `reads`.  An access has its `size` in bytes,
    and its address is the first of `reads` with the `displacement` added; two that have a `period`
    also meet where their addresses differ by a multiple of it.  `is_test`: parts 0 and 1 are
    predicates that are never both true.  `is_placed`: it depends on where it stands.  `is_early`:
    the rest of the group sees its results.  `renamed` registers get new values of which nothing is
    known but that each depends on its old one alone.  `wrong` says why the processor refuses the
    instruction anywhere, `is_ruled` that it may not stand at every place.  `uses` and `defs` are
    masks of what matters within a group.  A prefetch that cannot fault `asks` for the line at the
    address in a register.
    """

    name: str
    uses: int
    defs: int
    function: Hashable = ()
    guard: int | None = None
    reads: tuple[int, ...] = ()
    results: tuple[Result, ...] = ()
    sums: tuple[Sum, ...] = ()
    order: Order = Order.FREE
    size: int = 0
    exit: Exit | None = None
    is_test: bool = False
    is_placed: bool = False
    is_early: bool = False
    renamed: tuple[int, ...] = ()
    wrong: str = ""
    is_ruled: bool = False
    asks: int | None = None
    displacement: int = 0
    period: int = 0


@dataclass(frozen=True, slots=True)
class Effect:
    """What an instruction reads and sets as masks, and how control may leave at it.

    Of the registers that it `sets` nothing is left.  `is_certain`: it is taken whenever control
    comes there.  `reads_all`: everything may be read there.
    """

    reads: int
    sets: int
    exit: Exit | None
    is_certain: bool
    reads_all: bool


def effect_of(transfer: Transfer) -> Effect:
    """The effect of an instruction, from all that the proof knows of it."""
    leaves, guard = transfer.exit, transfer.guard
    reads = register_mask({*transfer.reads, *(a for t in transfer.sums for a in t.addends)})
    if guard is not None:
        reads |= 1 << guard
    return Effect(
        reads | transfer.uses,
        register_mask(set(_set(transfer))),
        leaves,
        leaves is not None and leaves.certain and guard is None,
        transfer.order is Order.SEEN,
    )


def _set(transfer: Transfer) -> Iterator[int]:
    """The registers of which nothing is left."""
    for result in transfer.results:
        if result.how is How.ALWAYS or (result.how is How.SET and transfer.guard is None):
            yield result.register
    if transfer.guard is None:
        yield from (total.register for total in transfer.sums)


class Clash(Protocol):
    """Two instructions of a group that must not share it, unless never both execute.

    `first` and `second` are their positions, `certain` says that their predicates do not tell
    them apart.  It is `exact` if the architecture forbids the two for sure: only then does code in
    which they share a group show that never both execute.
    """

    @property
    def first(self) -> int: ...
    @property
    def second(self) -> int: ...
    @property
    def hazard(self) -> Enum: ...
    @property
    def register(self) -> int: ...
    @property
    def certain(self) -> bool: ...
    @property
    def exact(self) -> bool: ...


class Provable(Protocol):
    """A target whose code is in instruction groups.

    `width` is that of registers and addresses, in bits; `constants` are registers that cannot
    change.  Masks: `observed` are registers that are read behind any code, as those of the
    system; `framed` those of which, in the order of their numbers, only as many exist as the
    frame has, which an early instruction may change.
    """

    @property
    def register_names(self) -> Sequence[str]: ...
    @property
    def width(self) -> int: ...
    @property
    def constants(self) -> Mapping[int, int]: ...
    @property
    def observed(self) -> int: ...
    @property
    def framed(self) -> int: ...

    def transfer(self, insn: Insn) -> Transfer:
        """The instruction as the proof sees it."""

    def effect(self, insn: Insn) -> Effect:
        """What `effect_of` says of its transfer."""

    def alike(self, insn: Insn) -> Hashable:
        """The same for instructions that read, set and leave alike, whatever else they do."""

    def forwarded(self, earlier: Insn, later: Insn) -> int:
        """Mask of what `later` sees as `earlier` in its group has written it."""

    def clashes(self, group: Sequence[Insn]) -> Iterable[Clash]:
        """The pairs that must not share the group."""

    def misplaced(self, group: Sequence[Slot]) -> Iterable[tuple[int, str]]:
        """The numbers of a group's slots that must not stand where they do, and why."""

    def misshapen(self, slots: Sequence[Slot]) -> Iterable[tuple[Slot, str]]:
        """Slots that the machine cannot encode together, and why."""

    def base(self, address: int) -> int:
        """The address that distances count from, for an instruction in the slot at `address`."""

    def following(self, address: int) -> int:
        """The code address behind the slot at `address`."""
