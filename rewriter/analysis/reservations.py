"""Addresses between a load-locked and the store-conditional that it is for.

Nothing there may change: an access or a branch more in between can make the store fail for ever,
and a prefetch can make it succeed wrongly (21264 Hardware Reference Manual 2.6.4).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from rewriter.analysis.edges import CALL, INSIDE, RETURN, Edges
from rewriter.analysis.flow import Graph

LOCK, RELEASE = "lock", "conditional store"


def locked_addresses(graph: Graph) -> frozenset[int]:
    """Every address on some path from a load-locked to a store-conditional in one function."""
    listing = graph.listing
    locks = _positions(graph, LOCK)
    releases = set(_positions(graph, RELEASE))
    after, before = _neighbours(graph, {_block(graph, at) for at in (*locks, *releases)})
    forward = _reach(graph, locks, releases, after, step=+1)
    backward = _reach(graph, sorted(releases), set(locks), before, step=-1)
    return frozenset(int(listing.addresses[at]) for at in forward & backward)


def near_locks(graph: Graph, reach: int, fences: frozenset[str]) -> frozenset[int]:
    """Addresses that `reach` instructions or fewer lead to from a load-locked, or to one.

    Ways go through calls, and into and out of callees; a call counts for no instruction.  None
    goes through an event that is a fence: what is before it is done before what is behind.
    """
    stops = sorted(set[int]().union(*(_positions(graph, name) for name in fences)))
    found = (_near(_Ways(graph, forward), reach, stops) for forward in (True, False))
    return frozenset(int(graph.listing.addresses[at]) for near in found for at in near)


class _Ways:
    """Edges in one direction: within a function, over a call, into a callee, and out to callers."""

    def __init__(self, graph: Graph, forward: bool) -> None:
        self.graph, self.forward = graph, forward
        self.first, self.last = graph.first.data, graph.last.data
        within = np.isin(graph.kind, INSIDE)
        into, out = (CALL, RETURN) if forward else (RETURN, CALL)
        calls = graph.source[graph.kind == CALL]
        calls = np.unique(calls[calls + 1 < len(graph.first)])
        self.inside = self._edges(
            np.append(graph.source[within], calls), np.append(graph.target[within], calls + 1)
        )
        self.into = self._edges(graph.source[graph.kind == into], graph.target[graph.kind == into])
        self.out = self._edges(graph.source[graph.kind == out], graph.target[graph.kind == out])

    def _edges(self, source: Edges, target: Edges) -> tuple[memoryview, memoryview]:
        if not self.forward:
            source, target = target, source
        order = np.argsort(source, kind="stable")
        starts = np.searchsorted(source[order], np.arange(self.graph.nodes + 1))
        # One by one a view gives Python's integers sooner than an array, and keeps none of them.
        return starts.data, target[order].data

    def after(self, node: int, entered: bool) -> Iterator[tuple[int, bool]]:
        """What comes next; a way that has entered a callee does not leave it for its callers."""
        ways = [(self.inside, entered), (self.into, True)]
        for (starts, others), inner in ways if entered else [*ways, (self.out, False)]:
            for other in others[starts[node] : starts[node + 1]].tolist():
                yield other, inner

    def span(self, node: int, at: int | None) -> range:
        """A block's positions in the direction, from one on."""
        if node >= len(self.first):
            return range(0)
        first, last = self.first[node], self.last[node]
        if self.forward:
            return range(first if at is None else at, last)
        return range(last - 1 if at is None else at, first - 1, -1)


def _near(ways: _Ways, reach: int, stops: Sequence[int]) -> set[int]:
    """Positions at most `reach` instructions from a load-locked in one direction."""
    found = set[int]()
    queue: list[tuple[int, int, bool]] = []
    done: dict[tuple[int, bool], int] = {}

    def look(distance: int, node: int, entered: bool, at: int | None) -> None:
        span = ways.span(node, at)
        fence = _first(stops, span)
        found.update(span[: min(reach - distance + 1, len(span) if fence is None else fence)])
        total = distance + len(span)
        if fence is not None or total > reach:
            return
        for other, inner in ways.after(node, entered):
            known = min(done.get((other, way), reach + 1) for way in (inner, False))
            if total < known:
                done[other, inner] = total
                heappush(queue, (total, other, inner))

    for at in _positions(ways.graph, LOCK):
        look(0, _block(ways.graph, at), False, at)
    while queue:
        distance, node, entered = heappop(queue)
        if done[node, entered] == distance:
            look(distance, node, entered, None)
    return found


def _first(ascending: Sequence[int], span: range) -> int | None:
    """How far along a span, either way, the first of some positions is; None where none is."""
    if span.step > 0:
        at = bisect_left(ascending, span.start)
        inside = at < len(ascending) and ascending[at] < span.stop
    else:
        at = bisect_right(ascending, span.start) - 1
        inside = at >= 0 and ascending[at] > span.stop
    return abs(ascending[at] - span.start) if inside else None


def _positions(graph: Graph, event: str) -> list[int]:
    table = graph.listing.table
    rows = [n for n, op in enumerate(table.rows) if event in table.effects(op).events]
    return [int(at) for at in np.flatnonzero(np.isin(graph.listing.rows, rows))]


def _block(graph: Graph, at: int) -> int:
    return int(np.searchsorted(graph.first, at, side="right")) - 1


@dataclass(frozen=True)
class _Neighbours:
    """The blocks on the other end of edges; those of a block are from its `starts` to the next."""

    starts: Edges
    others: Edges

    def of(self, block: int) -> list[int]:
        """The neighbours of a block."""
        first, last = self.starts[block : block + 2].tolist()
        found: list[int] = self.others[first:last].tolist()
        return found


def _neighbours(graph: Graph, blocks: Iterable[int]) -> tuple[_Neighbours, _Neighbours]:
    """Successors and predecessors within each function that has one of the blocks."""
    wanted = np.zeros(len(graph.functions) + 1, dtype=bool)
    wanted[graph.function_of[list(blocks)]] = True
    wanted[-1] = False  # blocks of no function
    inside = np.flatnonzero(np.isin(graph.kind, INSIDE))
    source, target = graph.source[inside], graph.target[inside]
    ends = np.maximum(source, target) < len(graph.first)
    source, target = source[ends], target[ends]
    owner = graph.function_of[source]
    chosen = wanted[owner] & (owner == graph.function_of[target])
    source, target = source[chosen], target[chosen]
    return _sorted(graph, source, target), _sorted(graph, target, source)


def _sorted(graph: Graph, ends: Edges, others: Edges) -> _Neighbours:
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(len(graph.first) + 1))
    return _Neighbours(starts, others[order])


def _reach(
    graph: Graph, starts: list[int], stops: set[int], next_of: _Neighbours, step: int
) -> set[int]:
    """Positions reached from the starts, both included, up to and including a stop."""
    found: set[int] = set()
    queue = [(start, False) for start in starts]
    while queue:
        at, entered = queue.pop()
        if at in found and entered:
            continue
        block = _block(graph, at)
        first, last = int(graph.first[block]), int(graph.last[block])
        while first <= at < last:
            found.add(at)
            if at in stops:
                break
            at += step
        else:
            for following in next_of.of(block):
                edge = int(graph.first[following] if step > 0 else graph.last[following] - 1)
                if edge not in found:
                    queue.append((edge, True))
    return found
