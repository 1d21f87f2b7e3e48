"""Registers that differ by a constant, at every block of a function.

Loops keep a pointer and the pointer plus one in two registers; in a block that only reads them,
nothing shows how they are related.  A forward analysis does: at each block, registers form classes
of known distance, and where paths meet only what holds on all of them is kept.
"""

from __future__ import annotations

from heapq import heappop, heappush

from rewriter.core.isa import Flow
from rewriter.core.program import Function
from rewriter.core.target import Target
from rewriter.core.trace import registers_of
from rewriter.identify.flow import Graph

Value = tuple[object, int]
"""An unknown number's name, and what is added to it."""
State = dict[int, Value]
Facts = dict[int, tuple[int, int]]
"""Register: (another register, distance), for registers that are another plus a constant."""


def relations(graph: Graph, function: Function, target: Target) -> dict[int, Facts]:
    """The facts at the start of each of the function's blocks, by address."""
    blocks = graph.blocks_of(function)
    edges = graph.within(blocks)
    # Fillers behind a jump never run; where a fault's handler goes on, nothing is known.
    states: dict[int, State] = {b: {} for b in blocks if graph.entered[b] or graph.resumed[b]}
    facts: dict[int, Facts] = {block: {} for block in states}
    waiting = sorted(states)  # a heap: in order of address, most of what leads to a block is known
    while waiting:
        block = heappop(waiting)
        after = _through(graph, block, states[block], target)
        for following in edges.get(block, ()):
            known = states.get(following)
            if known is not None and not facts[following]:
                continue  # less than nothing cannot hold
            joined = after if known is None else _join(known, after)
            found = _facts(joined)
            if known is None or found != facts[following]:
                states[following], facts[following] = _renamed(joined, following), found
                if following not in waiting:
                    heappush(waiting, following)
    addresses = graph.listing.addresses
    return {int(addresses[graph.first[b]]): facts[b] for b, state in states.items() if state}


def _through(graph: Graph, block: int, state: State, target: Target) -> State:
    """The state after a block; a call leaves only what callees save."""
    state = dict(state)
    listing = graph.listing
    for at in range(int(graph.first[block]), int(graph.last[block])):
        insn = listing.insn(at)
        if insn is None:
            return {}
        step = target.linear(insn)
        if step is not None:
            result, source, distance = step
            name, added = state.get(source, (("input", block, source), 0))
            state.setdefault(source, (name, added))
            state[result] = (name, added + distance)
            continue
        for register in registers_of(listing.table.defs(insn)):
            state[register] = ((at, register), 0)
        if insn.op.flow in (Flow.CALL, Flow.INDIRECT_CALL, Flow.TRAP):
            kept = target.saved
            state = {r: value for r, value in state.items() if kept >> r & 1}
    return state


def _join(a: State, b: State) -> State:
    """What holds in both: registers of one class at one distance in each."""
    return {r: ((a[r][0], b[r][0], a[r][1] - b[r][1]), a[r][1]) for r in a.keys() & b.keys()}


def _renamed(state: State, block: int) -> State:
    """The state with short names, so that they do not grow from round to round."""
    names: dict[object, object] = {}
    return {
        r: (names.setdefault(name, ("class", block, r)), added)
        for r, (name, added) in sorted(state.items())
    }


def _facts(state: State) -> Facts:
    first: dict[object, tuple[int, int]] = {}
    facts: Facts = {}
    for register, (name, added) in sorted(state.items()):
        if name in first:
            base, base_added = first[name]
            facts[register] = (base, added - base_added)
        else:
            first[name] = (register, added)
    return facts
