"""Return addresses that code makes itself: where control comes back to that went on elsewhere.

    the address of a label, into the link register
    a jump to another function, which returns to the label

So does a return through an address that its own function made.  Code that only saves the link
register, in its frame or in another register, and puts it back returns to its caller.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.edges import RETURN, WITHIN, Edges
from rewriter.analysis.flow import Graph, between
from rewriter.core.code.listing import FLOW_CODE, FLOWS, among
from rewriter.core.code.program import Origin
from rewriter.core.isa.flow import Flow, To, leading
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.protocol import Sequential


def continued(graph: Graph, target: Sequential, labels: Iterable[int]) -> Graph:
    """The graph with edges to the `labels` of functions that make their return address.

    From where they are left with it, and from the returns of what they go on with.  Every register
    may carry a value along these edges, and out of the function, as the address may be another's.
    """
    ascending, edges, left = sorted(labels), list[tuple[int, int, int]](), list[int]()
    for number in _makers(graph, target):
        links = _Links(graph, target, number)
        leaving = [block for block in links.leaving if links.is_made(block)]
        left += leaving
        inside = links.inside(ascending) if leaving else ()
        for to in inside:
            edges += [(block, to, WITHIN) for block in leaving]
            edges += [(node, to, RETURN) for node in links.returning(leaving)]
    if not left:
        return graph
    sources, goals, kinds = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    outside = graph.outside.with_mask(np.array(left), target.everything)
    return replace(graph.with_edges(sources, goals, kinds, target.everything), outside=outside)


def _makers(graph: Graph, target: Sequential) -> list[int]:
    """The functions that put something into the link register which is not plainly saved there."""
    listing = graph.listing
    at = _writers(graph, target.landing, 0, len(listing))
    at = at[~among(listing.flows[at], _LINKING)]
    here = _asking(graph, at)
    at = at[~_restored(graph, target, at)]
    words, which = np.unique(listing.words[at], return_inverse=True)
    copied = (_copied(target, listing.table.decode(word)) for word in words.tolist())
    source = np.array([-1 if register is None else register for register in copied])[which]
    # Most copy what a load from the frame left in another register, just before.
    saved = np.zeros(len(at), dtype=bool)
    for register in sorted({*source.tolist()} - {-1}):
        those = np.flatnonzero(source == register)
        writers = _writers(graph, register, 0, len(listing))
        before = writers.searchsorted(at[those])
        those, last = those[before > 0], writers[before[before > 0] - 1]
        first = graph.first[np.searchsorted(graph.first, at[those], side="right") - 1]
        saved[those] = (last >= first) & _restored(graph, target, last)
    blocks = np.searchsorted(graph.first, at[~saved], side="right") - 1
    return sorted({*graph.function_of[blocks].tolist(), *here} - {-1})


def _asking(graph: Graph, writers: Edges) -> set[int]:
    """The functions that ask where they stand, and are left by a block in which none of the
    `writers` puts anything else into the link register."""
    ends, owner = graph.listing.flows[graph.last - 1], graph.function_of
    within = (graph.kind == WITHIN) & (graph.source < len(ends)) & (graph.target < len(ends))
    source, target = graph.source[within], graph.target[within]
    leaves = among(ends, leading(To.CALLER))
    leaves[source[owner[source] != owner[target]]] = True
    leaves[np.searchsorted(graph.first, writers, side="right") - 1] = False
    return {*owner[leaves].tolist()}.intersection(owner[ends == _HERE].tolist())


def _restored(graph: Graph, target: Sequential, at: Edges) -> NDArray[np.bool_]:
    """Which of some positions load a register from a function's frame."""
    return graph.listing.are(at, partial(_is_restored, target))


def _writers(graph: Graph, register: int, first: int, end: int) -> Edges:
    """The positions from one to another that write a register."""
    return first + np.flatnonzero(graph.listing.defs.has(register, slice(first, end)))


def _is_restored(target: Sequential, insn: Insn | None) -> bool:
    """Whether an instruction loads a register from a function's frame."""
    made = None if insn is None else target.origin(insn)
    return made is not None and made[0] is Origin.MEMORY and bool(target.frame_bases >> made[1] & 1)


def _copied(target: Sequential, insn: Insn | None) -> int | None:
    """The register that an instruction does no more than copy, if it does that."""
    made = None if insn is None else target.origin(insn)
    return made[1] if made is not None and made[0] is Origin.COPY else None


class _Links:
    """What is in the link register where a function is left."""

    def __init__(self, graph: Graph, target: Sequential, number: int) -> None:
        self.graph, self.target = graph, target
        self.function = graph.functions[number]
        self.blocks = graph.blocks_of(self.function)
        self.node = len(graph.first) + number
        self._writing: dict[int, dict[int, list[int]]] = {}

    @property
    def leaving(self) -> list[int]:
        """The blocks from which control goes to a caller, or to another function for good."""
        flows = self.graph.listing.flows
        ends = {block: int(flows[self.graph.last[block] - 1]) for block in self.blocks}
        known = {block: FLOWS[code] for block, code in ends.items() if code >= 0}
        return [b for b, flow in known.items() if not flow.links and self._leaves(b, flow)]

    def _leaves(self, block: int, flow: Flow) -> bool:
        if flow.to is To.REGISTER:  # no switch
            own = {to in self.blocks for to in self._following([block])}
            return own != {True} or bool(self.graph.outside[block].any())
        place = int(self.graph.listing.targets[self.graph.last[block] - 1])
        if flow.to is To.CALLER or (flow.to is To.PLACE and place not in self.function):
            return True
        return self._runs_on(block)

    def _runs_on(self, block: int) -> bool:
        """Whether control may fall from a block into another function."""
        owner, behind = self.graph.function_of, block + 1
        if behind == len(owner) or owner[behind] == owner[block]:
            return False
        return behind in self._following([block])

    def is_made(self, block: int) -> bool:
        """Whether a block may be left with a return address that the function made."""
        link, last = self.target.landing, int(self.graph.last[block]) - 1
        if last in self._written(link).get(block, ()):  # control falls out of the block
            return self._makes(link, last, set())
        return self._may_be_made(link, last, set())

    def inside(self, ascending: Sequence[int]) -> list[int]:
        """The blocks of the function that start at one of some places, but for its own start, and
        behind where it asks for its place."""
        listing, graph = self.graph.listing, self.graph
        first, end = (
            bisect_right(ascending, at) for at in (self.function.start, self.function.end - 1)
        )
        found = {graph.block_at(place) for place in ascending[first:end] if listing.has(place)}
        asked = (b for b in self.blocks if listing.flows[graph.last[b] - 1] == _HERE)
        return sorted(found | {block + 1 for block in asked if block + 1 in self.blocks})

    def returning(self, leaving: Iterable[int]) -> set[int]:
        """The nodes of the returns of what some blocks lead to."""
        graph = self.graph
        goals = (to for to in self._following(leaving) if to < len(graph.first))
        owners = {int(graph.function_of[to]) for to in goals} - {-1}
        return {len(graph.first) + owner for owner in owners} - {self.node}

    def _following(self, blocks: Iterable[int]) -> set[int]:
        """What edges from some blocks lead to."""
        graph, found = self.graph, set[int]()
        order, sources = graph.outgoing
        for block in blocks:
            first, last = between(sources, range(block, block + 1))
            found.update(graph.target[order[first:last]].tolist())
        return found

    def _may_be_made(self, register: int, end: int, seen: set[tuple[int, int]]) -> bool:
        """Whether a register may hold an address before a position that is not of the caller."""
        if (register, end) in seen:
            return False
        seen.add((register, end))
        return any(self._makes(register, at, seen) for at in self._last_writers(register, end))

    def _makes(self, register: int, at: int, seen: set[tuple[int, int]]) -> bool:
        """Whether what a position leaves in a register may be an address that is not a caller's."""
        insn = self.graph.listing.insn(at)
        if insn is None:
            return True
        if insn.op.flow.links:
            return insn.op.flow is Flow.HERE or register != self.target.landing
        if self.target.table.defs(insn) >> self.target.stack & 1:  # the system's: all may change
            return False
        made = self.target.origin(insn)
        if made is not None and made[0] is Origin.COPY:
            return self._may_be_made(made[1], at, seen)
        return not (made is not None and made[0] is Origin.MEMORY and self._is_frame(made[1], at))

    def _is_frame(self, base: int, at: int) -> bool:
        """Whether a register that a load reads by is a place in the frame, as far as is seen."""
        if self.target.frame_bases >> base & 1:
            return True
        insns = [self.graph.listing.insn(place) for place in self._last_writers(base, at)]
        return bool(insns) and all(insn is not None and self._of_frame(insn) for insn in insns)

    def _of_frame(self, insn: Insn) -> bool:
        step = self.target.linear(insn)
        base = step[1] if step is not None else _copied(self.target, insn)
        return _is_restored(self.target, insn) or (
            base is not None and bool(self.target.frame_bases >> base & 1)
        )

    def _last_writers(self, register: int, end: int) -> set[int]:
        """The positions that last wrote a register on the ways to one, in the function."""
        graph, found, written = self.graph, set[int](), self._written(register)
        block = int(graph.first.searchsorted(end, side="right")) - 1
        here = [at for at in written.get(block, ()) if at < end]
        if here:
            return {here[-1]}
        queue, seen = [*self._before.get(block, ())], set(self._before.get(block, ()))
        while queue:
            block = queue.pop()
            if block in written:
                found.add(written[block][-1])
                continue
            new = [before for before in self._before.get(block, ()) if before not in seen]
            seen.update(new)
            queue += new
        return found

    def _written(self, register: int) -> dict[int, list[int]]:
        """By block of the function, the positions that write a register, but for nops."""
        if register not in self._writing:
            graph, found = self.graph, dict[int, list[int]]()
            ends = int(graph.first[self.blocks.start]), int(graph.last[self.blocks.stop - 1])
            places = _writers(graph, register, *ends)
            if not self.target.saved >> register & 1:  # a call may leave anything there
                calls = np.flatnonzero(among(graph.listing.flows[slice(*ends)], _CALLING))
                places = np.union1d(places, calls + ends[0])
            blocks = graph.first.searchsorted(places, side="right") - 1
            for at, block in zip(places.tolist(), blocks.tolist(), strict=True):
                insn = graph.listing.insn(at)
                if insn is None or not self.target.is_nop(insn):
                    found.setdefault(block, []).append(at)
            self._writing[register] = found
        return self._writing[register]

    @cached_property
    def _before(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for block, following in self.graph.within(self.blocks).items():
            for to in following:
                found.setdefault(to, []).append(block)
        return found


_LINKING = frozenset(flow for flow in Flow if flow.links)
_CALLING = _LINKING - {Flow.HERE}
_HERE = FLOW_CODE[Flow.HERE]
