"""Which registers anything may read, at every block: one fixed point over the whole text.

Masks are OR-ed along edges, so a register is dead only where every path, through returns to every
caller that we see and out to every reader that we do not, writes it before reading it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.identify.flow import CALL, FAULT, RETURN, Edges, Graph

Masks = NDArray[np.uint64]


@dataclass(frozen=True)
class Liveness:
    """Live register masks per block, with 64-bit columns."""

    live_in: Masks
    live_out: Masks

    def into(self, block: int) -> int:
        """Registers that may be read from the block's start on."""
        return _joined(self.live_in[block])

    def out_of(self, block: int) -> int:
        """Registers that may be read after the block."""
        return _joined(self.live_out[block])


def _joined(columns: NDArray[np.uint64]) -> int:
    return sum(int(column) << 64 * i for i, column in enumerate(columns))


def solve(graph: Graph) -> Liveness:
    """The least fixed point, in two steps so that callers do not mix.

    First what a callee itself may read, with nothing read after its return; then what is read
    after each point, where a call counts for what its callee may read.

    Calls and returns through the standard linkage pass only what the calling standard names,
    beside what the first block that they reach plainly reads (hand-written code does): compilers
    leave paths that read an unset register but are never taken, and one such path would keep
    scratch registers live everywhere.  A caller that keeps a value in a scratch register across
    a call (gcc -fipa-ra) does so only if nothing in the callee writes it, and a rewrite writes
    no register that the code it replaces did not write.
    """
    read, written = summaries(graph)
    crossing = np.isin(graph.kind, (CALL, RETURN))
    passed = graph.passed.copy()
    passed[crossing] |= read[graph.target[crossing]]
    faults = _Faults.of(graph, written)
    own = (graph.kind != RETURN) & (graph.kind != FAULT)
    callee, _ = _fixed_point(graph, own, passed, read, written, graph.outside, faults)
    outside = graph.outside | graph.returned
    calls = graph.kind == CALL
    entered = callee[graph.target[calls]] & passed[calls]
    np.bitwise_or.at(outside, graph.source[calls], entered)
    chosen = ~calls & (graph.kind != FAULT)
    return Liveness(*_fixed_point(graph, chosen, passed, read, written, outside, faults))


@dataclass(frozen=True)
class _Faults:
    """The edges of accesses that fault; `before` is what the block writes before the access."""

    source: Edges
    target: Edges
    passed: Masks
    before: Masks

    @classmethod
    def of(cls, graph: Graph, written: Masks) -> _Faults:
        chosen = np.flatnonzero(graph.kind == FAULT)
        source = graph.source[chosen]
        before = written[source]
        for n, block in enumerate(source.tolist()):
            first, last = int(graph.first[block]), int(graph.last[block])
            before[n] = np.bitwise_or.reduce(graph.listing.defs[first : last - 1], axis=0)
        return cls(source, graph.target[chosen], graph.passed[chosen], before)

    def into(self, live_in: Masks) -> Masks:
        """What must be live into the blocks of `source` because their access may fault."""
        return np.asarray(live_in[self.target] & self.passed & ~self.before)


def _fixed_point(
    graph: Graph,
    chosen: NDArray[np.bool_],
    passed: Masks,
    read: Masks,
    written: Masks,
    outside: Masks,
    faults: _Faults,
) -> tuple[Masks, Masks]:
    order = np.flatnonzero(chosen)[np.argsort(graph.source[chosen], kind="stable")]
    source, target, passed = graph.source[order], graph.target[order], passed[order]
    nodes, starts = np.unique(source, return_index=True)
    live_in = read | (outside & ~written)
    live_out = outside.copy()
    while True:
        live_out[nodes] |= np.bitwise_or.reduceat(live_in[target] & passed, starts, axis=0)
        after = read | (live_out & ~written)
        np.bitwise_or.at(after, faults.source, faults.into(live_in))
        if np.array_equal(after, live_in):
            return live_in, live_out
        live_in = after


def summaries(graph: Graph) -> tuple[Masks, Masks]:
    """Per node: registers read before any write in it, and registers written."""
    uses, defs = graph.listing.uses, graph.listing.defs
    read = np.zeros((graph.nodes, uses.shape[1]), dtype=np.uint64)
    written = np.zeros_like(read)
    length = graph.last - graph.first
    longest_first = np.argsort(-length, kind="stable")
    sorted_length = -length[longest_first]
    for step in range(int(length.max(initial=0))):
        # Every block that is long enough takes its next instruction, in one operation.
        blocks = longest_first[: int(np.searchsorted(sorted_length, -step, side="left"))]
        at = graph.first[blocks] + step
        read[blocks] |= uses[at] & ~written[blocks]
        written[blocks] |= defs[at]
    return read, written
