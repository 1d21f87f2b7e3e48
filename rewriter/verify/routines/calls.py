"""Which registers callers keep a value in across a call of a function.

gcc's -fipa-ra lets a caller keep a value in a scratch register across a call whose callee does not
write it.  So what replaces a function may write what the function writes, with all that it calls,
and beyond that a scratch register only if no caller in this file sets it before the call and has
an instruction of its own that reads it afterwards.  Values die in calls on the way as the callee's
code says, or as the calling standard does where the callee is not known.

What a later call or system call takes as arguments is not looked at: compilers set arguments
behind the last call in front of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.edges import CALL, WITHIN, Edges
from rewriter.analysis.flow import Graph
from rewriter.analysis.liveness import summary
from rewriter.analysis.program import Program
from rewriter.core.code.listing import FLOW_CODE, among
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import BRANCHING, FALLING, Flow
from rewriter.core.isa.interned import Interned, interned
from rewriter.core.isa.registers import Masks, from_columns, in_columns, of_row

ASSUMED = "arguments of a later call are set after the call"
"""What is taken for granted where a new register is written."""


@dataclass(frozen=True)
class Calls:
    """The calls of a program, by function, and what lives across them."""

    program: Program

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
        mask = 0
        for block in self._calling(self._number[function]):
            mask |= of_row(self._across[block])
        return mask

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
        """Finds what lives across calls."""
        _ = self._across

    @cached_property
    def _across(self) -> Interned:
        """Per block: registers set before its end whose value may be read behind it.

        Registers know nothing of each other: each column is found for itself, in little memory.
        """
        program, (source, target) = self.program, self._inside()
        flows = among(self._flows, {Flow.TRAP, Flow.STOP})  # what a system call reads is not asked
        listing = replace(program.listing, uses=program.listing.uses.with_mask(flows, 0))
        graph, lost = replace(self._graph, listing=listing), self._lost()
        onward, back = _ordered(source, target), _ordered(target, source)
        columns = []
        for n in range(lost.shape[1]):
            read, written = summary(graph, n)
            kept = ~lost[:, n]
            behind = _read_after(back, read, kept & ~written)
            before = _set(onward, written, kept) | written
            columns.append(before[:-1] & behind[1:])
        return interned(np.stack(columns, axis=1))

    def _lost(self) -> Masks:
        """Per node: scratch registers that the call at its end takes."""
        graph, target = self._graph, self.program.target
        table = self.program.listing.table
        lost = np.zeros((graph.nodes, table.columns), dtype=np.uint64)
        scratch = target.everything & ~target.returned
        all_scratch = table.columns_of(scratch)
        masks = [self.writes(self.program.functions[n]) & scratch for n in self._callers]
        rows = in_columns(masks, table.columns)
        for row, blocks in zip(rows, self._callers.values(), strict=True):
            lost[sorted(blocks)] |= row
        known = set().union(*self._callers.values()) if self._callers else set()
        calls = self._flows[graph.last - 1] == FLOW_CODE[Flow.INDIRECT_CALL]
        for block in np.flatnonzero(calls).tolist():
            insn = self.program.listing.insn(int(graph.last[block]) - 1)
            standard = insn is not None and target.standard_call(insn)
            if standard and block not in known:
                lost[block] = all_scratch
        perhaps = among(self._flows[graph.last - 1], FALLING)  # a call that need not happen
        lost[: len(perhaps)][perhaps] = 0
        return lost

    def _inside(self) -> tuple[Edges, Edges]:
        """Sources and targets of the edges within functions."""
        graph, blocks = self._graph, len(self._graph.first)
        ok = (graph.kind == WITHIN) & (graph.source < blocks) & (graph.target < blocks)
        source, target = graph.source[ok], graph.target[ok]
        same = graph.function_of[source] == graph.function_of[target]
        return source[same], target[same]


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
