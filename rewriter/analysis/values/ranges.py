"""Ranges that registers are in at every block of a function, by the branches on all ways to it.

A loop that divides as long as the divisor is no zero says so where it goes back, and again before
it: within the loop nothing shows it.  A forward analysis does: a branch by a comparison of a
register with a number leaves the register in a range on either way, and where paths meet it is in
the smallest range that has all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from rewriter.analysis.flow import Graph
from rewriter.analysis.relations import Effect, LinearEffects
from rewriter.core.code.dataflow import Range
from rewriter.core.code.program import Function
from rewriter.core.isa.registers import Masks
from rewriter.core.target.idioms import Compared, Comparing

State: TypeAlias = dict[int, Range | Compared]
"""What is known of registers; of flags, what was compared."""

_ORDERS = frozenset({-1, 0, 1})


def ranges(
    graph: Graph,
    function: Function,
    effects: LinearEffects,
    comparing: Comparing,
    spoiled: Masks,
) -> dict[int, dict[int, Range]]:
    """The ranges at the start of each of the function's blocks, by address.

    `spoiled` are by block the registers that a call at its end does not keep after all.
    """
    code = _Code(graph, effects, comparing)
    blocks = graph.blocks_of(function)
    edges = graph.within(blocks)
    states: dict[int, State] = {b: {} for b in blocks if graph.entered[b] or graph.resumed[b]}
    waiting = list(states)
    while waiting:
        block = waiting.pop()
        after = code.through(block, states[block])
        if lost := int(spoiled[block]):
            after = {r: known for r, known in after.items() if not lost >> _about(r, known) & 1}
        for following in edges.get(block, ()):
            known = states.get(following)
            behind = code.along(block, following, after)
            joined = behind if known is None else _joined(known, behind)
            if joined != known:
                states[following] = joined
                waiting.append(following)
    found = {block: _only_ranges(state) for block, state in states.items()}
    addresses = graph.listing.addresses
    return {int(addresses[graph.first[b]]): some for b, some in found.items() if some}


class _Code:
    """The instructions of a function's blocks."""

    def __init__(self, graph: Graph, effects: LinearEffects, comparing: Comparing) -> None:
        self.graph, self.effects, self.comparing = graph, effects, comparing

    def through(self, block: int, state: State) -> State:
        """The state behind a block; a call leaves only what callees save."""
        listing, state = self.graph.listing, dict(state)
        here = slice(int(self.graph.first[block]), int(self.graph.last[block]))
        if min(listing.rows[here].tolist(), default=0) < 0:
            return {}
        for word in listing.words[here].tolist():
            self._execute(word, self.effects.of(word), state)
        return state

    def _execute(self, word: int, effect: Effect, state: State) -> None:
        copied = None
        if effect.step is not None and effect.step[2] == 0:
            copied = state.get(effect.step[1])
        written = {*effect.written}
        for register, known in list(state.items()):
            about = _about(register, known)
            kept = effect.kept is None or effect.kept >> register & effect.kept >> about & 1
            if not kept or not written.isdisjoint((register, about)):
                del state[register]
        if isinstance(copied, Range):
            state[effect.written[0]] = copied
        insn = self.effects.target.table.decode(word)
        compared = self.comparing.compared(insn) if insn is not None else None
        if compared is not None:
            state[compared.flags] = compared

    def along(self, block: int, following: int, state: State) -> State:
        """The state on an edge: what a branch at the block's end asks for holds, or does not."""
        listing, first = self.graph.listing, self.graph.first
        last = int(self.graph.last[block]) - 1
        insn, there = listing.insn(last), int(listing.addresses[first[following]])
        asked = self.comparing.asked(insn) if insn is not None else None
        if insn is None or asked is None:
            return state
        flags, orders = asked
        compared, target = state.get(flags), insn.target(int(listing.addresses[last]))
        if not isinstance(compared, Compared) or target == listing.addresses[last] + insn.size:
            return state
        found = within(compared, orders if there == target else _ORDERS - orders)
        known = state.get(compared.register)
        if found is not None and isinstance(known, Range):
            found = _both(known, found)
        return state if found is None else {**state, compared.register: found}


def _about(register: int, known: Range | Compared) -> int:
    """The register of which something is known, where it may be flags that say it of another."""
    return known.register if isinstance(known, Compared) else register


def _joined(a: State, b: State) -> State:
    """What holds in both."""
    found: State = {}
    for register in a.keys() & b.keys():
        one, other = a[register], b[register]
        if one == other:
            found[register] = one
        elif isinstance(one, Range) and isinstance(other, Range) and one.bits == other.bits:
            spans = ((one.least, one.most), (other.least, other.most))
            if (hull := _hull(one.bits, spans)) is not None:
                found[register] = hull
    return found


def _both(known: Range, found: Range) -> Range:
    """The newer range, within the older one where they speak of the same bits."""
    least, most = max(known.least, found.least), min(known.most, found.most)
    inside = known.bits == found.bits and least <= most
    return Range(found.bits, least, most) if inside else found


def _hull(bits: int, spans: Iterable[tuple[int, int]]) -> Range | None:
    """The smallest range that has all numbers of some; None where that is any number."""
    some = list(spans)
    if not some:
        return None
    least, most = min(low for low, _ in some), max(high for _, high in some)
    return None if (least, most) == (0, (1 << bits) - 1) else Range(bits, least, most)


def within(compared: Compared, orders: Iterable[int]) -> Range | None:
    """Where a register is that compared in one of the orders; None where nothing is said."""
    return _hull(compared.bits, (span for order in orders for span in _spans(compared, order)))


def _spans(compared: Compared, order: int) -> Iterator[tuple[int, int]]:
    """The numbers that compare so, without a sign: with one they may be on both ends."""
    ones, number = (1 << compared.bits) - 1, compared.number
    lowest = -(1 << compared.bits - 1) if compared.signed else 0
    spans = {-1: (lowest, number - 1), 0: (number, number), 1: (number + 1, lowest + ones)}
    low, high = spans[order]
    for least, most in ((low, min(high, -1)), (max(low, 0), high)):
        if least <= most:
            yield least & ones, most & ones


def _only_ranges(state: State) -> dict[int, Range]:
    return {register: known for register, known in state.items() if isinstance(known, Range)}
