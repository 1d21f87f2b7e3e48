"""Which addresses in text a function really makes, of those that its instructions could add up to.

A target pairs every instruction that makes the high part of an address with every one that adds a
low part to the same register: more than there are, which costs nothing but block boundaries, and
boundaries keep functions in place.  A pair counts only if the high part reaches the low one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from rewriter.analysis.flow import Graph
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.core.target.protocol import Pair, References, Sequential

Pairs = Sequence[tuple[Function, Pair]]
"""Two instructions that may add up to a label inside a function."""


def paired(
    listing: Listing, functions: Sequence[Function], target: Sequential, references: References
) -> Pairs:
    """All pairs of a text that may make one of its labels."""
    inside = frozenset(_inside(functions, references.labels))
    return tuple(target.pairs(listing, functions, references.shared, inside)) if inside else ()


def made(graph: Graph, pairs: Pairs, references: References) -> References:
    """The references without labels that no pair makes, by a graph in which all of them count."""
    paths: dict[Function, _Paths] = {}
    found: set[int] = set()
    for function, pair in pairs:
        if pair.label not in found:
            if function not in paths:
                paths[function] = _Paths(graph, function)
            if paths[function].carry(pair.high, pair.register, pair.low):
                found.add(pair.label)
    unmade = set(_inside(graph.functions, references.labels)) - found
    return replace(references, labels=references.labels - unmade)


def _inside(functions: Sequence[Function], labels: Iterable[int]) -> Iterator[int]:
    """Those that are in a function but not its start."""
    starts = [function.start for function in functions]
    for label in labels:
        at = bisect_left(starts, label) - 1
        if at >= 0 and label in functions[at]:
            yield label


class _Paths:
    """The ways through a function."""

    def __init__(self, graph: Graph, function: Function) -> None:
        self.graph, self.blocks = graph, graph.blocks_of(function)
        self.following = graph.within(self.blocks)

    def carry(self, start: int, register: int, end: int) -> bool:
        """Whether what position `start` puts in a register may be there at position `end`."""
        if start == end:  # one instruction makes all of it
            return True
        graph, seen = self.graph, set[int]()
        first = int(np.searchsorted(graph.first, start, side="right")) - 1
        queue = [(first, start + 1)]
        while queue:
            block, at = queue.pop()
            if self._passes(at, int(graph.last[block]), register, end):
                following = [b for b in self.following.get(block, ()) if b not in seen]
                seen.update(following)
                queue += [(b, int(graph.first[b])) for b in following]
            elif at <= end < int(graph.last[block]) and self._passes(at, end, register, -1):
                return True
        return False

    def _passes(self, at: int, last: int, register: int, end: int) -> bool:
        """Whether positions from `at` to `last` leave the register alone and `end` is not there."""
        defs = self.graph.listing.defs[at:last, register // 64]
        return not at <= end < last and not np.any(defs >> np.uint64(register % 64) & np.uint64(1))
