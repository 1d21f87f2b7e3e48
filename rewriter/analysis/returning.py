"""Which calls never come back, as far as the text shows it.

A function that has no way from its entry to a return, to another function, or to where nobody
knows runs on for ever, or until the system ends it: `abort`, `__stack_chk_fail`.  It may throw all
the same: control then goes on at the landing pad of the call, if that has one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.edges import CALL, INSIDE, WITHIN
from rewriter.analysis.flow import Graph, between
from rewriter.core.code.listing import FLOWS, among
from rewriter.core.isa.flow import CALLS, To, leading

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

    def _comes_back(self, entry: int) -> bool:
        """The same of the function that a block is an entry of, asked once."""
        if entry not in self._known:
            self._known[entry] = True  # what calls itself on the way
            self._known[entry] = self._leads_back(entry)
        return self._known[entry]

    def _leads_back(self, entry: int) -> bool:
        if self._has_return(entry):
            return True
        queue, seen, owner = [entry], {entry}, self.graph.function_of
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

    def _has_return(self, entry: int) -> bool:
        """Whether a function has an instruction that returns: nearly all do."""
        function = self.graph.functions[self.graph.function_of[entry]]
        first, last = self.graph.listing.span(function.start, function.end)
        return bool(among(self.flows[first:last], leading(To.CALLER)).any())

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
