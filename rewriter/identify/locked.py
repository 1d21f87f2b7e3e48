"""Addresses between a load-locked and the store-conditional that it is for.

Nothing there may change: an access or a branch more in between can make the store fail for ever,
and a prefetch can make it succeed wrongly (21264 Hardware Reference Manual 2.6.4).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rewriter.identify.flow import INSIDE, Graph

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


def _positions(graph: Graph, event: str) -> list[int]:
    table = graph.listing.table
    rows = [n for n, op in enumerate(table.rows) if event in table.effects(op).events]
    return [int(at) for at in np.flatnonzero(np.isin(graph.listing.rows, rows))]


def _block(graph: Graph, at: int) -> int:
    return int(np.searchsorted(graph.first, at, side="right")) - 1


Neighbours = dict[int, list[int]]


def _neighbours(graph: Graph, blocks: Iterable[int]) -> tuple[Neighbours, Neighbours]:
    """Successors and predecessors within each function that has one of the blocks."""
    wanted = {int(graph.function_of[b]) for b in blocks} - {-1}
    owners = np.append(graph.function_of, np.full(graph.nodes - len(graph.first), -1))
    own, other = owners[graph.source], owners[graph.target]
    chosen = np.isin(graph.kind, INSIDE) & (own == other) & np.isin(own, sorted(wanted))
    after: Neighbours = {}
    before: Neighbours = {}
    for source, target in zip(
        graph.source[chosen].tolist(), graph.target[chosen].tolist(), strict=True
    ):
        after.setdefault(source, []).append(target)
        before.setdefault(target, []).append(source)
    return after, before


def _reach(
    graph: Graph, starts: list[int], stops: set[int], next_of: Neighbours, step: int
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
            for following in next_of.get(block, ()):
                edge = int(graph.first[following] if step > 0 else graph.last[following] - 1)
                if edge not in found:
                    queue.append((edge, True))
    return found
