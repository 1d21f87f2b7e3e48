"""Functions, blocks and the places in text that something else relies on."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewriter.core.isa import Insn


@dataclass(frozen=True, slots=True, order=True)
class Function:
    """A named range of text, [start, end) in addresses; `source` says who said so."""

    start: int
    end: int
    name: str
    source: str

    def __contains__(self, address: int) -> bool:
        return self.start <= address < self.end


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
class Block:
    """Straight code: control enters at `address` only and leaves after the last instruction.

    `live_out` is the mask of registers that anything may read after it.
    """

    address: int
    insns: tuple[Insn, ...]
    live_out: int

    @property
    def end(self) -> int:
        """The address after the block."""
        return self.address + sum(insn.size for insn in self.insns)


@dataclass(frozen=True, slots=True)
class Window:
    """Straight code with side exits: control enters at `address` only.

    `exits` are (slot, mask): after that slot control may leave, to where the registers of the
    mask may be read; the last slot is always the last exit.
    """

    address: int
    insns: tuple[Insn, ...]
    exits: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Pin:
    """An address in text that something outside relies on, and why."""

    address: int
    reason: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A function that is left alone, and why."""

    function: Function
    reason: str


@dataclass(frozen=True)
class Routine:
    """A function whose every control transfer is understood, as blocks in address order."""

    function: Function
    blocks: tuple[Block, ...]
    pins: tuple[Pin, ...] = ()
    tables: tuple[JumpTable, ...] = ()
    moves_refused: str = ""
    successors: dict[int, tuple[int, ...]] = field(default_factory=dict)
