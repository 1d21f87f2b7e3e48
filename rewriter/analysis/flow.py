"""The flow of control of a whole text: blocks and edges, as arrays.

Beside a node for each block there is one for each function's return: blocks that return lead to
it, and it leads to wherever the function was called from, through tail calls too.  Edges into a
called function (`CALL`) are kept apart, so that an analysis can summarise a callee instead of
mixing its callers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.edges import CALL, INSIDE, NUMBER, WITHIN, Collected, Convention, Edges
from rewriter.core.addresses import Addresses, addresses, contains, first_at, holders, span
from rewriter.core.code.listing import FLOW_CODE, Listing
from rewriter.core.code.program import Fixup, Function, JumpTable, extents
from rewriter.core.isa.instruction import STRAIGHT, Flow
from rewriter.core.isa.interned import Interned
from rewriter.core.target.protocol import References

_MANY = 1 << 17
"""Nodes of a graph that is worth more than one process."""


@dataclass(frozen=True)
class Graph:
    """Blocks as positions [first, last) of the listing; nodes above `len(first)` are returns.

    `source`, `target` and `kind` are the edges between nodes; `passed` is, per edge, the mask of
    registers that can carry a value along it.  Per node, `outside` is the mask
    of registers that code outside the graph may read when control leaves there for good or for
    a call, and `returned` that which an unknown caller may read after a return.  `function_of`
    is per block, -1 for none; `continues` says that control comes only from the block before,
    `entered` that it may come from outside the function, `named` that it may by no edge,
    `elsewhere` that another function's code calls or branches there, `reached` that control may
    come at all;
    `landed` that from outside only the unwinder leads there, to one of the function's own pads.
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
    passed: Interned
    outside: Interned
    returned: Interned
    nodes: int
    faulting: NDArray[np.bool_]
    resumed: NDArray[np.bool_]
    continues: NDArray[np.bool_]
    entered: NDArray[np.bool_]
    named: NDArray[np.bool_]
    elsewhere: NDArray[np.bool_]
    reached: NDArray[np.bool_]
    landed: NDArray[np.bool_]

    def block_at(self, address: int) -> int:
        """The block that starts at `address`; KeyError if none does."""
        block = first_at(self._starts, address)
        if block == len(self._starts) or self._starts[block] != address:
            raise KeyError(address)
        return block

    def block_holding(self, address: int) -> int:
        """The block with an instruction at `address`."""
        at = self.listing.index(address)
        return int(self.first.searchsorted(at, side="right")) - 1

    def blocks_of(self, function: Function) -> range:
        """The function's blocks."""
        return range(*span(self._starts, function.start, function.end))

    def within(self, blocks: range) -> dict[int, list[int]]:
        """The edges among a function's blocks: what follows each, or a fault in it."""
        found: dict[int, list[int]] = {}
        sources, targets = self.inner
        first, last = between(sources, blocks)
        for source, to in zip(
            sources[first:last].tolist(), targets[first:last].tolist(), strict=True
        ):
            if blocks.start <= to < blocks.stop:
                found.setdefault(source, []).append(to)
        return found

    def followed_within(self, blocks: range) -> dict[int, list[int]]:
        """What follows each of a function's blocks from which control goes nowhere else.

        Neither to another function, nor back to a caller, nor elsewhere by a fault or a trap.
        """
        found: dict[int, list[int]] = {block: [] for block in blocks}
        for block in blocks:
            if self.outside[block].any() or self.returned[block].any():
                del found[block]
        order, sources = self.outgoing
        first, last = between(sources, blocks)
        for edge in order[first:last].tolist():
            block, to = int(self.source[edge]), int(self.target[edge])
            if self.kind[edge] != WITHIN or to not in blocks:
                found.pop(block, None)
            elif block in found:
                found[block].append(to)
        return found

    def with_edges(
        self,
        source: NDArray[np.int64],
        target: NDArray[np.int64],
        kind: NDArray[np.int64],
        passed: int,
    ) -> Graph:
        """The graph with more edges, along which the registers of a mask may carry values."""
        first, which = len(self.source), self.passed.which
        masks = replace(self.passed, which=np.append(which, np.zeros(len(source), which.dtype)))
        return replace(
            self,
            source=np.append(self.source, source.astype(self.source.dtype)),
            target=np.append(self.target, target.astype(self.target.dtype)),
            kind=np.append(self.kind, kind.astype(self.kind.dtype)),
            passed=masks.with_mask(slice(first, None), passed),
        )

    @cached_property
    def outgoing(self) -> tuple[Edges, Edges]:
        """The edges in the order of their sources, and these."""
        order = np.argsort(self.source, kind="stable").astype(NUMBER)
        return order, self.source[order]

    @cached_property
    def by_target(self) -> Edges:
        """The edges in the order of their targets."""
        return np.argsort(self.target, kind="stable").astype(NUMBER)

    @cached_property
    def _starts(self) -> Addresses:
        return self.listing.addresses[self.first]

    @cached_property
    def inner(self) -> tuple[Edges, Edges]:
        """Sources and targets of the edges inside functions, by source."""
        chosen = np.flatnonzero(np.isin(self.kind, INSIDE))
        chosen = chosen[np.argsort(self.source[chosen], kind="stable")]
        return self.source[chosen], self.target[chosen]

    def processes(self, jobs: int) -> int:
        """How many of some processes share work on all of it: on a small one it takes less than
        they take to begin."""
        return jobs if self.nodes >= _MANY else 1


def between(ascending: Edges, nodes: range) -> tuple[int, int]:
    """Where numbers of some nodes stand among ascending ones, which are not copied for it."""
    sides = np.array((nodes.start, nodes.stop), dtype=ascending.dtype)
    first, last = ascending.searchsorted(sides).tolist()
    return first, last


def build(
    listing: Listing,
    functions: Sequence[Function],
    references: References,
    entries: Iterable[int],
    convention: Convention,
    fixups: Sequence[Fixup] = (),
    calls: Iterable[Fixup] = (),
    landings: Iterable[int] = (),
) -> Graph:
    """The graph of a listing.

    `entries` are addresses at which control may arrive by other ways than branches, `landings`
    those at which the unwinder lets a function go on; `fixups` are where control goes when an
    access faults, `calls` where it goes when one throws.
    """
    others, entries = set(entries), {*entries, *landings}
    accesses = addresses(fixup.access for fixup in fixups)
    fixups = list(compress(fixups, contains(listing.addresses, accesses).tolist()))
    faulting = np.zeros(len(listing), dtype=bool)
    faulting[listing.positions(accesses)] = True
    first = _leaders(listing, functions, references.tables, entries, fixups)
    last = np.append(first[1:], len(listing))
    places = listing.addresses[first]
    function_of = holders(extents(functions), places)
    names = [function.name for function in functions]
    found = Collected(listing, first, last, function_of, names, convention)
    found.owner = _with_islands(found, entries)
    found.add_all(references)
    found.add_fixups(fixups)
    found.add_pads(calls)
    source, target, kind, passed = found.together()
    starts = found.starting_at(f.start for f in functions)
    entered, otherwise = (starts | found.starting_at(some) for some in (entries, others))
    elsewhere = _entered_from_elsewhere(source, target, kind, function_of)
    reaching = np.bincount(target, minlength=found.nodes)[: len(first)]
    return Graph(
        listing=listing,
        functions=tuple(functions),
        first=first,
        last=last,
        function_of=function_of,
        source=source,
        target=target,
        kind=kind,
        passed=passed,
        outside=found.outside,
        returned=found.returned,
        nodes=found.nodes,
        faulting=faulting,
        resumed=found.starting_at(fixup.resume for fixup in fixups),
        continues=(reaching == 1) & ~entered & _after_straight(found),
        reached=entered | (reaching > 0),
        entered=entered | elsewhere,
        named=entered,
        elsewhere=elsewhere,
        landed=entered & ~otherwise & ~elsewhere,
    )


def _leaders(
    listing: Listing,
    functions: Sequence[Function],
    tables: Sequence[JumpTable],
    entries: Iterable[int],
    fixups: Iterable[Fixup],
) -> NDArray[np.int64]:
    step = listing.table.size
    named = [
        *(f.start for f in functions),
        *(f.end for f in functions),
        *entries,
        *(target for table in tables for target in table.targets),
        *(fixup.access + step for fixup in fixups),
        *(fixup.resume for fixup in fixups),
    ]
    starts = np.zeros(len(listing) + 1, dtype=bool)
    starts[0] = True
    starts[listing.positions(addresses(named))] = True
    starts[listing.branched] = True
    starts[listing.transfers + 1] = True
    starts[1:-1][np.diff(listing.addresses) > step] = True
    return np.flatnonzero(starts[:-1])


def _after_straight(found: Collected) -> NDArray[np.bool_]:
    """The blocks that control may come to from the one before."""
    straight = np.zeros(found.blocks + 1, dtype=bool)
    straight[found.ends(STRAIGHT) + 1] = True
    return straight[:-1]


def _with_islands(found: Collected, entries: set[int]) -> NDArray[np.int64]:
    """The function of each block, with islands: a jump outside all functions, from one and back.

    Assemblers put what is rarely needed, as a lock's way to try again, behind all functions of an
    object (`.subsection`).  Nothing else leads there, so it returns to where its function does.
    """
    before, owner = found.owner, found.owner.copy()
    targets = found.listing.targets[found.final]
    orphans = np.flatnonzero((before < 0) & (found.codes == FLOW_CODE[Flow.JUMP]))
    leading = np.flatnonzero(contains(found.addresses[orphans], targets))
    sources: dict[int, set[int]] = {}
    for block in leading.tolist():
        sources.setdefault(int(targets[block]), set()).add(int(before[block]))
    goals = found.blocks_at(targets[orphans])
    for block, to in zip(orphans.tolist(), goals.tolist(), strict=True):
        address = int(found.addresses[block])
        home = int(before[to]) if to >= 0 else -1
        alone = address not in entries and _never_falls_in(found, block)
        if home >= 0 and sources.get(address) == {home} and alone:
            owner[block] = home
    return owner


def _never_falls_in(found: Collected, block: int) -> bool:
    """Whether no function's code comes to a block from those before it."""
    before = block - 1
    while before >= 0 and found.owner[before] < 0 and found.codes[before] == FLOW_CODE[Flow.NEXT]:
        before -= 1  # nops between functions
    if before < 0 or found.owner[before] < 0:
        return True  # data, or another island
    ends = (FLOW_CODE[Flow.JUMP], FLOW_CODE[Flow.RETURN], FLOW_CODE[Flow.STOP])
    return int(found.codes[before]) in ends


def _entered_from_elsewhere(
    source: Edges, target: Edges, kind: NDArray[np.int8], owner: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Blocks that code of another function calls or branches to."""
    entered = np.zeros(len(owner), dtype=bool)
    entered[target[kind == CALL]] = True
    inside = np.isin(kind, INSIDE)
    source, target = source[inside], target[inside]
    entered[target[owner[source] != owner[target]]] = True
    return entered
