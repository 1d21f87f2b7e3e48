"""Straight code of one file, cut where a walk cuts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rewriter.core.isa import Flow, Insn
from rewriter.core.listing import FLOW_CODE, Listing
from rewriter.core.program import Fixup
from rewriter.identify.flow import Graph

_NEXT, _BRANCH = FLOW_CODE[Flow.NEXT], FLOW_CODE[Flow.BRANCH]
_LONGEST = 4096  # instructions in a segment; a walk beyond that has lost its way


class Lost(Exception):
    """Code that cannot be followed."""


@dataclass(frozen=True)
class Segment:
    """Straight code from an address to a transfer of control or the function's end.

    `exits` are the slots after which control may leave, the last one included; `fixups` say where
    it goes before a slot whose access faults; `placeless` are the words as they stand in the
    file, without how far branches go, and empty where something was taken out.
    """

    insns: tuple[Insn, ...]
    addresses: tuple[int, ...]
    exits: tuple[int, ...]
    fixups: Mapping[int, Fixup] = field(default_factory=dict)
    placeless: bytes = b""

    @property
    def falls_out(self) -> bool:
        """Whether it ends at the end of the function, without a transfer of control."""
        return self.insns[-1].op.flow is Flow.NEXT

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
        decode = listing.table.decode
        insns = tuple(insn for word in listing.words[span].tolist() if (insn := decode(word)))
        fixups = {n: self.fixups[at] for n, at in enumerate(addresses) if at in self.fixups}
        return Segment(
            insns,
            tuple(addresses),
            tuple(at - first for at in exits),
            fixups,
            listing.placeless[span].tobytes(),
        )
