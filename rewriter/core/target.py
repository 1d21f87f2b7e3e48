"""What the floors above ask of a target.  Whatever differs between architectures is here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from rewriter.core.cpu import Cpu
from rewriter.core.isa import Insn, Table
from rewriter.core.listing import Listing
from rewriter.core.program import Function, JumpTable


class Memory(Protocol):
    """What a target asks of an image."""

    def read(self, address: int, size: int) -> bytes:
        """Bytes as loaded, before relocation."""
        ...

    def is_mapped(self, address: int) -> bool:
        """Whether anything is loaded there."""
        ...

    def executable_ranges(self) -> Sequence[tuple[int, int]]:
        """The [start, end) of each range of text."""
        ...

    def words(self, start: int, end: int, size: int) -> NDArray[Any]:
        """A range as words of `size` bytes."""
        ...


class CannotMove(Exception):
    """Why a function's code must stay where it is."""


@dataclass(frozen=True)
class References:
    """What in text points into text.

    `labels` are addresses that instructions make; `callees` maps the address of a computed call
    to its function; `unresolved` are the addresses of computed jumps that are not understood.
    """

    tables: tuple[JumpTable, ...]
    labels: frozenset[int]
    callees: Mapping[int, int]
    unresolved: frozenset[int]
    context: Mapping[str, int]


class Target(Protocol):
    """One architecture."""

    name: str
    machines: frozenset[int]
    table: Table
    cpus: Mapping[str, Cpu]
    everything: int
    returned: int
    saved: int
    granule: int
    spelling: Any
    link: int

    def encode(self, insn: Insn) -> bytes:
        """The bytes of an instruction in memory."""
        ...

    def listing(self, image: Memory) -> Listing:
        """Decodes all text."""
        ...

    def entries(self, listing: Listing, function: Function) -> tuple[int, ...]:
        """The addresses at which callers may enter, beside the start."""
        ...

    def references(
        self,
        image: Memory,
        listing: Listing,
        functions: Sequence[Function],
        slots: Mapping[int, int],
    ) -> References:
        """What in text points into text."""
        ...

    def relocated(self, r_type: int, addend: int, symbol: int | None) -> int | None:
        """What a dynamic relocation makes of its word; None if no address of this image."""
        ...

    def live_after(self, insn: Insn) -> int:
        """Registers that unseen code may read after a control transfer."""
        ...

    def passed(self, insn: Insn) -> int:
        """Registers that a call may give a value to its callee in."""
        ...

    def standard_return(self, insn: Insn) -> bool:
        """Whether a return goes back through the standard link register."""
        ...

    def linear(self, insn: Insn) -> tuple[int, int, int] | None:
        """(result, source, distance) of an instruction that adds a constant to a register."""
        ...

    def touches_frame(self, insn: Insn) -> bool:
        """Whether an instruction may be what an unwind row changes for."""
        ...

    def is_sibling_call(self, insn: Insn) -> bool:
        """Whether a computed jump is a standard call in tail position."""
        ...

    def moved(
        self,
        items: Sequence[tuple[int, Insn]],
        function: Function,
        context: Mapping[str, int],
        place: Callable[[int], int],
    ) -> list[Insn]:
        """Instructions, given with their old addresses, as they must be at new ones.

        `place` gives an old address' new one; raises CannotMove.
        """
        ...

    def fillers(self, size: int) -> Iterable[Insn]:
        """Instructions that do nothing, `size` bytes in all."""
        ...

    def is_filler(self, insn: Insn) -> bool:
        """Whether an instruction does nothing at all."""
        ...
