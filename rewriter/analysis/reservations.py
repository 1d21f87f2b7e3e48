"""Addresses between a load-locked and the store-conditional that it is for.

Nothing there may change: an access or a branch more in between can make the store fail for ever,
and a prefetch can make it succeed wrongly (21264 Hardware Reference Manual 2.6.4).

What is tried again may be so by an island: a jump outside all functions, to which one function
alone leads, and that leads back into it.  Assemblers put such what is rarely needed behind all
functions of an object (`.subsection`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.edges import CALL, INSIDE, NUMBER, RETURN, WITHIN, Edges, once
from rewriter.analysis.flow import Graph
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.isa.instruction import Flow
from rewriter.core.run.workers import each_apart

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


def near_locks(
    graph: Graph, reach: int, fences: frozenset[str], jobs: int = 1
) -> NDArray[np.bool_]:
    """By position, whether it is at most `reach` instructions behind or before a load-locked.

    Up to two of `jobs` processes share the work.

    Ways go through calls, and into and out of callees; a call counts for no instruction.  None
    goes through an event that is a fence: what is before it is done before what is behind.
    """
    stops = np.unique([at for name in fences for at in _positions(graph, name)]).astype(np.int64)
    found = each_apart(partial(_near, graph, reach, stops), (True, False), graph.processes(jobs))
    return np.logical_or(*found)


def _near(graph: Graph, reach: int, stops: Edges, forward: bool) -> NDArray[np.bool_]:
    """The same of what is behind a load-locked, or before one; it is stopped by fences."""
    near = np.zeros(len(graph.listing) + 1, dtype=NUMBER)
    _Near(graph, forward, reach, stops).count(near)
    return np.asarray(near.cumsum(out=near)[:-1] > 0)


class _Near:
    """The positions at most `reach` instructions from a load-locked, in one direction.

    A way is at a block, and may have entered a callee: then it does not leave it for its callers.
    `distance` has by that, 0 or 1, and by block the instructions before it on the shortest way.
    """

    def __init__(self, graph: Graph, forward: bool, reach: int, stops: Edges) -> None:
        self.graph, self.forward, self.reach = graph, forward, reach
        returns = np.zeros(graph.nodes - len(graph.first), dtype=NUMBER)  # no instructions
        self.first, self.last = (
            np.append(ends.astype(NUMBER), returns) for ends in (graph.first, graph.last)
        )
        self.stops = stops
        within = np.isin(graph.kind, INSIDE)
        calls = graph.source[graph.kind == CALL]
        calls = np.unique(calls[calls + 1 < len(graph.first)])
        source, target = graph.source, graph.target
        into, out = (graph.kind == kind for kind in ((CALL, RETURN) if forward else (RETURN, CALL)))
        inside = np.append(source[within], calls), np.append(target[within], calls + 1)
        self.inside, self.into, self.out = (
            self._edges(*ends)
            for ends in (inside, (source[into], target[into]), (source[out], target[out]))
        )
        self.distance = np.full((2, graph.nodes), reach + 1, dtype=NUMBER)

    def _edges(self, source: Edges, target: Edges) -> tuple[Edges, Edges]:
        """Where each node's edges begin, and to which nodes they go."""
        if not self.forward:
            source, target = target, source
        order = np.argsort(source, kind="stable")
        every = np.arange(self.graph.nodes + 1, dtype=source.dtype)
        return source[order].searchsorted(every).astype(NUMBER), target[order]

    def count(self, near: Edges) -> None:
        """Adds where a run of such positions begins, and takes off where one ends."""
        locks = np.array(_positions(self.graph, LOCK), dtype=NUMBER)
        blocks = np.searchsorted(self.graph.first, locks, side="right") - 1
        firsts, lasts = self.first[blocks], self.last[blocks]
        firsts, lasts = (locks, lasts) if self.forward else (firsts, locks + 1)
        self._spans(near, firsts, lasts, np.zeros_like(locks))
        starts = blocks, self._through(firsts, lasts, np.zeros_like(locks))
        going = {0: starts, 1: (blocks[:0], blocks[:0])}
        while any(len(nodes) for nodes, _ in going.values()):
            going = self._step(going)
        found = self.distance.min(axis=0)
        nodes = np.flatnonzero(found <= self.reach)
        self._spans(near, self.first[nodes], self.last[nodes], found[nodes])

    def _step(self, going: dict[int, tuple[Edges, Edges]]) -> dict[int, tuple[Edges, Edges]]:
        """From blocks to those that come next, with the instructions before these."""
        (nodes, totals), (inner, inner_totals) = going[0], going[1]
        outside = [_along(edges, nodes, totals) for edges in (self.inside, self.out)]
        entered = [_along(self.into, nodes, totals)]
        entered += [_along(edges, inner, inner_totals) for edges in (self.inside, self.into)]
        return {0: self._nearer(0, outside), 1: self._nearer(1, entered)}

    def _nearer(self, way: int, found: list[tuple[Edges, Edges]]) -> tuple[Edges, Edges]:
        """The blocks to which there is a shorter way now, with the instructions behind them."""
        nodes, totals = (np.concatenate(part) for part in zip(*found, strict=True))
        shorter = totals < self.distance[: way + 1, nodes].min(axis=0)
        nodes, totals = nodes[shorter], totals[shorter].astype(NUMBER)
        np.minimum.at(self.distance[way], nodes, totals)
        nodes = once(nodes, self.graph.nodes)
        distance = self.distance[way, nodes]
        return nodes, self._through(self.first[nodes], self.last[nodes], distance)

    def _through(self, firsts: Edges, lasts: Edges, distance: Edges) -> Edges:
        """Instructions on a way once it is through; more than `reach` where it ends before."""
        stopped = np.searchsorted(self.stops, firsts) < np.searchsorted(self.stops, lasts)
        return np.where(stopped, self.reach + 1, distance + lasts - firsts)

    def _spans(self, near: Edges, firsts: Edges, lasts: Edges, distance: Edges) -> None:
        """Positions from the side that a way comes from, up to a fence or `reach`."""
        ends = np.append(self.stops, len(near))
        if self.forward:
            fence = ends[np.searchsorted(self.stops, firsts)]
            lasts = np.minimum(np.minimum(lasts, fence), firsts + self.reach - distance + 1)
        else:
            fence = np.append(-1, self.stops)[np.searchsorted(self.stops, lasts)]
            firsts = np.maximum(np.maximum(firsts, fence + 1), lasts - self.reach + distance - 1)
        np.add.at(near, firsts, 1)
        np.subtract.at(near, lasts, 1)


def _along(edges: tuple[Edges, Edges], nodes: Edges, totals: Edges) -> tuple[Edges, Edges]:
    """The ends of all edges of some nodes, each with its node's number of instructions."""
    starts, others = edges
    first, counts = starts[nodes], starts[nodes + 1] - starts[nodes]
    skipped = np.repeat(first - np.append(0, np.cumsum(counts)[:-1]), counts)
    return others[np.arange(counts.sum()) + skipped], np.repeat(totals, counts)


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


@dataclass(frozen=True)
class Islands:
    """By address, where each `leads`; and the addresses that code elsewhere comes to by them
    `alone`, and that nothing names."""

    leads: Mapping[int, int]
    alone: frozenset[int]


def islands(graph: Graph) -> Islands:
    """Those of a text."""
    listing, count = graph.listing, len(graph.first)
    leads, owner = _alone(graph), np.append(graph.function_of, -1)
    source, target = (np.minimum(ends, count) for ends in (graph.source, graph.target))
    other = np.isin(graph.kind, INSIDE) & (owner[source] != owner[target])
    other |= graph.kind == CALL
    other[leads[source] >= 0] = False
    free = np.zeros(count + 1, dtype=bool)
    free[leads[leads >= 0]] = True
    free[target[other]] = False
    free[:-1] &= ~graph.named & ~graph.landed
    places = listing.addresses[graph.first]
    found = np.flatnonzero(leads >= 0)
    return Islands(
        dict(zip(places[found].tolist(), places[leads[found]].tolist(), strict=True)),
        frozenset(places[free[:-1]].tolist()),
    )


def _alone(graph: Graph) -> NDArray[np.int64]:
    """For each block, and one that is none, the block that it leads to if it is an island, or -1.

    Nobody but the function that it leads to comes there: by a branch, not over its end.
    """
    listing, count = graph.listing, len(graph.first)
    single = (graph.last - graph.first == 1) & (graph.function_of < 0) & ~graph.named
    jumps = np.flatnonzero(single & (listing.flows[graph.first] == FLOW_CODE[Flow.JUMP]))
    links = np.array(listing.defs.numbers(graph.first[jumps]), dtype=bool)
    leads, owner = np.full(count + 1, -1), np.append(graph.function_of, -1)
    is_island = np.zeros(count + 1, dtype=bool)
    is_island[jumps[~links]] = True
    reached = np.append(graph.reached, True)
    source, target = (np.minimum(ends, count) for ends in (graph.source, graph.target))
    within = graph.kind == WITHIN
    out = within & is_island[source] & (owner[target] >= 0)
    leads[source[out]] = target[out]
    home = owner[leads]
    into = is_island[target] & reached[source]
    wrong = into & (~within | (owner[source] != home[target]) | (source + 1 == target))
    leads[target[wrong]] = -1
    return leads
