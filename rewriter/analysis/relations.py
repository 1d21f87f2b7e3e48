"""Registers that differ by a constant, at every block of a function.

Loops keep a pointer and the pointer plus one in two registers; in a block that only reads them,
nothing shows how they are related.  A forward analysis does: at each block, registers form classes
of known distance, and where paths meet only what holds on all of them is kept.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from itertools import count

from rewriter.analysis.flow import Graph
from rewriter.core.code.dataflow import registers_of
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import COMING_BACK
from rewriter.core.target.protocol import Sequential

Value = tuple[int, int]
"""An unknown number's name, and what is added to it."""
State = dict[int, Value]
"""Registers that are not alone in their class; any other is a number that nothing is known of."""
Facts = dict[int, tuple[int, int]]
"""Register: (another register, distance), for registers that are another plus a constant."""

Effect = tuple[tuple[int, int, int] | None, tuple[int, ...], int | None]
"""What an instruction makes of a register and a constant, else what it writes; of a call, the
registers that outlive it."""


def relations(graph: Graph, function: Function, effects: LinearEffects) -> dict[int, Facts]:
    """The facts at the start of each of the function's blocks, by address."""
    blocks = graph.blocks_of(function)
    edges = graph.within(blocks)
    # Nops behind a jump never run; where a fault's handler goes on, nothing is known.
    states: dict[int, State] = {b: {} for b in blocks if graph.entered[b] or graph.resumed[b]}
    facts: dict[int, Facts] = {block: {} for block in states}
    code = _Code(graph, blocks, effects)
    waiting = sorted(states)  # a heap: in order of address, most of what leads to a block is known
    while waiting:
        block = heappop(waiting)
        after = code.through(block, states[block])
        for following in edges.get(block, ()):
            known = states.get(following)
            if known is not None and not facts[following]:
                continue  # less than nothing cannot hold
            joined = after if known is None else code.joined(known, after)
            found = _facts(joined)
            if known is None or found != facts[following]:
                states[following], facts[following] = joined, found
                if following not in waiting:
                    heappush(waiting, following)
    addresses = graph.listing.addresses
    return {int(addresses[graph.first[b]]): found for b, found in facts.items() if found}


class LinearEffects:
    """What instructions do to registers, found once for each word."""

    def __init__(self, target: Sequential) -> None:
        self.target = target
        self.known: dict[int, Effect] = {}

    def of(self, word: int) -> Effect:
        """What the instruction of a word does."""
        effect = self.known.get(word)
        if effect is None:
            effect = self.known[word] = self._of(word)
        return effect

    def _of(self, word: int) -> Effect:
        insn = self.target.table.decode(word)
        assert insn is not None
        written = registers_of(self.target.table.defs(insn))
        kept = self.target.kept_over(insn) if insn.op.flow in COMING_BACK else None
        return self.target.linear(insn), written, kept


class _Code:
    """The instructions of a function's blocks; every name that it gives is another."""

    def __init__(self, graph: Graph, blocks: range, effects: LinearEffects) -> None:
        here = slice(blocks.start, blocks.stop)
        first, last = graph.first[here].tolist(), graph.last[here].tolist()
        self.start = min(first, default=0)
        text = slice(self.start, max(last, default=0))
        self.words: list[int] = graph.listing.words[text].tolist()
        self.rows: list[int] = graph.listing.rows[text].tolist()
        self.places = dict(zip(blocks, zip(first, last, strict=True), strict=True))
        self.effect = effects.of
        self.names = count()

    def through(self, block: int, state: State) -> State:
        """The state after a block; a call leaves only what callees save."""
        first, last = (at - self.start for at in self.places[block])
        if min(self.rows[first:last], default=0) < 0:
            return {}
        state = dict(state)
        for step, written, kept in map(self.effect, self.words[first:last]):
            if step is not None:
                result, source, distance = step
                held = state.get(source)
                if held is None:
                    held = state[source] = next(self.names), 0
                state[result] = held[0], held[1] + distance
                continue
            for register in written:
                state.pop(register, None)
            if kept is not None:
                state = {r: value for r, value in state.items() if kept >> r & 1}
        return _together(state)

    def joined(self, a: State, b: State) -> State:
        """What holds in both: registers of one class at one distance in each."""
        names: dict[tuple[int, int, int], int] = {}
        found: State = {}
        for register in a.keys() & b.keys():
            (name, added), (other, there) = a[register], b[register]
            key = name, other, added - there
            if key not in names:
                names[key] = next(self.names)
            found[register] = names[key], added
        return _together(found)


def _together(state: State) -> State:
    """The registers that are not alone in their class."""
    members = Counter([name for name, _ in state.values()])
    return {r: value for r, value in state.items() if members[value[0]] > 1}


def _facts(state: State) -> Facts:
    first: dict[int, tuple[int, int]] = {}
    facts: Facts = {}
    for register, (name, added) in sorted(state.items()):
        if name in first:
            base, base_added = first[name]
            facts[register] = (base, added - base_added)
        else:
            first[name] = (register, added)
    return facts
