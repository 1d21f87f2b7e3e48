"""Straight code with exits on the way, entered at the top only: Hwu's superblock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Insn

Exits = Mapping[int, int]
"""By address of a slot the mask of the registers that may be read where control leaves there."""

NO_EXITS: Exits = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Superblock:
    """Straight code, entered at the first slot, left at the end and behind the slots of `exits`.

    Registers of the mask `live` may be read behind the end.  Where instructions come in bundles
    they are whole ones; elsewhere no slot has a stop.  Slots of `fixed`, by address, stay in
    their place in their bundle.  `joined` says that a group is open where control comes from the
    code before.  Nothing passes a branch that is not among the exits, nor the addresses in `cuts`.
    """

    slots: tuple[Slot, ...]
    live: int = -1
    fixed: frozenset[int] = field(default_factory=frozenset)
    joined: bool = False
    exits: Exits = field(default_factory=dict)
    cuts: tuple[int, ...] = ()

    @property
    def address(self) -> int:
        """Where control enters."""
        return self.slots[0].address

    @property
    def end(self) -> int:
        """The address after the last slot, where instructions come without bundles."""
        return self.slots[-1].address + self.slots[-1].insn.size

    @property
    def insns(self) -> tuple[Insn, ...]:
        """The instruction of each slot."""
        return tuple(slot.insn for slot in self.slots)

    @property
    def leaving(self) -> tuple[tuple[int, int], ...]:
        """(slot, mask) for all exits and then the end: what may be read where control leaves."""
        found = [
            (number, self.exits[slot.address])
            for number, slot in enumerate(self.slots[:-1])
            if slot.address in self.exits
        ]
        return (*found, (len(self.slots) - 1, self.live))

    def addresses(self) -> list[int]:
        """The address of each slot."""
        return [slot.address for slot in self.slots]


def straight(address: int, insns: Iterable[Insn], leaving: Sequence[tuple[int, int]]) -> Superblock:
    """Instructions, one behind the other from an address on, as a superblock.

    `leaving` are all exits and then the end: the number of a slot, and what may be read where
    control leaves behind it.
    """
    slots = []
    for insn in insns:
        slots.append(Slot(address, insn, False))
        address += insn.size
    *inner, (_, live) = leaving
    exits = {slots[number].address: mask for number, mask in inner}
    return Superblock(tuple(slots), live, exits=exits)
