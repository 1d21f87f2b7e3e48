"""Which calls never come back, as far as the text shows it, and what comes back for another.

A function that has no way from its entry to a return, to another function, or to where nobody
knows runs on for ever, or until the system ends it: `abort`, `__stack_chk_fail`.  It may throw all
the same: control then goes on at the landing pad of the call, if that has one.

A function may also run into the one behind it, which then returns for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.edges import CALL, INSIDE, RETURN, WITHIN, Edges
from rewriter.analysis.flow import Graph, between
from rewriter.core.code.listing import FLOW_CODE, FLOWS, among
from rewriter.core.isa.flow import CALLS, COMING_BACK, FALLING, To, leading
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.protocol import Sequential

_LEAVING = frozenset((To.CALLER, To.REGISTER, To.NOWHERE))
"""Where a flow that is no call leads if control may be with the caller after it."""

_CALLING = frozenset(flow for flow in CALLS if not flow.conditional)
"""Calls behind which control goes on only if the callee comes back."""


class Returning:
    """Answers for a graph; what is not known comes back."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.flows = graph, graph.listing.flows
        self._order, self._sources = graph.outgoing
        self._known: dict[int, bool] = {}

    @property
    def stopping(self) -> NDArray[np.bool_]:
        """By node, what `stops` says of each block."""
        graph, beyond = self.graph, np.zeros(self.graph.nodes - len(self.graph.last), dtype=bool)
        calls = graph.kind == CALL
        comes_back = np.ones(graph.nodes, dtype=bool)
        for entry in np.unique(graph.target[calls]).tolist():
            comes_back[entry] = self._comes_back(entry)
        found = np.append(among(self.flows[graph.last - 1], _CALLING), beyond)
        found &= np.bincount(graph.source[calls], minlength=graph.nodes) > 0
        found[graph.source[calls & comes_back[graph.target]]] = False
        return found

    def unfollowed(self, stopping: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """By edge, whether it leads from one of the blocks that are `stopping` to what only stands
        behind it.  A landing pad may stand there, too, to which another edge leads."""
        graph = self.graph
        behind = stopping[graph.source] & (graph.kind == WITHIN)
        behind &= graph.target == graph.source + 1
        _, first = np.unique(graph.source[behind], return_index=True)
        found = np.zeros(len(behind), dtype=bool)
        found[np.flatnonzero(behind)[first]] = True
        return found

    def stops(self, block: int) -> bool:
        """Whether control does not go on behind the call that ends a block."""
        code = int(self.flows[self.graph.last[block] - 1])
        if code < 0 or FLOWS[code] not in _CALLING:
            return False
        callees = [to for kind, to in self._edges(block) if kind == CALL]
        return bool(callees) and not any(map(self._comes_back, callees))

    def passing(self, blocks: Edges, filling: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Of blocks, whether control comes there and goes on behind, as far as neighbours show.

        Nops behind what never comes back are as long as alignment asks for: to blocks of which
        `filling` says that they are no more nothing else leads, to others a jump that is not
        understood may.
        """
        graph = self.graph
        known, beside = graph.kind != RETURN, graph.source == graph.target - 1
        led, reached = (np.zeros(graph.nodes, dtype=bool) for _ in range(2))
        led[graph.target[known & ~beside]] = True
        reached[graph.target[known & beside]] = True
        comes = led[blocks] | graph.named[blocks] | ~filling
        for at in np.flatnonzero(~comes & reached[blocks]).tolist():
            comes[at] = not self.stops(int(blocks[at]) - 1)
        for at in np.flatnonzero(comes).tolist():
            comes[at] = not self.stops(int(blocks[at]))
        return comes

    def _comes_back(self, entry: int) -> bool:
        """The same of the function that a block is an entry of, asked once."""
        if entry not in self._known:
            self._known[entry] = True  # what calls itself on the way
            self._known[entry] = self._leads_back(entry)
        return self._known[entry]

    def _leads_back(self, entry: int) -> bool:
        owner = self.graph.function_of
        if self._has_return[owner[entry]]:
            return True
        queue, seen = [entry], {entry}
        while queue:
            block = queue.pop()
            if owner[block] != owner[entry] or self._leaves(block):
                return True
            found = set(self._followed(block)) - seen
            seen |= found
            queue += found
        return False

    def _followed(self, block: int) -> list[int]:
        """Where control goes on from a block; from a call that never comes back, if it throws."""
        found = [to for kind, to in self._edges(block) if kind in INSIDE]
        if block + 1 in found and self.stops(block):
            found.remove(block + 1)  # once: a landing pad there is led to twice
        return found

    @cached_property
    def _has_return(self) -> NDArray[np.bool_]:
        """By function, whether it has an instruction that returns: nearly all do.  The last is
        what is in no function, of which nobody knows."""
        graph = self.graph
        returns = among(self.flows[graph.last - 1], leading(To.CALLER))
        found = np.zeros(len(graph.functions) + 1, dtype=bool)
        found[-1] = True
        found[graph.function_of[returns]] = True
        return found

    def _leaves(self, block: int) -> bool:
        """Whether control may be with the caller behind a block, or where nobody knows."""
        code = int(self.flows[self.graph.last[block] - 1])
        if code < 0 or (FLOWS[code].to in _LEAVING and FLOWS[code] not in CALLS):
            return True
        return FLOWS[code] not in CALLS and bool(self.graph.outside[block].any())

    def _edges(self, block: int) -> Iterator[tuple[int, int]]:
        """The kinds of the edges from a block, and where they go."""
        first, last = between(self._sources, range(block, block + 1))
        for edge in self._order[first:last].tolist():
            yield int(self.graph.kind[edge]), int(self.graph.target[edge])


def trapping(graph: Graph, always_traps: Callable[[Insn], bool]) -> Edges:
    """The blocks that end in a trap written where control must not come, as `always_traps` says."""
    listing, last = graph.listing, graph.last - 1
    traps = np.flatnonzero(listing.flows[last] == FLOW_CODE[Flow.TRAP])
    never = listing.are(last[traps], lambda insn: insn is not None and always_traps(insn))
    found: Edges = traps[never]
    return found


def returned_through(
    graph: Graph, everything: int, target: Sequential, unresolved: Iterable[int]
) -> Graph:
    """The graph with edges from the returns of functions that others run into to where those were
    called from; every register may carry a value along them.

    `unresolved` are the jumps of which nobody knows where in their function they lead.
    """
    owner, (blocks, to) = graph.function_of, _running_on(graph, target, unresolved)
    pairs = np.unique(np.stack((owner[to], owner[blocks])), axis=1) + len(graph.last)
    source, callers = pairs
    return graph.with_edges(source, callers, np.full(len(source), RETURN), everything)


def _running_on(graph: Graph, target: Sequential, unresolved: Iterable[int]) -> tuple[Edges, Edges]:
    """The blocks from which a function runs into another, and the blocks of that, also over what
    stands between them."""
    owner, flows = graph.function_of, graph.listing.flows[graph.last - 1]
    goes_on = among(flows, FALLING | COMING_BACK)
    goes_on[trapping(graph, target.always_traps)] = False
    owned = np.flatnonzero(owner >= 0)
    blocks, to = owned[:-1], owned[1:]
    stops = np.append(0, np.cumsum(~goes_on))
    crossing = (owner[blocks] != owner[to]) & (stops[blocks] == stops[to])
    blocks, to = blocks[crossing], to[crossing]
    jumping = {int(owner[graph.block_holding(jump)]) for jump in unresolved}
    filling = _idle(graph, target, blocks) & ~np.isin(owner[blocks], sorted(jumping))
    comes = Returning(graph).passing(blocks, filling)
    return blocks[comes], to[comes]


def _idle(graph: Graph, target: Sequential, blocks: Edges) -> NDArray[np.bool_]:
    """Of blocks, whether nothing but nops is in each, or data."""
    listing, first, sizes = graph.listing, graph.first[blocks], (graph.last - graph.first)[blocks]
    begins = np.cumsum(sizes) - sizes
    positions = np.arange(sizes.sum()) + np.repeat(first - begins, sizes)
    nop = listing.are(positions, lambda insn: insn is None or target.is_nop(insn))
    busy = ~nop & (listing.rows[positions] >= 0)
    found: NDArray[np.bool_] = ~np.logical_or.reduceat(busy, begins) if len(blocks) else busy
    return found
