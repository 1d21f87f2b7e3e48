"""Which instructions of a text do nothing, and what stands without them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import cast

import numpy as np

from passes.lib.insert import Slots
from rewriter.analysis.program import Program
from rewriter.core.addresses import compact
from rewriter.core.code.listing import INLINE, UNKNOWN
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu

Added = Mapping[int, Sequence[Insn]]
"""What stands right behind the instruction at an address, and was not there before.

Its own addresses are those behind that one's: between it and the next, or behind all (`BEYOND`).
"""


class Nops:
    """The nops of a program: found for the whole text at once, since every function asks."""

    def __init__(self, program: Program, cpu: Cpu) -> None:
        """What ends groups is a nop where control does not come, or if it ends none on the CPU."""
        self.program = program
        idle, rows, graph = program.nops, program.listing.rows, program.graph
        ends = np.flatnonzero(program.group_ends)
        if cpu.placing is not None and cpu.placing.ends_groups:
            ends = ends[~graph.reached[np.searchsorted(graph.first, ends, side="right") - 1]]
        idle = idle.copy()
        idle[ends] = True
        idle[program.padding_jumps] = True
        self._kept = ~idle & (rows != UNKNOWN)
        self._inline = compact(np.flatnonzero(rows == INLINE))
        positions = np.flatnonzero(idle)
        blocks = np.searchsorted(program.graph.first, positions, side="right") - 1
        self._positions = compact(positions)
        self._executed = compact(positions[program.graph.reached[blocks]])

    def within(self, function: Function) -> bool:
        """Whether a function has any."""
        return self._count(self._positions, function) > 0

    def executed(self, function: Function) -> int:
        """How many of a function stand where control passes through."""
        return self._count(self._executed, function)

    def _count(self, positions: Sequence[int], function: Function) -> int:
        first, last = self.program.listing.span(function.start, function.end)
        return bisect_left(positions, last) - bisect_left(positions, first)

    def standing(
        self, slots: Slots, start: int, end: int, added: Added | None = None
    ) -> list[tuple[int, Insn]]:
        """The instructions in [start, end) that do something, as earlier passes left them."""
        listing, is_nop = self.program.listing, self.program.target.is_nop
        first, last = listing.span(start, end)
        addresses, insns = listing.addresses[first:last].tolist(), listing.insns_at(first, last)
        inline = self._inline[bisect_left(self._inline, first) : bisect_left(self._inline, last)]
        for at in inline:
            insns[at - first] = listing.data(at)
        here = compress(zip(addresses, insns, strict=True), self._kept[first:last].tolist())
        if not slots and not added:  # most functions
            return cast(list[tuple[int, Insn]], list(here))
        found = dict(here)
        for at, insn in slots.items():
            if start <= at < end:
                found[at] = None if insn is None or is_nop(insn) else insn
        whole = Function(start, end, "", "")
        for at, more in (added or {}).items():
            if whole.gets(at):
                found.update(enumerate(more, at + 1))
        return [(at, insn) for at, insn in sorted(found.items()) if insn is not None]
