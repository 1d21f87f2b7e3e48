"""Which registers callers keep a value in across a call of a function.

gcc's -fipa-ra lets a caller keep a value in a scratch register across a call whose callee does not
write it.  So what replaces a function may write what the function writes, with all that it calls,
and beyond that a scratch register only if no caller in this file sets it before the call and has
an instruction of its own that reads it afterwards.  Values die in calls on the way as the callee's
code says, or as the calling standard does where the callee is not known.

What a later call or system call takes as arguments is not looked at: compilers set arguments
behind the last call in front of it.  But what the callers of a trampoline, in whatever file, have
in registers that it does not save, nothing may write that it may come to and that did not before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.edges import CALL, WITHIN, Edges
from rewriter.analysis.flow import Graph
from rewriter.analysis.liveness import summary
from rewriter.analysis.program import Program
from rewriter.core.code.listing import FLOW_CODE, among
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import BRANCHING, CALLS, FALLING, Flow, To, leading
from rewriter.core.isa.registers import Masks, from_columns, in_columns
from rewriter.identify.trampolines import Trusted, trusted

ASSUMED = "arguments of a later call are set after the call"
"""What is taken for granted where a new register is written."""


@dataclass(frozen=True)
class Calls:
    """The calls of a program, by function, and what lives across them.

    The latter is found for whole functions at a time, when it is asked for: of most of a program
    nobody asks.  `across` has it by block, for those that end in a call.
    """

    program: Program
    across: dict[int, int] = field(default_factory=dict)

    def writes(self, function: Function) -> int:
        """Registers that a function, or what it calls, may write."""
        return self._writing[self._number[function]]

    def below(self, function: Function) -> set[Function]:
        """A function and all that it may come to."""
        return {self.program.functions[number] for number in self._below(function)}

    def _below(self, function: Function) -> set[int]:
        seen, queue = set[int](), [self._number[function]]
        while queue:
            number = queue.pop()
            if number not in seen:
                seen.add(number)
                queue += self._callees[number]
        return seen

    def kept(self, function: Function) -> int:
        """Registers that some caller keeps a value in across a call of the function."""
        calling = self._calling(self._number[function])
        if unknown := sorted(calling - self.across.keys()):
            self.across.update(self._inside(np.array(unknown)).across())
        return reduce(or_, (self.across[block] for block in calling), 0)

    def relied_on(self, function: Function) -> int:
        """Registers that callers of trampolines which may come to the function count on."""
        reaching = (one.kept for one in self._trusted if self._may_reach(one.address, function))
        return reduce(or_, reaching, 0)

    @cached_property
    def _trusted(self) -> tuple[Trusted, ...]:
        return trusted(self.program.image, self.program.listing, self.program.target)

    def _may_reach(self, address: int, function: Function) -> bool:
        """Whether code at an address may come to a function before it hands its arguments on."""
        start = self.program.function_at(address)
        if start is None:
            return True
        below = self.below(start)
        return function in below or any(self._leads_anywhere(one, address) for one in below)

    def _leads_anywhere(self, function: Function, handing_on: int) -> bool:
        """Whether a function goes where no edge leads, by a call or by a jump without a table, but
        for the jump of a trampoline to what its caller called."""
        listing, references = self.program.listing, self.program.references
        first, last = listing.span(function.start, function.end)
        flows, places = listing.flows[first:last], listing.addresses[first:last]
        known = references.callees
        computed = places[among(flows, leading(To.REGISTER) & CALLS)].tolist()
        targets = listing.targets[first:last][among(flows, leading(To.PLACE) & CALLS)].tolist()
        jumps = places[among(flows, leading(To.REGISTER) - CALLS)].tolist()
        inside = {table.jump for table in references.tables} - references.leaving
        return (
            any(at not in known for at in computed)
            or any(self.program.function_at(to) is None for to in targets)
            or any(at not in inside and at != handing_on for at in jumps)
        )

    def _calling(self, number: int) -> set[int]:
        """Blocks with a call that may end in a function, through others' last jumps too."""
        found, seen, queue = set[int](), set[int](), [number]
        while queue:
            here = queue.pop()
            if here not in seen:
                seen.add(here)
                found |= self._callers[here]
                queue += self._jumping[here]
        return found

    # The graph ----------------------------------------------------------------------------

    @property
    def _graph(self) -> Graph:
        return self.program.graph

    @cached_property
    def _number(self) -> dict[Function, int]:
        return {function: n for n, function in enumerate(self.program.functions)}

    @cached_property
    def _written(self) -> list[int]:
        listing = self.program.listing
        spans = np.stack([listing.addresses.searchsorted(at) for at in self.program.ranges], axis=1)
        none = np.zeros(1, dtype=np.uint64)
        columns = [
            np.bitwise_or.reduceat(np.append(listing.defs[:, n], none), spans.ravel())[::2]
            for n in range(listing.defs.columns)
        ]
        some = (spans[:, 0] < spans[:, 1])[:, None]
        return from_columns(np.where(some, np.stack(columns, axis=1), none))

    @cached_property
    def _writing(self) -> list[int]:
        """Per function the registers that it, or what it comes to, may write: a fixed point."""
        leading: dict[int, list[int]] = defaultdict(list)
        for here, others in self._callees.items():
            for there in others if here >= 0 else ():  # what is outside all functions is below none
                leading[there].append(here)
        found, waiting = list(self._written), [*leading]
        while waiting:
            there = waiting.pop()
            for here in leading.get(there, ()):
                if found[there] & ~found[here]:
                    found[here] |= found[there]
                    waiting.append(here)
        return found

    @cached_property
    def _links(self) -> tuple[dict[int, set[int]], dict[int, set[int]], dict[int, set[int]]]:
        """Functions that a function leads to; blocks that call it; functions that end in it."""
        graph, blocks = self._graph, len(self._graph.first)
        callees: dict[int, set[int]] = defaultdict(set)
        callers: dict[int, set[int]] = defaultdict(set)
        jumping: dict[int, set[int]] = defaultdict(set)
        ends = self._flows[graph.last - 1]
        leaves = among(ends, FALLING | BRANCHING)
        source, target = graph.source, graph.target
        callee = np.append(graph.function_of, np.full(len(graph.functions), -1))[target]
        inside = np.flatnonzero((source < blocks) & (target < blocks) & (callee >= 0))
        source, callee, kind = source[inside], callee[inside], graph.kind[inside]
        owner = self._owners[source]
        calls = kind == CALL
        away = ~calls & (owner >= 0) & (owner != callee) & leaves[source]
        for here, there, block in _rows(calls, owner, callee, source):
            callees[here].add(there)
            callers[there].add(block)
        for here, there in _rows(away, owner, callee):
            callees[here].add(there)
            jumping[there].add(here)
        return callees, callers, jumping

    @cached_property
    def _owners(self) -> NDArray[np.int64]:
        """The function of each block, and of the nops through which control leaves one."""
        graph, owners = self._graph, self._graph.function_of.copy()
        ends = self._flows[graph.last - 1]
        through = among(ends, FALLING)
        for block in np.flatnonzero(owners < 0).tolist():
            if block and through[block - 1]:
                owners[block] = owners[block - 1]
        return owners

    @property
    def _callees(self) -> dict[int, set[int]]:
        return self._links[0]

    @property
    def _callers(self) -> dict[int, set[int]]:
        return self._links[1]

    @property
    def _jumping(self) -> dict[int, set[int]]:
        return self._links[2]

    @property
    def _flows(self) -> NDArray[np.int8]:
        return self.program.listing.flows

    # Values across calls ------------------------------------------------------------------

    def prepare(self) -> None:
        """Finds what is asked for of all functions alike."""
        _ = self._links, self._writing

    def _inside(self, calling: Edges) -> _Inside:
        """The functions with some blocks, and with what stands behind those, and edges in each."""
        graph, every = self._graph, len(self._graph.first)
        some = np.union1d(calling, np.minimum(calling + 1, every - 1))
        chosen = np.isin(graph.function_of, graph.function_of[some])
        within = np.flatnonzero((graph.kind == WITHIN) & (graph.source < every))
        within = within[chosen[graph.source[within]] & (graph.target[within] < every)]
        source, target = graph.source[within], graph.target[within]
        same = graph.function_of[source] == graph.function_of[target]
        place = np.where(chosen, np.cumsum(chosen) - 1, -1)
        blocks = np.flatnonzero(chosen)
        return _Inside(self, blocks, place, place[source[same]], place[target[same]])


@dataclass(frozen=True)
class _Inside:
    """Blocks of some functions by their numbers in the graph, of which each has a `place` among
    these, or -1; and the edges between them, by that."""

    calls: Calls
    blocks: Edges
    place: Edges
    source: Edges
    target: Edges

    @cached_property
    def _graph(self) -> Graph:
        """The blocks alone, with what they read: what a system call does is not asked."""
        graph, listing = self.calls.program.graph, self.calls.program.listing
        leaving = among(listing.flows, {Flow.TRAP, Flow.STOP})
        return replace(
            graph,
            first=graph.first[self.blocks],
            last=graph.last[self.blocks],
            nodes=len(self.blocks),
            listing=replace(listing, uses=listing.uses.with_mask(leaving, 0)),
        )

    @cached_property
    def _flows(self) -> NDArray[np.int8]:
        """That of each block's last instruction."""
        return self._graph.listing.flows[self._graph.last - 1]

    def across(self) -> Iterator[tuple[int, int]]:
        """Blocks that end in a call, with the registers set before its end whose value may be read
        behind it; those where what stands behind is among the blocks, too, or nothing does.

        Registers know nothing of each other: each column is found for itself, in little memory.
        """
        made, callee = self._made()
        lost, columns = self._lost(made, callee), list[Masks]()
        onward, back = _ordered(self.source, self.target), _ordered(self.target, self.source)
        ends = np.unique(made)
        behind = np.append(self.place, len(self.blocks))[self.blocks[ends] + 1]
        ends, behind = ends[behind >= 0], behind[behind >= 0]
        uses, defs = self._graph.listing.uses, self._graph.listing.defs
        for n in range(lost.shape[1]):
            read, written = summary(self._graph, uses, defs, n)
            kept = ~lost[:, n]
            later = np.append(_read_after(back, read, kept & ~written), np.zeros_like(read[:1]))
            before = _set(onward, written, kept) | written
            columns.append(before[ends] & later[behind])
        return zip(self.blocks[ends].tolist(), from_columns(np.stack(columns, axis=1)), strict=True)

    def _made(self) -> tuple[Edges, Edges]:
        """The places of blocks with a call of a function, and its number."""
        graph, every = self.calls.program.graph, len(self.place)
        at = np.flatnonzero((graph.kind == CALL) & (graph.source < every))
        at = at[(self.place[graph.source[at]] >= 0) & (graph.target[at] < every)]
        callee = graph.function_of[graph.target[at]]
        return self.place[graph.source[at]][callee >= 0], callee[callee >= 0]

    def _lost(self, made: Edges, callee: Edges) -> Masks:
        """Per block: scratch registers that the call at its end takes, by calls of functions."""
        program = self.calls.program
        target, table = program.target, program.listing.table
        scratch = target.everything & ~target.returned
        lost = np.zeros((len(self.blocks), table.columns), dtype=np.uint64)
        called, which = np.unique(callee, return_inverse=True)
        masks = [self.calls.writes(program.functions[n]) & scratch for n in called.tolist()]
        np.bitwise_or.at(lost, made, in_columns(masks, table.columns)[which])
        known, all_scratch = frozenset(made.tolist()), table.columns_of(scratch)
        for at in np.flatnonzero(self._flows == FLOW_CODE[Flow.INDIRECT_CALL]).tolist():
            insn = program.listing.insn(int(self._graph.last[at]) - 1)
            if at not in known and insn is not None and target.standard_call(insn):
                lost[at] = all_scratch
        lost[among(self._flows, FALLING)] = 0  # a call that need not happen
        return lost


def _ordered(source: Edges, goal: Edges) -> tuple[Edges, Edges]:
    """Edges in the order of their goals."""
    order = np.argsort(goal, kind="stable")
    return source[order], goal[order]


def _set(edges: tuple[Edges, Edges], written: Masks, kept: Masks) -> Masks:
    """Registers that hold at a block's start what its function has set, on some path."""
    found = np.zeros_like(written)

    def given(source: Edges, goal: Edges) -> Masks:
        return (found[source] | written[source]) & kept[source]

    _settle(found, *edges, given)
    return found


def _read_after(edges: tuple[Edges, Edges], read: Masks, through: Masks) -> Masks:
    """Registers whose value at a block's start an instruction of its function may read; edges go
    back."""
    found = read.copy()

    def given(source: Edges, goal: Edges) -> Masks:
        return found[source] & through[goal]

    _settle(found, *edges, given)
    return found


def _settle(
    found: Masks, source: Edges, goal: Edges, given: Callable[[Edges, Edges], Masks]
) -> None:
    """Adds to what nodes have what others give, from a source to a goal, until nothing is new.

    All are one column, and edges in the order of their goals.  Only what has something new gives
    again.
    """
    new = np.ones(len(found), dtype=bool)
    while len(edges := np.flatnonzero(new[source])):
        here = goal[edges]
        starts = np.flatnonzero(np.diff(here, prepend=-1))
        goals = here[starts]
        more = np.bitwise_or.reduceat(given(source[edges], here), starts)
        more |= found[goals]
        new[:] = False
        new[goals[more != found[goals]]] = True
        found[goals] = more


def _rows(chosen: NDArray[np.bool_], *columns: NDArray[np.int64]) -> Iterator[tuple[int, ...]]:
    return zip(*(column[chosen].tolist() for column in columns), strict=True)
