"""Which addresses in text a function really makes, of those that its instructions could add up to.

A target pairs every instruction that makes the high part of an address with every one that adds a
low part to the same register: more than there are, which costs nothing but block boundaries, and
boundaries keep functions in place.  A pair counts only if the high part reaches the low one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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
    highs: dict[tuple[Function, int, int], list[tuple[int, int]]] = {}
    for function, pair in pairs:
        highs.setdefault((function, pair.high, pair.register), []).append((pair.low, pair.label))
    paths: _Paths | None = None
    found: set[int] = set()
    for (function, high, register), sums in sorted(highs.items()):
        wanted = [(low, label) for low, label in sums if label not in found]
        if wanted:
            if paths is None or paths.function != function:
                paths = _Paths(graph, function)
            reached = set(paths.carried(high, register, sorted({low for low, _ in wanted})))
            found.update(label for low, label in wanted if low in reached)
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
        self.graph, self.function = graph, function
        self.following = graph.within(graph.blocks_of(function))

    def carried(self, start: int, register: int, ends: Sequence[int]) -> Iterator[int]:
        """At which of some positions, ascending, there may be what position `start` puts in a
        register."""
        if start in ends:  # one instruction makes all of it
            yield start
        graph, seen = self.graph, set[int]()
        first = int(np.searchsorted(graph.first, start, side="right")) - 1
        queue = [(first, start + 1)]
        while queue:
            block, at = queue.pop()
            last = int(graph.last[block])
            written = self._written(at, last, register)
            yield from ends[bisect_left(ends, at) : bisect_right(ends, min(written, last - 1))]
            if written == last:
                following = [b for b in self.following.get(block, ()) if b not in seen]
                seen.update(following)
                queue += [(b, int(graph.first[b])) for b in following]

    def _written(self, at: int, last: int, register: int) -> int:
        """The first position from `at` on that writes a register, `last` where none before does."""
        defs = self.graph.listing.defs[at:last, register // 64]
        hits = np.flatnonzero(defs >> np.uint64(register % 64) & np.uint64(1))
        return at + int(hits[0]) if len(hits) else last
