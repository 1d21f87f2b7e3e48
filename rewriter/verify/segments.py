"""Straight code of one file, cut where a walk cuts it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast, overload

import numpy as np

from rewriter.core.isa import Flow, Insn
from rewriter.core.listing import FLOW_CODE, Listing
from rewriter.core.program import Fixup
from rewriter.identify.flow import Graph

_NEXT, _BRANCH = FLOW_CODE[Flow.NEXT], FLOW_CODE[Flow.BRANCH]
_LONGEST = 4096  # instructions in a segment; a walk beyond that has lost its way


class Lost(Exception):
    """Code that cannot be followed."""


class Decoded(Sequence[Insn]):
    """The instructions of some words, each decoded when it is looked at: most never are."""

    def __init__(self, words: Sequence[int], decode: Callable[[int], Insn | None]) -> None:
        self.words, self.decode = words, decode

    def __len__(self) -> int:
        return len(self.words)

    @overload
    def __getitem__(self, slot: int) -> Insn: ...
    @overload
    def __getitem__(self, slot: slice) -> Decoded: ...
    def __getitem__(self, slot: int | slice) -> Insn | Decoded:
        if isinstance(slot, slice):
            return Decoded(self.words[slot], self.decode)
        insn = self.decode(self.words[slot])
        assert insn is not None
        return insn

    def __iter__(self) -> Iterator[Insn]:
        return cast(Iterator[Insn], map(self.decode, self.words))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decoded) and self.words == other.words

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Segment:
    """Straight code from an address to a transfer of control or the function's end.

    `exits` are the slots after which control may leave, the last one included; `fixups` say where
    it goes before a slot whose access faults; `placeless` are the words as they stand in the
    file, without how far branches go, and empty where something was taken out.
    """

    insns: Sequence[Insn]
    addresses: tuple[int, ...]
    exits: tuple[int, ...]
    fixups: Mapping[int, Fixup] = field(default_factory=dict)
    placeless: bytes = b""

    @property
    def falls_out(self) -> bool:
        """Whether it ends at the end of the function, without a transfer of control."""
        return self.insns[-1].op.flow is Flow.NEXT

    def same_words(self, other: Segment) -> bool:
        """Whether another has the same words but for how far branches go."""
        return bool(self.placeless) and self.placeless == other.placeless

    def without(self, gone: set[int]) -> Segment:
        """The segment with some slots taken out."""
        kept = [slot for slot in range(len(self.insns)) if slot not in gone]
        position = {slot: n for n, slot in enumerate(kept)}
        return Segment(
            tuple(self.insns[slot] for slot in kept),
            tuple(self.addresses[slot] for slot in kept),
            tuple(position[slot] for slot in self.exits),
            {position[slot]: fixup for slot, fixup in self.fixups.items()},
        )


@dataclass(frozen=True)
class Cutter:
    """Cuts segments from one listing; `last` is the position behind the function."""

    listing: Listing
    fixups: Mapping[int, Fixup]
    last: int

    def by_blocks(self, graph: Graph, start: int) -> Segment:
        """From a block's start through blocks that only it leads to, or that follow."""
        flows = self.listing.flows
        try:
            block = graph.block_at(start)
        except KeyError:
            raise Lost(f"no block starts at {start:#x}") from None
        first = end = int(graph.first[block])
        exits: list[int] = []
        while end - first < _LONGEST:
            end = int(graph.last[block])
            flow = flows[end - 1]
            if flow != _NEXT or end >= self.last:
                exits.append(end - 1)
            follows = flow == _NEXT or (flow == _BRANCH and bool(graph.continues[block + 1]))
            if end >= self.last or not follows:
                break
            block += 1
        if not exits or exits[-1] != end - 1:
            raise Lost(f"the code from {start:#x} has no end")
        return self._cut(first, exits)

    def by_transfers(self, start: int, count: int) -> Segment:
        """From an address to its n-th transfer of control, or the function's end."""
        if not self.listing.has(start):
            raise Lost(f"no instruction at {start:#x} in the new file")
        first = self.listing.index(start)
        end = self.last if first < self.last else len(self.listing)
        leaving = self.listing.transfers
        n = int(np.searchsorted(leaving, first))
        exits = [at for at in leaving[n : n + count].tolist() if at < end]
        if len(exits) < count and end - 1 not in exits:
            exits.append(end - 1)  # out of the function
        if len(exits) != count or exits[-1] - first >= _LONGEST:
            raise Lost(f"the new code from {start:#x} ends otherwise")
        return self._cut(first, exits)

    def _cut(self, first: int, exits: Sequence[int]) -> Segment:
        listing, span = self.listing, slice(first, exits[-1] + 1)
        addresses = listing.addresses[span].tolist()
        unknown = np.flatnonzero(listing.rows[span] < 0)
        if unknown.size:
            raise Lost(f"no instruction at {addresses[unknown[0]]:#x}")
        fixups = {n: self.fixups[at] for n, at in enumerate(addresses) if at in self.fixups}
        return Segment(
            Decoded(listing.words[span].tolist(), listing.table.decode),
            tuple(addresses),
            tuple(at - first for at in exits),
            fixups,
            listing.placeless[span].tobytes(),
        )
