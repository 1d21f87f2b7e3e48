"""Which instructions a register's value may come from, by all paths through a function.

What reads plainly in order of address need not be so on each path: control may come in between.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from rewriter.analysis.flow import Graph, between
from rewriter.analysis.returning import Returning
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.code.program import Bound, TableRead
from rewriter.core.isa.instruction import COMING_BACK
from rewriter.core.target.protocol import Sequential

_LARGEST = 32
"""Bits of an index, of any width: no file has a table of more entries."""

_Part = tuple[int, int]
"""A register, and how many of its low bits matter."""

_COMING_BACK = frozenset(FLOW_CODE[flow] for flow in COMING_BACK)


class Reaching:
    """Walks a graph back, over calls with what callees save.

    `inner` says of a block that others seem to enter that only its own function leads to it;
    `relied` has calls, by address, with the registers that they were taken to keep.
    """

    def __init__(self, graph: Graph, target: Sequential, inner: Callable[[int], bool]) -> None:
        self.graph, self.target, self.inner = graph, target, inner
        self.returning = Returning(graph)
        self._made: dict[tuple[int, int], frozenset[int] | None] = {}
        self._came: dict[int, list[int]] = {}
        self._last: dict[tuple[int, int], int | None] = {}
        self._bounds: dict[int, Bound | None] = {}
        self.listing = graph.listing
        self.flows = graph.listing.flows
        self.relied = set[tuple[int, int]]()

    def definitions(self, register: int, use: int) -> frozenset[int] | None:
        """The addresses of all instructions that may make what the one at `use` reads.

        None where control may come from outside with another value.
        """
        if (register, use) not in self._made:
            self._made[register, use] = self._definitions(register, use)
        return self._made[register, use]

    def _definitions(self, register: int, use: int) -> frozenset[int] | None:
        """The same, asked once."""
        found, seen = set[int](), set[int]()
        block = self.graph.block_holding(use)
        queue = [(block, self.listing.index(use))]
        while queue:
            block, end = queue.pop()
            at = self._last_writer(block, register, end)
            if at is not None:
                found.add(int(self.listing.addresses[at]))
                continue
            if self.graph.entered[block] and not self.inner(block):
                return None
            for before in self._before(block):
                if before not in seen:
                    seen.add(before)
                    if not self._keeps(before, register):
                        return None
                    queue.append((before, int(self.graph.last[before])))
        return frozenset(found)

    def bounded(self, read: TableRead) -> int | None:
        """How many entries the bounds on all ways to a table's use let through, if they do."""
        use, part = self.listing.index(read.use), (read.index, read.bits)
        queue = [(self.graph.block_holding(read.use), use, part)]
        seen, most = set[tuple[int, _Part]](), 0
        while queue:
            block, end, part = queue.pop()
            widened = self._widened(block, end, part)
            if widened is None or self.graph.entered[block]:
                return None
            for before in self._before(block):
                count = self._count(before, block, widened)
                if count is not None:
                    most = max(most, count)
                elif (before, widened) not in seen:
                    seen.add((before, widened))
                    if not self._keeps(before, widened[0]):
                        return None
                    queue.append((before, int(self.graph.last[before]), widened))
        return most or None

    def _widened(self, block: int, end: int, part: _Part) -> _Part | None:
        """What holds a value at a block's start, which is zero-extended at most."""
        register, bits = part
        at = self._writer(block, register, end)
        while at is not None:
            insn = self.listing.insn(at)
            step = self.target.widened(insn) if insn is not None else None
            if step is None or step[1] != register:
                return None
            register, bits = step[0], min(bits, step[2])
            at = self._writer(block, register, at)
        return register, bits

    def _count(self, block: int, following: int, part: _Part) -> int | None:
        """How large the low part of a register may be less one, going on from one block to
        another."""
        first, last = int(self.graph.first[block]), int(self.graph.last[block])
        if block not in self._bounds:
            self._bounds[block] = self.target.bound(self.listing, first, last - 1)
        bound = self._bounds[block]
        if bound is None or self._start(following) != bound.inside:
            return None
        target = int(self.listing.targets[bound.branch])
        if target == self._start(block + 1):
            return None  # it goes on there in any case
        if self._writer(block, part[0], bound.branch, bound.compare) is not None:
            return None
        return bound.count if self._compared(bound, first, part) else None

    def _compared(self, bound: Bound, first: int, part: _Part) -> bool:
        """Whether a comparison looks at the low part of a register, zero-extended or with more.

        What it does not look at may be anything: a bound on one byte bounds no other.
        """
        register, bits = part
        if register == bound.register:
            return True
        block = self.graph.block_holding(int(self.listing.addresses[bound.compare]))
        at = self._writer(block, bound.register, bound.compare, first)
        insn = self.listing.insn(at) if at is not None else None
        step = self.target.widened(insn) if insn is not None else None
        if at is None or step is None or step[:2] != (register, bound.register):
            return False
        enough = step[2] >= min(bits, _LARGEST)
        return enough and self._writer(block, register, bound.compare, at) is None

    def _start(self, block: int) -> int:
        """Where a block starts; no address behind the last."""
        starts = self.graph.first
        return int(self.listing.addresses[starts[block]]) if block < len(starts) else -1

    def _writer(self, block: int, register: int, end: int, start: int = 0) -> int | None:
        """The last position of a block before `end`, not before `start`, that writes a register."""
        first = max(int(self.graph.first[block]), start)
        column, bit = divmod(register, 64)
        written = self.listing.defs[first:end, column] >> np.uint64(bit) & np.uint64(1)
        hits = np.flatnonzero(written)
        return first + int(hits[-1]) if len(hits) else None

    def _last_writer(self, block: int, register: int, end: int) -> int | None:
        """The same from the block's start, of whole blocks once."""
        if end != self.graph.last[block]:
            return self._writer(block, register, end)
        if (block, register) not in self._last:
            self._last[block, register] = self._writer(block, register, end)
        return self._last[block, register]

    def _keeps(self, block: int, register: int) -> bool:
        """Whether what ends a block leaves a register alone: a call may not."""
        at = int(self.graph.last[block]) - 1
        if int(self.flows[at]) not in _COMING_BACK:
            return True
        insn = self.listing.insn(at)
        if insn is None or not self.target.kept_over(insn) >> register & 1:
            return False
        self.relied.add((int(self.listing.addresses[at]), register))
        return True

    def _before(self, block: int) -> list[int]:
        """The blocks that control comes to a block from, but for callees that return to it."""
        if block not in self._came:
            order, targets = self._incoming
            first, last = between(targets, range(block, block + 1))
            sources = self.graph.source[order[first:last]].tolist()
            found = [source for source in sources if source < len(self.graph.first)]
            if block - 1 in found and self.returning.stops(block - 1):
                found.remove(block - 1)  # once: a landing pad here is led to twice
            self._came[block] = found
        return self._came[block]

    @cached_property
    def _incoming(self) -> tuple[np.ndarray, np.ndarray]:
        order = self.graph.by_target
        return order, self.graph.target[order]
