"""Computed calls that give a nested function its static chain.

C's compilers call such a function like any other that they know: by its address in the table that
the register for shared data leads to, where the linker has made no direct call of it.  What is
called by a pointer sets its chain itself, in a trampoline.  Go's closures have none: data holds
their functions' addresses, and who calls one gives it the chain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from rewriter.analysis.flow import Graph
from rewriter.analysis.liveness import Liveness
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.protocol import References, Sectioned, Sequential, SharedPointer

_COMPUTED = FLOW_CODE[Flow.INDIRECT_CALL]


def chained(
    graph: Graph,
    references: References,
    live: Liveness,
    target: Sequential,
    image: Sectioned,
    words: Mapping[int, int],
) -> frozenset[int]:
    """The addresses of the calls whose function, as `words` of data have it, may read a chain.

    A kernel has no closures.  Calls with a linkage of their own, whose function is known, may pass
    anything already.
    """
    shared = target.shared_data
    if shared is None:
        return frozenset()
    starts = {f.start for f in graph.functions}
    named = starts.intersection(words.values())
    nested = {start for start in named if _reads_chain(graph, live, shared, start)}
    places = {place for place, value in words.items() if value in nested}
    table = shared.table(image)
    if target.is_kernel(image) or all(place in table for place in places):
        found = set(_through_table(graph, references, shared, places))
    else:
        listing = graph.listing
        found = set(listing.addresses[np.flatnonzero(listing.flows == _COMPUTED)].tolist())
    return frozenset(found.difference(references.callees))


def _through_table(
    graph: Graph, references: References, shared: SharedPointer, places: Collection[int]
) -> Iterator[int]:
    """The calls of functions whose address is loaded from some places of the table."""
    pointers, listing = set(references.shared.values()), graph.listing
    distances = {place - gp for place in places for gp in pointers}
    for at in shared.loads(listing, distances).tolist():
        block = graph.block_holding(int(listing.addresses[at]))
        call, owner = int(graph.last[block]) - 1, int(graph.function_of[block])
        place = shared.called(listing, call, int(graph.first[block]))
        if place is None or owner < 0 or listing.flows[call] != _COMPUTED:
            continue
        pointer = references.shared.get(graph.functions[owner].start)
        if pointer is None or pointer + place in places:
            yield int(listing.addresses[call])


def _reads_chain(graph: Graph, live: Liveness, shared: SharedPointer, start: int) -> bool:
    """Whether what starts at an address may read a static chain that its caller left."""
    if not graph.listing.has(start):
        return False
    return live.into(graph.block_holding(start)) >> shared.chain & 1 == 1
