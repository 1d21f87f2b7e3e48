"""Functions, blocks and the places in text that something else relies on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from rewriter.core.addresses import Sides, sides
from rewriter.core.run.portable import Portable

BEYOND = 1 << 80
"""Where addresses begin of what is added behind a function's last instruction, until it has some.

From BEYOND + BEHIND * a on those of an addition at the address a.
"""
BEHIND = 1 << 12


@dataclass(frozen=True, slots=True, order=True)
class Function(Portable):
    """A named range of text, [start, end) in addresses; `source` says who said so."""

    start: int
    end: int
    name: str
    source: str

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.end - self.start

    def __contains__(self, address: int) -> bool:
        return self.start <= address < self.end

    def gets(self, address: int) -> bool:
        """Whether an address is in it, or of what is added behind its last instruction."""
        return address in self or (address >= BEYOND and (address - BEYOND) // BEHIND in self)


def extents(functions: Iterable[Function]) -> Sides:
    """Where each of some functions starts, and where each ends."""
    return sides([(function.start, function.end) for function in functions])


@dataclass(frozen=True, slots=True)
class JumpTable:
    """A table of `size`-byte entries that a computed jump reads.

    An entry holds (target - `base`).  `exact` says that the number of entries is known from the
    bound check; otherwise `targets` is as far as entries stay plausible, and nothing may move.
    """

    jump: int
    address: int
    size: int
    base: int
    targets: tuple[int, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class TableRead:
    """What a computed jump takes its target from: an entry of a table, to which `base` is added.

    `address` is the table's, None where it is not known; the instruction at `use` reads the index
    in the low `bits` of register `index`.
    """

    address: int | None
    base: int
    index: int
    use: int
    bits: int


@dataclass(frozen=True, slots=True)
class Bound:
    """A branch that goes on at `inside` only with a register below `count`.

    The instruction at position `compare` looks at the register, that at `branch` goes by it.
    """

    compare: int
    register: int
    branch: int
    inside: int
    count: int


class Origin(Enum):
    """Where an instruction gets an address that a computed jump goes to."""

    SHARED = "a word of the table of shared addresses, such as a GOT"
    MEMORY = "a word of memory"
    HIGH = "the high part of an address of this file"
    SUM = "an address of this file: its high part in a register, and the low one"
    COPY = "another register"


@dataclass(frozen=True, slots=True)
class Pin:
    """An address in text that something outside relies on, and why."""

    address: int
    reason: str


@dataclass(frozen=True, slots=True)
class Fixup:
    """Where control goes on when the access at `access` faults: a kernel's exception table says so.

    The access has then done nothing, and the handler has put each value of `sets` in its register,
    in order.  `entry` is the address of the table's entry.
    """

    entry: int
    access: int
    resume: int
    sets: tuple[tuple[int, int], ...]

    @property
    def kept(self) -> int:
        """The mask of registers that the handler leaves alone."""
        mask = 0
        for register, _ in self.sets:
            mask |= 1 << register
        return ~mask


@dataclass(frozen=True, slots=True)
class Refusal:
    """A function that is left alone, and why."""

    function: Function
    reason: str
