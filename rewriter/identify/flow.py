"""The flow of control of a whole text: blocks and edges, as arrays.

Beside a node for each block there is one for each function's return: blocks that return lead to
it, and it leads to wherever the function was called from, through tail calls too.  Edges into a
called function (`CALL`) are kept apart, so that an analysis can summarise a callee instead of
mixing its callers.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import NOWHERE, Addresses, addresses, first_at, span
from rewriter.core.isa import Flow, Insn
from rewriter.core.listing import FLOW_CODE, FLOWS, INLINE, UNKNOWN, Listing
from rewriter.core.program import Fixup, Function, JumpTable

Edges = NDArray[np.int64]

_NEXT, _BRANCH, _JUMP = (FLOW_CODE[flow] for flow in (Flow.NEXT, Flow.BRANCH, Flow.JUMP))


@dataclass(frozen=True)
class Convention:
    """What a target says about control that crosses functions.

    `live_after` is what unseen code may read after a transfer, `passed` what a callee that we
    see may have been given by a call, `returned` what a caller that we see may have been given
    by a standard return.
    """

    live_after: Callable[[Insn], int]
    passed: Callable[[Insn], int]
    returned: int
    standard_return: Callable[[Insn], bool]
    everything: int


WITHIN, CALL, RETURN, FAULT = range(4)
"""Kinds of edges: inside a function or a tail call; into a callee; from a return to a caller; from
a block whose last access faults, before that access."""

INSIDE = (WITHIN, FAULT)


@dataclass(frozen=True)
class Graph:
    """Blocks as positions [first, last) of the listing; nodes above `len(first)` are returns.

    `source`, `target` and `kind` are the edges between nodes; `passed` is, per edge, the mask of
    registers that can carry a value along it.  Per node, `outside` is the mask
    of registers that code outside the graph may read when control leaves there for good or for
    a call, and `returned` that which an unknown caller may read after a return.  `function_of`
    is per block, -1 for none; `continues` says that control comes only from the block before,
    `entered` that it may come from outside the function, `reached` that it may come at all.
    `faulting` says, per position, that an access may fault and control go on elsewhere, `resumed`
    per block that it may go on there.
    """

    listing: Listing
    functions: tuple[Function, ...]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    function_of: NDArray[np.int64]
    source: Edges
    target: Edges
    kind: NDArray[np.int8]
    passed: NDArray[np.uint64]
    outside: NDArray[np.uint64]
    returned: NDArray[np.uint64]
    nodes: int
    faulting: NDArray[np.bool_]
    resumed: NDArray[np.bool_]
    continues: NDArray[np.bool_]
    entered: NDArray[np.bool_]
    reached: NDArray[np.bool_]

    def block_at(self, address: int) -> int:
        """The block that starts at `address`; KeyError if none does."""
        block = first_at(self._starts, address)
        if block == len(self._starts) or self._starts[block] != address:
            raise KeyError(address)
        return block

    def block_holding(self, address: int) -> int:
        """The block with an instruction at `address`."""
        at = self.listing.index(address)
        return int(np.searchsorted(self.first, at, side="right")) - 1

    def blocks_of(self, function: Function) -> range:
        """The function's blocks."""
        return range(*span(self._starts, function.start, function.end))

    def within(self, blocks: range) -> dict[int, list[int]]:
        """The edges among a function's blocks: what follows each, or a fault in it."""
        found: dict[int, list[int]] = {}
        sources, targets = self._inner
        first, last = np.searchsorted(sources, (blocks.start, blocks.stop))
        for source, to in zip(
            sources[first:last].tolist(), targets[first:last].tolist(), strict=True
        ):
            if blocks.start <= to < blocks.stop:
                found.setdefault(source, []).append(to)
        return found

    @cached_property
    def _starts(self) -> Addresses:
        return self.listing.addresses[self.first]

    @cached_property
    def _inner(self) -> tuple[Edges, Edges]:
        """Edges inside functions, by source."""
        chosen = np.flatnonzero(np.isin(self.kind, INSIDE))
        chosen = chosen[np.argsort(self.source[chosen], kind="stable")]
        return self.source[chosen], self.target[chosen]


def build(
    listing: Listing,
    functions: Sequence[Function],
    tables: Sequence[JumpTable],
    entries: Iterable[int],
    callees: dict[int, int],
    convention: Convention,
    fixups: Sequence[Fixup] = (),
) -> Graph:
    """The graph of a listing.

    `entries` are all addresses at which control may arrive by other ways than branches;
    `callees` gives, for computed calls that are understood, the function's address; `fixups` are
    where control goes when an access faults.
    """
    entries = set(entries)
    fixups = [fixup for fixup in fixups if listing.has(fixup.access)]
    faulting = np.zeros(len(listing), dtype=bool)
    faulting[[listing.index(fixup.access) for fixup in fixups]] = True
    first = _leaders(listing, functions, tables, entries, fixups)
    last = np.append(first[1:], len(listing))
    starts = addresses(f.start for f in functions)
    ends = addresses(f.end for f in functions)
    places = listing.addresses[first]
    owner = np.searchsorted(starts, places, side="right") - 1
    inside = (owner >= 0) & (places < ends[np.maximum(owner, 0)])
    function_of = np.where(inside, owner, -1)
    builder = _Edges(listing, first, last, function_of, len(functions), convention)
    builder.function_of = _with_islands(builder, entries)
    builder.add_all({table.jump: table for table in tables}, callees)
    builder.add_fixups(fixups)
    entered = np.isin(places, addresses(entries | {f.start for f in functions}))
    return Graph(
        listing=listing,
        functions=tuple(functions),
        first=first,
        last=last,
        function_of=function_of,
        source=np.array(builder.source),
        target=np.array(builder.target),
        kind=np.array(builder.kind),
        passed=np.array(builder.passed).reshape(-1, listing.uses.shape[1]),
        outside=builder.in_columns(builder.outside),
        returned=builder.in_columns(builder.returned),
        nodes=builder.nodes,
        faulting=faulting,
        resumed=np.isin(places, addresses(fixup.resume for fixup in fixups)),
        continues=_continues(builder, entered),
        reached=entered | (np.bincount(builder.target, minlength=builder.nodes) > 0)[: len(first)],
        entered=entered | _entered_from_elsewhere(builder, function_of),
    )


def _leaders(
    listing: Listing,
    functions: Sequence[Function],
    tables: Sequence[JumpTable],
    entries: Iterable[int],
    fixups: Iterable[Fixup],
) -> NDArray[np.int64]:
    named = {f.start for f in functions} | {f.end for f in functions} | set(entries)
    for table in tables:
        named.update(table.targets)
    step = int(np.min(np.diff(listing.addresses)))
    for fixup in fixups:
        named.update((fixup.access + step, fixup.resume))
    wanted = np.concatenate((addresses(sorted(named)), listing.targets[listing.targets != NOWHERE]))
    at = np.searchsorted(listing.addresses, wanted)
    at = at[at < len(listing)]
    at = at[np.isin(listing.addresses[at], wanted)]
    leaves = np.flatnonzero(listing.flows != FLOW_CODE[Flow.NEXT]) + 1
    gaps = np.flatnonzero(np.diff(listing.addresses) > step) + 1
    every = np.unique(np.concatenate(([0], at, leaves, gaps)))
    return every[every < len(listing)].astype(np.int64)


def _continues(builder: _Edges, entered: NDArray[np.bool_]) -> NDArray[np.bool_]:
    count = np.bincount(np.array(builder.target, dtype=np.int64), minlength=builder.nodes)
    straight = np.isin(
        builder.listing.flows[builder.final], (FLOW_CODE[Flow.NEXT], FLOW_CODE[Flow.BRANCH])
    )
    after_straight = np.concatenate(([False], straight[:-1]))
    return np.asarray((count[: builder.blocks] == 1) & ~entered & after_straight)


def _with_islands(builder: _Edges, entries: set[int]) -> list[int]:
    """The function of each block, with islands: a jump outside all functions, from one and back.

    Assemblers put what is rarely needed, as a lock's way to try again, behind all functions of an
    object (`.subsection`).  Nothing else leads there, so it returns to where its function does.
    """
    listing, owner = builder.listing, list(builder.function_of)
    targets = listing.targets[builder.final].tolist()
    codes = (FLOW_CODE[Flow.JUMP],)
    final = listing.flows[builder.final].tolist()
    orphans = [b for b, own in enumerate(owner) if own < 0 and final[b] in codes]
    goal = {b: builder.block_of(targets[b]) for b in orphans}
    sources: dict[int, set[int]] = {b: set() for b in orphans}
    places = {builder.addresses[b]: b for b in orphans}
    for block, target in enumerate(targets):
        if target in places:
            sources[places[target]].add(owner[block])
    for block in orphans:
        to = goal[block]
        home = -1 if to is None else builder.function_of[to]
        alone = builder.addresses[block] not in entries and _never_falls_in(builder, block)
        if home >= 0 and sources[block] == {home} and alone:
            owner[block] = home
    return owner


def _never_falls_in(builder: _Edges, block: int) -> bool:
    """Whether no function's code comes to a block from the one before it."""
    if block == 0 or builder.function_of[block - 1] < 0:
        return True  # fillers between functions, or another island
    flow = builder.listing.flows[builder.final[block - 1]]
    return int(flow) in (FLOW_CODE[Flow.JUMP], FLOW_CODE[Flow.RETURN], FLOW_CODE[Flow.STOP])


def _entered_from_elsewhere(builder: _Edges, owner: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Blocks that code of another function calls or branches to."""
    source, target, kind = (np.array(a) for a in (builder.source, builder.target, builder.kind))
    entered = np.zeros(builder.blocks, dtype=bool)
    entered[target[kind == CALL]] = True
    inside = np.isin(kind, INSIDE)
    source, target = source[inside], target[inside]
    entered[target[owner[source] != owner[target]]] = True
    return entered


class _Edges:
    """Collects edges and outside readers block by block."""

    def __init__(
        self,
        listing: Listing,
        first: NDArray[np.int64],
        last: NDArray[np.int64],
        function_of: NDArray[np.int64],
        functions: int,
        convention: Convention,
    ) -> None:
        self.listing, self.convention = listing, convention
        self.blocks, self.nodes = len(first), len(first) + functions
        self.addresses = listing.addresses[first].tolist()
        self.final = (last - 1).tolist()
        self.function_of = function_of.tolist()
        # A kernel has a million edges: numbers, not objects.
        self.source, self.target = array("q"), array("q")
        self.kind, self.passed = array("b"), array("Q")
        self._all = self._columns(convention.everything)
        self.outside, self.returned = [0] * self.nodes, [0] * self.nodes  # masks

    def add_all(self, tables: dict[int, JumpTable], callees: dict[int, int]) -> None:
        """The edges of every block: those of plain code all at once, the others one by one."""
        codes = self.listing.flows[self.final]
        self._straight(np.flatnonzero(np.isin(codes, (_NEXT, _BRANCH))))
        self._going(np.flatnonzero(np.isin(codes, (_BRANCH, _JUMP))))
        for block in np.flatnonzero(~np.isin(codes, (_NEXT, _BRANCH, _JUMP))).tolist():
            self._other(block, int(codes[block]), tables, callees)

    def _straight(self, blocks: Edges) -> None:
        """Control goes on from each of the blocks to the next one."""
        inside = blocks + 1 < self.blocks
        self._edges(blocks[inside], blocks[inside] + 1)
        for block in blocks[~inside].tolist():
            self._escape(block)

    def _going(self, blocks: Edges) -> None:
        """Each of the blocks ends with a branch or jump."""
        starts = np.array(self.addresses, dtype=np.uint64)
        targets = self.listing.targets[np.array(self.final)[blocks]]
        to = np.minimum(starts.searchsorted(targets), self.blocks - 1)
        known = starts[to] == targets
        for block in blocks[~known].tolist():
            self._escape(block)
        blocks, to = blocks[known], to[known]
        self._edges(blocks, to)
        owner = np.array(self.function_of)
        away = owner[blocks] != owner[to]
        for block, other in zip(blocks[away].tolist(), to[away].tolist(), strict=True):
            self._tail_call(block, other)

    def _edges(self, source: Edges, target: Edges) -> None:
        self.source.frombytes(source.astype(np.int64).tobytes())
        self.target.frombytes(target.astype(np.int64).tobytes())
        self.kind.frombytes(np.full(len(source), WITHIN, dtype=np.int8).tobytes())
        self.passed.frombytes(np.tile(np.array(self._all, dtype=np.uint64), len(source)).tobytes())

    def _other(
        self, block: int, code: int, tables: dict[int, JumpTable], callees: dict[int, int]
    ) -> None:
        flow = None if code == UNKNOWN else FLOWS[code]
        if flow is None:
            self._escape(block)
        elif flow is Flow.TRAP and not self._data_follows(block):
            self._fall_through(block)
        elif flow is Flow.CALL:
            self._call(block, int(self.listing.targets[self.final[block]]))
        elif flow is Flow.INDIRECT_CALL:
            self._computed_call(block, callees.get(self._end_address(block)))
        elif flow is Flow.RETURN:
            self._return(block)
        elif flow is Flow.INDIRECT:
            self._computed(block, tables.get(self._end_address(block)))

    def add_fixups(self, fixups: Iterable[Fixup]) -> None:
        """An access that may fault ends its block, and control may go on where it resumes.

        The access does not happen then, so it must not count as a write on that way.
        """
        for fixup in fixups:
            at = bisect_right(self.addresses, fixup.access) - 1
            to = self.block_of(fixup.resume)
            if to is None or self.function_of[at] != self.function_of[to]:
                self._escape(at)
            if to is not None:
                kept = self._columns(fixup.kept & self.convention.everything)
                self._edge(at, to, FAULT, kept)

    def _end_address(self, block: int) -> int:
        return int(self.listing.addresses[self.final[block]])

    def _columns(self, mask: int) -> list[int]:
        return [mask >> 64 * n & (1 << 64) - 1 for n in range(self.listing.uses.shape[1])]

    def _edge(
        self, source: int, target: int, kind: int = WITHIN, passed: list[int] | None = None
    ) -> None:
        self.source.append(source)
        self.target.append(target)
        self.kind.append(kind)
        self.passed.extend(self._all if passed is None else passed)

    def block_of(self, address: int) -> int | None:
        """The block that starts at an address."""
        at = bisect_right(self.addresses, address) - 1
        return at if at >= 0 and self.addresses[at] == address else None

    def _data_follows(self, block: int) -> bool:
        """Whether control does not come back from a trap: there is data behind it."""
        after = self.final[block] + 1
        return after < len(self.listing) and bool(self.listing.rows[after] == INLINE)

    def _escape(self, block: int) -> None:
        self.outside[block] |= self.convention.everything

    def in_columns(self, masks: Sequence[int]) -> NDArray[np.uint64]:
        """Register masks in as many 64-bit columns as the listing has."""
        ones, columns = (1 << 64) - 1, range(self.listing.uses.shape[1])
        found = [np.array([m >> 64 * n & ones for m in masks], dtype=np.uint64) for n in columns]
        return np.stack(found, axis=1)

    def _final(self, block: int) -> Insn:
        insn = self.listing.insn(self.final[block])
        assert insn is not None
        return insn

    def _fall_through(self, block: int) -> None:
        if block + 1 < self.blocks:
            self._edge(block, block + 1)
        else:
            self._escape(block)

    def _return_node(self, block: int) -> int | None:
        function = self.function_of[block]
        return None if function < 0 else self.blocks + function

    def _go(self, block: int, target: int) -> None:
        to = self.block_of(target)
        if to is None:
            self._escape(block)
            return
        self._edge(block, to)
        self._tail_call(block, to)

    def _tail_call(self, block: int, to: int) -> None:
        """If it is one, the other function returns to where this one was called from."""
        here, there = self._return_node(block), self._return_node(to)
        if here != there:
            if here is None or there is None:
                self._escape(block)
            else:
                self._edge(there, here, RETURN)

    def _call(self, block: int, target: int) -> None:
        self._fall_through(block)
        to = self.block_of(target)
        node = None if to is None else self._return_node(to)
        if to is None or node is None:
            self._escape(block)
            return
        self._edge(block, to, CALL, self._columns(self.convention.passed(self._final(block))))
        if block + 1 < self.blocks:
            self._edge(node, block + 1, RETURN, self._columns(self.convention.returned))

    def _computed_call(self, block: int, callee: int | None) -> None:
        if callee is not None and self.block_of(callee) is not None:
            self._call(block, callee)
        else:
            self._fall_through(block)
            self.outside[block] |= self.convention.live_after(self._final(block))

    def _return(self, block: int) -> None:
        insn = self._final(block)
        node = self._return_node(block)
        if node is None or not self.convention.standard_return(insn):
            self.returned[block] |= self.convention.everything
        else:
            self.returned[block] |= self.convention.live_after(insn)
            self._edge(block, node, RETURN)

    def _computed(self, block: int, table: JumpTable | None) -> None:
        if table is None:
            self.outside[block] |= self.convention.live_after(self._final(block))
            return
        for target in sorted(set(table.targets)):
            self._go(block, target)
