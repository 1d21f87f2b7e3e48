"""Which registers anything may read, at every block: one fixed point over the whole text.

Masks are OR-ed along edges, so a register is dead only where every path, through returns to every
caller that we see and out to every reader that we do not, writes it before reading it.

A register is read, and so live, where it goes into a value that nobody looks at: a count that a
loop keeps for itself alone.  It is needed only where what is made of it is: a store, an access, a
branch, a call, or what some path needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.edges import CALL, FAULT, NUMBER, RETURN, WITHIN, Edges, once
from rewriter.analysis.flow import Graph
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow
from rewriter.core.isa.interned import AT_ONCE, Interned, interned
from rewriter.core.isa.registers import Masks, of_row
from rewriter.core.run.workers import each_apart

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Liveness:
    """Live register masks per block."""

    live_in: Interned
    live_out: Interned

    def into(self, block: int) -> int:
        """Registers that may be read from the block's start on."""
        return of_row(self.live_in[block])

    def out_of(self, block: int) -> int:
        """Registers that may be read after the block."""
        return of_row(self.live_out[block])


def solve(graph: Graph) -> Liveness:
    """The least fixed point, in two steps so that callers do not mix.

    First what a callee itself may read, with nothing read after its return; then what is read
    after each point, where a call counts for what its callee may read.

    Calls and returns through the standard linkage pass only what the calling standard names,
    beside what the code that they reach plainly reads before a branch (hand-written code does):
    compilers leave paths that read an unset register but are never taken, and one such path would
    keep scratch registers live everywhere.  A caller that keeps a value in a scratch register
    across a call (gcc -fipa-ra) does so only if nothing in the callee writes it, and a rewrite
    writes no register that the code it replaces did not write.
    """
    return solve_beside(graph, int, 1)[0]


def solve_beside(graph: Graph, other: Callable[[], _Found], jobs: int) -> tuple[Liveness, _Found]:
    """The same, and what other work on the graph gives, which `jobs` processes share."""
    alike = _Alike.of(graph)
    columns = _Columns.of(alike.graph(graph))
    tasks = [*columns.tasks(), other]
    *found, more = each_apart(_done, tasks, graph.processes(jobs))
    live = columns.joined(found)
    return Liveness(alike.all(live.live_in), alike.all(live.live_out)), more


def _done(task: Callable[[], Any]) -> Any:
    return task()


@dataclass(frozen=True)
class _Alike:
    """Registers that a text names by the same instructions, edges and readers, as a kernel all of
    a unit that it leaves to programs: what is found of one of them is so of all.

    `firsts` are one of each kind, ascending: those of one unit spread together.  `kinds` is for
    each register the number of its own.
    """

    firsts: NDArray[np.intp]
    kinds: NDArray[np.intp]

    @classmethod
    def of(cls, graph: Graph) -> _Alike:
        """Those of the text of a graph."""
        listing = graph.listing
        every = (listing.uses, listing.defs, graph.passed, graph.outside, graph.returned)
        named = _bits(np.concatenate([masks.distinct for masks in every]))
        _, firsts, kinds = np.unique(named, axis=1, return_index=True, return_inverse=True)
        return cls(np.sort(firsts), firsts.argsort().argsort()[kinds])

    def graph(self, graph: Graph) -> Graph:
        """A graph with one register of each kind."""
        listing = graph.listing
        uses, defs = (self._one(masks) for masks in (listing.uses, listing.defs))
        return replace(
            graph,
            listing=replace(listing, uses=uses, defs=defs),
            passed=self._one(graph.passed),
            outside=self._one(graph.outside),
            returned=self._one(graph.returned),
        )

    def _one(self, masks: Interned) -> Interned:
        return replace(masks, distinct=_masks(_bits(masks.distinct)[:, self.firsts]))

    def all(self, masks: Interned) -> Interned:
        """Masks of such registers as masks of every register."""
        return replace(masks, distinct=_masks(_bits(masks.distinct)[:, self.kinds]))


def _bits(masks: Masks) -> NDArray[np.uint8]:
    """For each mask a row, with a number for each register that is 1 if it has it."""
    return np.unpackbits(masks.astype("<u8").view(np.uint8), axis=1, bitorder="little")


def _masks(bits: NDArray[np.uint8]) -> Masks:
    """The masks that have such bits."""
    found = np.zeros((len(bits), -(-bits.shape[1] // 64) * 8), dtype=np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    found[:, : packed.shape[1]] = packed
    return found.view("<u8").astype(np.uint64, copy=False)


@dataclass(frozen=True)
class _Ways:
    """The edges of a graph: calls, those between functions, those into the next block; and those
    by which a callee reads, and by which code goes on."""

    calls: NDArray[np.bool_]
    crossing: NDArray[np.bool_]
    falling: tuple[Edges, Edges]
    through: Incoming
    within: Incoming


@dataclass(frozen=True)
class _Columns:
    """Registers know nothing of each other: each column is found for itself, in little memory."""

    graph: Graph
    ways: _Ways

    @classmethod
    def of(cls, graph: Graph) -> _Columns:
        """Those of a graph."""
        kinds = graph.kind
        ways = _Ways(
            calls=kinds == CALL,
            crossing=np.isin(kinds, (CALL, RETURN)),
            falling=_falling(graph),
            through=Incoming.of(graph, kinds != RETURN),
            within=Incoming.of(graph, kinds != CALL),
        )
        return cls(graph, ways)

    def tasks(self) -> Iterator[Callable[[], tuple[Masks, Masks]]]:
        """What finds each."""
        for n in range(self.graph.listing.uses.columns):
            yield partial(_column, self.graph, self.ways, n)

    def joined(self, found: Sequence[tuple[Masks, Masks]]) -> Liveness:
        """What they found."""
        live_in, live_out = (np.stack(masks, axis=1) for masks in zip(*found, strict=True))
        return Liveness(interned(live_in), interned(live_out))


def _column(graph: Graph, ways: _Ways, n: int) -> tuple[Masks, Masks]:
    """A column of what is live into and out of each node."""
    read, written = summary(graph, graph.listing.uses, graph.listing.defs, n)
    passed = graph.passed[:, n].copy()
    crossing, calls = ways.crossing, ways.calls
    passed[crossing] |= _plainly_read(ways.falling, read, written)[graph.target[crossing]]
    _stopped_by_writes(graph, passed, n)
    callee = ways.through.spread(passed, read, written, graph.outside[:, n].copy())
    live_out = graph.outside[:, n] | graph.returned[:, n]
    entered = callee[graph.target[calls]] & passed[calls]
    np.bitwise_or.at(live_out, graph.source[calls], entered)
    return ways.within.spread(passed, read, written, live_out), live_out


def _falling(graph: Graph) -> tuple[Edges, Edges]:
    """Source and target of edges that no transfer of control makes.

    A label alone ends a block, but no code that is plain: behind a gp pair stands the other entry.
    """
    within = np.flatnonzero(graph.kind == WITHIN)
    within = within[graph.source[within] < len(graph.last)]
    ends = graph.listing.flows[graph.last[graph.source[within]] - 1]
    falling = within[ends == FLOW_CODE[Flow.NEXT]]
    return graph.source[falling], graph.target[falling]


def _plainly_read(falling: tuple[Edges, Edges], read: Masks, written: Masks) -> Masks:
    """Per node: registers read before any write from its start to the next transfer of control."""
    source, target = falling
    plain, chosen = read.copy(), np.arange(len(source))
    while len(chosen):
        before, more = source[chosen], plain[target[chosen]] & ~written[source[chosen]]
        new = (more & ~plain[before]) != 0
        plain[before[new]] |= more[new]
        chosen = np.flatnonzero(np.isin(target, before[new]))
    return plain


def _stopped_by_writes(graph: Graph, passed: Masks, n: int) -> None:
    """An access that faults is the last in its block: what the block writes before it is dead."""
    for edge in np.flatnonzero(graph.kind == FAULT).tolist():
        block = int(graph.source[edge])
        first, last = int(graph.first[block]), int(graph.last[block])
        passed[edge] &= ~np.bitwise_or.reduce(graph.listing.defs[first : last - 1, n])


@dataclass(frozen=True)
class Incoming:
    """Some edges in the `order` of their targets; those into a node are from its `starts` to the
    next.  Those that are `early` leave before their source ends.
    """

    order: Edges
    source: Edges
    starts: Edges
    early: NDArray[np.bool_]

    @classmethod
    def of(cls, graph: Graph, chosen: NDArray[np.bool_]) -> Incoming:
        """Those of a graph that are chosen."""
        order = graph.by_target
        order = order[chosen[order]]
        starts = graph.target[order].searchsorted(np.arange(graph.nodes + 1, dtype=NUMBER))
        early = graph.kind[order] == FAULT
        return cls(order, graph.source[order], starts.astype(NUMBER), early)

    def spread(self, passed: Masks, read: Masks, written: Masks, live_out: Masks) -> Masks:
        """Live into each node, and in place what is live out of it: only what is new goes on.

        All are one column; `passed` is that of every edge of the graph.
        """
        first, passed = read.copy(), passed[self.order]
        live_in = read | (live_out & ~written)
        changed = np.flatnonzero(live_in)
        while len(changed):
            before = list[Edges]()
            for at in range(0, len(changed), AT_ONCE):
                some = changed[at : at + AT_ONCE]
                edges, counts = self._into(some)
                source, early = self.source[edges], self.early[edges]
                carried = np.repeat(live_in[some], counts) & passed[edges]
                np.bitwise_or.at(live_out, source[~early], carried[~early])
                np.bitwise_or.at(first, source[early], carried[early])
                before.append(source)
            reached = once(np.concatenate(before), len(live_in))
            after = first[reached] | (live_out[reached] & ~written[reached])
            new = after != live_in[reached]
            changed = reached[new]
            live_in[changed] = after[new]
        return live_in

    def _into(self, nodes: Edges) -> tuple[Edges, Edges]:
        """The edges into some nodes, and how many each has."""
        starts = self.starts[nodes]
        counts = self.starts[nodes + 1] - starts
        behind = np.cumsum(counts)
        return np.repeat(starts - behind + counts, counts) + np.arange(behind[-1]), counts


def summary(graph: Graph, uses: Interned, defs: Interned, n: int) -> tuple[Masks, Masks]:
    """A column of what nodes read before any write in them, and of what they write; both are given
    by instruction."""
    length = graph.last - graph.first
    longest_first = np.argsort(-length, kind="stable")
    first = graph.first[longest_first]
    used, set_before = (np.zeros(len(first), dtype=np.uint64) for _ in range(2))
    for step, count in enumerate(_longer(length)):
        # Every block that is long enough takes its next instruction, in one operation.
        at = first[:count] + step
        used[:count] |= uses[at, n] & ~set_before[:count]
        set_before[:count] |= defs[at, n]
    read, written = (np.zeros(graph.nodes, dtype=np.uint64) for _ in range(2))
    read[longest_first], written[longest_first] = used, set_before
    return read, written


def _longer(length: NDArray[np.int64]) -> list[int]:
    """How many blocks have more than 0, 1, 2 ... instructions, as long as there are any."""
    longer: list[int] = np.bincount(length)[:0:-1].cumsum()[::-1].tolist()
    return longer


_Step = tuple[bool, int, int]
"""Whether an instruction only computes scratch registers; masks of what it reads and writes."""


@dataclass(frozen=True)
class Needed:
    """Masks of the registers that are needed into and after the blocks of a function."""

    into: Mapping[int, int]
    after: Mapping[int, int]
    steps: Mapping[int, list[_Step]]

    def behind(self, block: int, count: int) -> int:
        """Registers that are needed behind so many instructions of a block."""
        return _before(self.steps[block][count:], self.after[block])


def needed(graph: Graph, function: Function, live: Liveness, scratch: int) -> Needed:
    """The least fixed point over a function's blocks; what leaves it is needed where it is live.

    What writes other registers than `scratch` is taken for something that is seen.
    """
    blocks = graph.blocks_of(function)
    following = graph.followed_within(blocks)
    leading: dict[int, list[int]] = {}
    for block, others in following.items():
        for other in others:
            leading.setdefault(other, []).append(block)
    steps = {block: _steps(graph, block, scratch) for block in blocks}
    into, after = dict.fromkeys(blocks, 0), dict.fromkeys(blocks, 0)
    waiting = list(blocks)
    while waiting:
        block = waiting.pop()
        mask = live.out_of(block)
        if block in following:
            reached = 0
            for other in following[block]:
                reached |= into[other]
            mask &= reached
        after[block] = mask
        # Where an access goes on elsewhere when it faults, what is needed there is not looked at.
        faulting = bool(graph.faulting[graph.last[block] - 1])
        mask = live.into(block) if faulting else _before(steps[block], mask)
        if mask != into[block]:
            into[block] = mask
            waiting += leading.get(block, ())
    return Needed(into, after, steps)


def _steps(graph: Graph, block: int, scratch: int) -> list[_Step]:
    """Those of a block."""
    listing, here = graph.listing, slice(int(graph.first[block]), int(graph.last[block]))
    table = listing.table
    insns = listing.insns_at(here.start, here.stop)
    uses, defs = listing.uses.numbers(here), listing.defs.numbers(here)
    computes = [
        insn is not None
        and bool(table.computes(insn))
        and not table.accesses(insn)
        and not writes & ~scratch
        for insn, writes in zip(insns, defs, strict=True)
    ]
    return list(zip(computes, uses, defs, strict=True))


def _before(steps: list[_Step], mask: int) -> int:
    """What is needed before some instructions, if a mask is needed behind them."""
    for computes, uses, defs in reversed(steps):
        if not computes or defs & mask:
            mask = mask & ~defs | uses
    return mask
