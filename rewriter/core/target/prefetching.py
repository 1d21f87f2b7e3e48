"""What a pass that asks for lines ahead needs of a machine whose text says what issues together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Insn


@dataclass(frozen=True, slots=True)
class Touched:
    """A load or store: `size` bytes at the address in `base`; `first` says whether a load of it
    looks at the first level of the caches."""

    base: int
    size: int
    stores: bool
    first: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A line to ask for: `distance` bytes from what `base` holds, by way of a `spare` register.

    `writes` says that nothing of it will be read, `first` that the first level will be looked at.
    """

    base: int
    distance: int
    spare: int
    writes: bool
    first: bool


class Prefetching(Protocol):
    """A target's hints, which never fault and change no register.

    `stack` is the stack's pointer, `counter` the register that counted branches count down; of
    the mask `spare` are registers that callers expect nothing of; a hint's address may be up to
    `reach` bytes from a register.
    """

    stack: int
    counter: int
    spare: int
    reach: int

    def touched(self, insn: Insn) -> Touched | None:
        """The memory that an instruction loads or stores; None if it does neither."""
        ...

    def hint_base(self, insn: Insn) -> int | None:
        """The register with the address that a hint asks for; None if it is none."""
        ...

    def counts(self, insn: Insn) -> int | None:
        """How many passes follow when the instruction sets the counter, if it says so."""
        ...

    def asking(self, asked: Sequence[Asked], end: int) -> tuple[Slot, ...]:
        """Whole bundles up to the address `end` that make the addresses and then ask."""
        ...

    def moved(self, slots: Sequence[Slot], distance: int) -> tuple[Slot, ...]:
        """Slots that many bytes further on, with the targets that they have here."""
        ...

    def may_be_device(self, address: int) -> bool:
        """Whether code at an address may see more than memory, as an operating system does."""
        ...
