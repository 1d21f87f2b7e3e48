"""Whether the stack pointer is where it was when a function was entered, at a place in it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from rewriter.analysis.flow import Graph
from rewriter.analysis.relations import LinearEffects
from rewriter.core.code.program import Function
from rewriter.core.target.protocol import entered_at

State = dict[int, int]
"""Registers that are the stack pointer at the entry plus a constant."""


def _nothing(start: int) -> int:
    """A function is called."""
    return 0


class Heights:
    """Answers for a graph, function by function."""

    def __init__(
        self,
        graph: Graph,
        effects: LinearEffects,
        depth: Callable[[int], int | None] = _nothing,
        branched_into: Collection[int] = (),
    ) -> None:
        """`depth` says how far below its place at the call the stack pointer is at the start of a
        function, None where that is not known; `branched_into` are the starts of functions into
        which others branch."""
        self.graph, self.effects, self.target = graph, effects, effects.target
        self.depth, self.branched_into = depth, branched_into
        self._states: dict[int, State] = {}
        self._function: Function | None = None

    def back(self, function: Function, address: int) -> bool:
        """Whether the stack pointer is back on every path to an instruction."""
        return self.at(function, address) == 0

    def at(self, function: Function, address: int) -> int | None:
        """How far above its place at the entry the stack pointer is on every path, if it is."""
        if not self._moves(function) and function.start not in self.branched_into:
            depth = self.depth(function.start)
            return None if depth is None else -depth
        if self._function != function:
            self._function, self._states = function, self._solve(function)
        block = self.graph.block_holding(address)
        state = self._states.get(block)
        if state is None:  # no path is seen
            return None
        end = self.graph.listing.index(address)
        return self._through(block, state, end).get(self.target.stack)

    def _moves(self, function: Function) -> bool:
        """Whether anything in a function writes the stack pointer."""
        listing, (column, bit) = self.graph.listing, divmod(self.target.stack, 64)
        first, last = listing.span(function.start, function.end)
        return bool((listing.defs[first:last, column] >> bit & 1).any())

    def _solve(self, function: Function) -> dict[int, State]:
        """What holds at the start of each block, whatever the path."""
        graph, blocks = self.graph, self.graph.blocks_of(function)
        edges = graph.within(blocks)
        depth = self.depth(function.start)
        entry = {} if depth is None else {self.target.stack: -depth}
        begins = graph.listing.has(function.start)  # damage has it begin where no code is
        start = graph.block_at(function.start) if begins else None
        states: dict[int, State] = {} if start is None else {start: entry}
        queue = list(states)
        entries = entered_at(function, graph.listing, self.target)
        for block in blocks:
            if graph.entered[block] and block != start:
                known = int(graph.listing.addresses[graph.first[block]]) in entries
                states[block] = dict(entry) if known else {}
                queue.append(block)
        while queue:
            block = queue.pop()
            after = self._through(block, states[block], int(graph.last[block]))
            for following in edges.get(block, ()):
                known_state = states.get(following)
                joined = after
                if known_state is not None:
                    joined = dict(known_state.items() & after.items())
                if joined != known_state:
                    states[following] = joined
                    queue.append(following)
        return states

    def _through(self, block: int, state: State, end: int) -> State:
        """What holds in a block before a position."""
        graph, listing = self.graph, self.graph.listing
        first = int(graph.first[block])
        state = dict(state)
        for word, row in zip(
            listing.words[first:end].tolist(), listing.rows[first:end].tolist(), strict=True
        ):
            if row < 0:
                return {}
            effect = self.effects.of(word)
            step, written, kept = effect.step, effect.written, effect.kept
            if step is not None and step[1] in state:
                state[step[0]] = state[step[1]] + step[2]
                continue
            for register in written if step is None else (step[0],):
                state.pop(register, None)
            if kept is not None:
                state = {r: v for r, v in state.items() if kept >> r & 1}
        return state
