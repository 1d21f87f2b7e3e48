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

_CALLS = (Flow.CALL, Flow.INDIRECT_CALL, Flow.TRAP)


def relations(graph: Graph, function: Function, target: Target) -> dict[int, Facts]:
    """The facts at the start of each of the function's blocks, by address."""
    blocks = graph.blocks_of(function)
    edges = graph.within(blocks)
    # Fillers behind a jump never run; where a fault's handler goes on, nothing is known.
    states: dict[int, State] = {b: {} for b in blocks if graph.entered[b] or graph.resumed[b]}
    facts: dict[int, Facts] = {block: {} for block in states}
    code = _Code(graph, blocks, target)
    waiting = sorted(states)  # a heap: in order of address, most of what leads to a block is known
    while waiting:
        block = heappop(waiting)
        after = code.through(block, states[block])
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


class _Code:
    """The instructions of a function's blocks."""

    def __init__(self, graph: Graph, blocks: range, target: Target) -> None:
        here = slice(blocks.start, blocks.stop)
        first, last = graph.first[here].tolist(), graph.last[here].tolist()
        self.target, self.start = target, min(first, default=0)
        self.insns = graph.listing.insns_at(self.start, max(last, default=0))
        self.places = dict(zip(blocks, zip(first, last, strict=True), strict=True))

    def through(self, block: int, state: State) -> State:
        """The state after a block; a call leaves only what callees save."""
        state, start = dict(state), self.start
        linear, defs, kept = self.target.linear, self.target.table.defs, self.target.saved
        first, last = self.places[block]
        for at, insn in enumerate(self.insns[first - start : last - start], first):
            if insn is None:
                return {}
            step = linear(insn)
            if step is not None:
                result, source, distance = step
                name, added = state.get(source) or (("input", block, source), 0)
                state.setdefault(source, (name, added))
                state[result] = (name, added + distance)
                continue
            for register in registers_of(defs(insn)):
                state[register] = ((at, register), 0)
            if insn.op.flow in _CALLS:
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
