"""Which heads of loops should stand on a boundary of what is fetched in a cycle.

A pass of a loop takes no fewer cycles than blocks are fetched for it.  One that is as dense as the
CPU can issue takes one more for each pass where its head stands inside a block; in any other the
front end has run ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.bundling import Bundling, Region, Routine
from rewriter.verify.regions.placement import leads_to

_LONGEST = 16  # bundles
_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)


@dataclass(frozen=True)
class Boundaries:
    """Asks what a loop costs a pass; `block` is how many bytes are fetched in a cycle."""

    target: Bundling
    block: int
    cycles: Callable[[Sequence[Slot]], int]

    def heads(self, routine: Routine, code_of: Callable[[Region], bytes]) -> dict[int, int]:
        """The boundaries of the heads, by their start, that save a cycle a pass.

        Code is as it must be at its region's start.
        """
        found = {}
        for loop in self._loops(routine, code_of):
            codes = [(code_of(region), region.start) for region in loop]
            size = sum(len(code) for code, _ in codes)
            inside = -(-(size + self.target.bundle) // self.block)
            if inside > -(-size // self.block):
                every = [list(self.target.straight(*one)) for one in codes]
                calls = any(s.insn.op.flow in _CALLS for slots in every for s in slots)
                if not calls and sum(map(self.cycles, every)) < inside:
                    found[loop[0].start] = self.block
        return found

    def _loops(
        self, routine: Routine, code_of: Callable[[Region], bytes]
    ) -> Iterator[Sequence[Region]]:
        """The regions of each short loop that goes straight from its head to its last branch."""
        number = {region.start: n for n, region in enumerate(routine.regions)}
        size = self.target.bundle
        for last, region in enumerate(routine.regions):
            if region.reason:
                continue
            code = code_of(region)
            for slot in self.target.straight(code[-size:], region.start + len(code) - size):
                first = number.get(leads_to(slot, size) or -1)
                if first is not None and first <= last:
                    loop = routine.regions[first : last + 1]
                    short = loop[-1].end - loop[0].start <= _LONGEST * size
                    if short and not any(one.reason for one in loop):
                        yield loop
