"""The vocabulary of scheduling straight code in groups: facts, edges, parts and arrangements."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.core.code.groups import Slot


@dataclass(frozen=True, slots=True)
class Access:
    """A memory access of at most `size` bytes at the address in register `base`."""

    base: int
    size: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What a scheduler knows of one instruction; registers are numbers or masks.

    `gathers` are registers of `defs` in which it only ever sets bits, and those in which it only
    ever clears them: writers of one kind may change places.  `order` are its kinds, `among` the
    kinds of those that it keeps its place among; it `stores` where the addresses decide beside
    that.  `predicate` is the register that it executes under, 0 if always; `either` are predicates
    of which at most one is true afterwards.  `step` says that its first register becomes its
    second plus a number.  A bundle with a fixed instruction stays as it is.  What stands behind a
    `system` instruction in another group, and is not `free` of any order, does not come into its
    group.
    """

    uses: int
    defs: int
    gathers: tuple[int, int]
    order: int
    among: int
    predicate: int
    either: frozenset[int]
    access: Access | None
    stores: bool
    step: tuple[int, int, int] | None
    is_nop: bool
    is_fixed: bool
    is_system: bool
    is_free: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """One that an instruction stays behind: `apart` by a group's end, or in place only.

    `cycles` is from its issue to when the operands are there.
    """

    before: int
    apart: bool
    cycles: int


@dataclass(frozen=True, slots=True)
class Arranged:
    """Slots in their new places, from the address of the first bundle on.

    `origins` has for each the number of the slot that it was, -1 for a nop.
    """

    slots: tuple[Slot, ...]
    origins: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Part of a region, to be arranged: its instructions and for each what it depends on.

    Slots of `joins`, by number, may stand in a group that is open before it, those of `leaves`
    in one that stays open at its end.  `incumbent` is the part as it is, with its nops.  Of the
    values of `values` at most `most` may live at a time: the first slot that writes each, and the
    mask of all that write or read it.  Those of `pinned` live, too: -1 is before the part, and a
    value may live on behind it.
    """

    slots: tuple[Slot, ...]
    before: tuple[tuple[Edge, ...], ...]
    joins: frozenset[int]
    leaves: frozenset[int]
    incumbent: Arranged
    values: tuple[tuple[int, int], ...] = ()
    most: int = 0
    pinned: tuple[tuple[int, int, bool], ...] = ()
