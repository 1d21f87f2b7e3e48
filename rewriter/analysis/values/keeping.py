"""Which registers a call may come back with changed, though the calling standard has callees keep
them.

A callee that writes such a register stores it in its frame before.  Functions of hand-written code
that only their neighbours call need not, nor do those of compilers with a standard of their own:
OCaml's keep none.  Nothing that was known of such a register before the call is known behind it.

A function changes a register where some way from its entry, through what it calls, writes it before
it stores all of it in the stack.  That is liveness upside down: a write is what a read is there,
and such a store what a write is.  What it jumps to with its frame released finds the registers of
its caller restored, and changes those, whatever was stored before.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.edges import CALL, RETURN, WITHIN
from rewriter.analysis.flow import Graph
from rewriter.analysis.liveness import Incoming, summary
from rewriter.analysis.relations import LinearEffects
from rewriter.analysis.returning import Returning, trapping
from rewriter.analysis.values.heights import Heights
from rewriter.core.isa.interned import Interned, interned
from rewriter.core.isa.registers import Masks, in_columns
from rewriter.core.target.protocol import Sequential

_GENERAL = 0
"""The column of registers in which the general ones are."""


def spoiled(graph: Graph, target: Sequential) -> Masks:
    """By block, a mask of those of the general registers that callees save, by the standard, but
    that what its call enters may change.  What is not seen keeps to the standard, and so does what
    only a computed jump leads to that is not understood."""
    writes, stores = _events(graph, target)
    written, stored = summary(graph, writes, stores, _GENERAL)
    unfollowed = _unfollowed(graph, target)
    passed = np.full(len(graph.kind), np.iinfo(np.uint64).max)
    incoming = Incoming.of(graph, (graph.kind != RETURN) & ~unfollowed)
    # An access that faults is the last of its block: what is stored before it is stored.
    incoming = replace(incoming, early=np.zeros_like(incoming.early))
    tails = _Tails(graph, target, unfollowed)
    in_tail = nothing = np.zeros(graph.nodes, dtype=np.uint64)
    while True:
        changed = incoming.spread(passed, written | in_tail, stored, nothing.copy())
        found = tails.changed(changed)
        if not (found & ~changed).any():
            break
        in_tail = in_tail | found
    calls = graph.kind == CALL
    by_calls = np.zeros(graph.nodes, dtype=np.uint64)
    np.bitwise_or.at(by_calls, graph.source[calls], changed[graph.target[calls]])
    return by_calls


class _Tails:
    """Jumps out of functions that are no calls, less the edges that are `unfollowed`."""

    def __init__(self, graph: Graph, target: Sequential, unfollowed: NDArray[np.bool_]) -> None:
        self.graph, self.heights = graph, Heights(graph, LinearEffects(target))
        self.owner = _owners(graph)
        source, led_to = self.owner[graph.source], self.owner[graph.target]
        tails = (graph.kind == WITHIN) & (source >= 0) & (source != led_to) & ~unfollowed
        entries = np.unique(graph.target[tails | (graph.kind == CALL)])
        self.edges, self.entries = np.flatnonzero(tails), entries[self.owner[entries] >= 0]

    def changed(self, known: Masks) -> Masks:
        """By node, where it is an entry: what is changed in tail of its function, with no frame;
        `known` is what is changed from each node on, as far as it was found."""
        graph, of_entries = self.graph, self.owner[self.entries]
        everywhere = np.full(len(graph.functions), np.iinfo(np.uint64).max)
        np.bitwise_and.at(everywhere, of_entries, known[self.entries])
        more = known[graph.target[self.edges]] & ~everywhere[self.owner[graph.source[self.edges]]]
        in_tail = np.zeros(len(graph.functions), dtype=np.uint64)
        for edge in self.edges[more != 0].tolist():
            source = int(graph.source[edge])
            if self._has_no_frame(source):
                in_tail[self.owner[source]] |= known[graph.target[edge]]
        found = np.zeros(graph.nodes, dtype=np.uint64)
        found[self.entries] = in_tail[of_entries]
        return found

    def _has_no_frame(self, block: int) -> bool:
        """Whether the stack pointer may be at the end of a block where it was at the entry."""
        graph = self.graph
        jump = int(graph.listing.addresses[graph.last[block] - 1])
        height = self.heights.at(graph.functions[self.owner[block]], jump)
        return height is None or height == 0


def _owners(graph: Graph) -> NDArray[np.int64]:
    """By node, the function that it is in; -1 for none."""
    return np.append(graph.function_of, np.full(graph.nodes - len(graph.last), -1))


def _unfollowed(graph: Graph, target: Sequential) -> NDArray[np.bool_]:
    """The edges to what only stands behind an instruction: a call that never comes back, or a trap
    where control must not come, after which BUG's does not come back either.  What such a call
    throws goes on at its landing pad."""
    returning = Returning(graph)
    stopping = returning.stopping
    stopping[trapping(graph, target.always_traps)] = True
    return returning.unfollowed(stopping)


def _events(graph: Graph, target: Sequential) -> tuple[Interned, Interned]:
    """By instruction, which of the registers that callees save it writes, and which it stores whole
    in the stack."""
    listing = graph.listing
    mask = in_columns([target.saved], listing.uses.columns)
    storing = [bool(listing.table.effects(op).stores) for op in listing.table.rows]
    stores = np.flatnonzero(np.append(storing, (False, False))[listing.rows])
    words, which = np.unique(listing.words[stores], return_inverse=True)
    insns = map(listing.table.decode, words.tolist())
    saves = [0 if insn is None else target.saves(insn) & target.saved for insn in insns]
    saved = interned(in_columns(saves, listing.uses.columns)[which])
    return (
        replace(listing.defs, distinct=listing.defs.distinct & mask),
        Interned.empty(len(listing), listing.uses.columns).with_others(stores, saved),
    )
