"""Computed calls that give a nested function its static chain.

Compilers call such a function like any other that they know: by its address in the table that the
register for shared data leads to, where the linker has made no direct call of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from rewriter.analysis.flow import Graph
from rewriter.analysis.liveness import Liveness
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.protocol import References, SharedPointer

_COMPUTED = FLOW_CODE[Flow.INDIRECT_CALL]


def chained(
    graph: Graph,
    references: References,
    live: Liveness,
    shared: SharedPointer | None,
    words: Mapping[int, int],
) -> frozenset[int]:
    """The addresses of the calls whose function, as `words` of data have it, may read a chain.

    Calls with a linkage of their own, whose function is known, may pass anything already.
    """
    if shared is None:
        return frozenset()
    starts = {f.start for f in graph.functions}
    named = starts.intersection(words.values())
    nested = {start for start in named if _reads_chain(graph, live, shared, start)}
    places = {place for place, value in words.items() if value in nested}
    pointers = set(references.shared.values())
    found, listing = set(), graph.listing
    for at in shared.loads(listing, {place - gp for place in places for gp in pointers}).tolist():
        block = graph.block_holding(int(listing.addresses[at]))
        call = int(graph.last[block]) - 1
        place = shared.called(listing, call, int(graph.first[block]))
        owner = int(graph.function_of[block])
        if place is None or owner < 0 or listing.flows[call] != _COMPUTED:
            continue
        pointer = references.shared.get(graph.functions[owner].start)
        if pointer is None or pointer + place in places:
            found.add(int(listing.addresses[call]))
    return frozenset(found.difference(references.callees))


def _reads_chain(graph: Graph, live: Liveness, shared: SharedPointer, start: int) -> bool:
    """Whether what starts at an address may read a static chain that its caller left."""
    if not graph.listing.has(start):
        return False
    return live.into(graph.block_holding(start)) >> shared.chain & 1 == 1
