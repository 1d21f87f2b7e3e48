"""Which registers a call may come back with changed, though the calling standard has callees keep
them.

A callee that writes such a register stores it in its frame before.  Functions of hand-written code
that only their neighbours call need not, nor do those of compilers with a standard of their own:
OCaml's keep none.  Nothing that was known of such a register before the call is known behind it.

A function changes a register where some way from its entry, through what it calls, writes it before
it stores it in the stack.  That is liveness upside down: a write is what a read is there, and such
a store what a write is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.edges import CALL, RETURN, WITHIN
from rewriter.analysis.flow import Graph
from rewriter.analysis.liveness import Incoming, summary
from rewriter.core.code.listing import among
from rewriter.core.isa.instruction import CALLS, Flow
from rewriter.core.isa.interned import Interned
from rewriter.core.isa.registers import Masks, in_columns

_GENERAL = 0
"""The column of registers in which the general ones are."""


def spoiled(graph: Graph, saved: int, stack: int) -> Masks:
    """By block, a mask of those of the general registers `saved` that what its call enters may
    change; `stack` is the stack pointer.  What is not seen keeps to the standard."""
    writes, stores = _events(graph, saved, stack)
    written, stored = summary(graph, writes, stores, _GENERAL)
    inwards = (graph.kind != RETURN) & ~_other_code(graph)
    passed = np.full(len(graph.kind), np.iinfo(np.uint64).max)
    nothing = np.zeros(graph.nodes, dtype=np.uint64)
    incoming = Incoming.of(graph, inwards)
    # An access that faults is the last of its block: what is stored before it is stored.
    incoming = replace(incoming, early=np.zeros_like(incoming.early))
    changed = incoming.spread(passed, written, stored, nothing)
    calls = graph.kind == CALL
    found = np.zeros(graph.nodes, dtype=np.uint64)
    np.bitwise_or.at(found, graph.source[calls], changed[graph.target[calls]])
    return found


def _other_code(graph: Graph) -> NDArray[np.bool_]:
    """The edges to what only stands behind an instruction, mostly: a trap, after which BUG's does
    not come back, or a call at the end of a function."""
    beyond = np.zeros(graph.nodes - len(graph.last), dtype=bool)
    flows = graph.listing.flows[graph.last - 1]
    traps, calls = (
        np.append(among(flows, chosen), beyond)[graph.source] for chosen in ((Flow.TRAP,), CALLS)
    )
    owner = np.append(graph.function_of, np.full(len(beyond), -1))
    leaves = owner[graph.source] != owner[graph.target]
    return np.asarray(traps | (calls & leaves & (graph.kind == WITHIN)))


def _events(graph: Graph, saved: int, stack: int) -> tuple[Interned, Interned]:
    """By instruction, which of some registers it writes, and which it stores in the stack."""
    listing = graph.listing
    mask = in_columns([saved], listing.uses.columns)
    storing = [bool(listing.table.effects(op).stores) for op in listing.table.rows]
    at_stack = listing.uses.distinct[:, stack // 64] >> np.uint64(stack % 64) & np.uint64(1)
    stores = (
        np.append(storing, (False, False))[listing.rows] & at_stack.astype(bool)[listing.uses.which]
    )
    return (
        replace(listing.defs, distinct=listing.defs.distinct & mask),
        Interned(listing.uses.distinct & mask, np.where(stores, listing.uses.which, 0)),
    )
