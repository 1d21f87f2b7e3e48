"""What code leaves in a register for a function that control falls into over the end of its own.

Compilers end the program by a trap where they know that code is wrong, and leave what stands behind
it to chance: nothing, some nops, and then another function.  Where such a trap comes back, that
function finds in the link register what the last call left there, as if it were called: it returns
behind that call, which is the same place in either file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rewriter.analysis.flow import between
from rewriter.analysis.program import Program
from rewriter.core.code.listing import FLOWS
from rewriter.core.code.program import Function
from rewriter.core.isa.flow import Flow
from rewriter.core.isa.registers import register_mask

_FALLING = frozenset({Flow.NEXT, Flow.TRAP})


@dataclass(frozen=True)
class Reading:
    """Whether anything else may read a register, in a function and behind it."""

    program: Program
    function: Function
    register: int

    def after(self, block: int) -> bool:
        """Behind the end of a block."""
        return self._leaves(block) or self._reads({*self._inside(block)})

    def at(self, address: int) -> bool:
        """From an address on."""
        return address not in self.function or self._reads({self.program.graph.block_at(address)})

    def _reads(self, waiting: set[int]) -> bool:
        """From the starts of some blocks on."""
        seen = set[int]()
        while waiting:
            block = waiting.pop()
            seen.add(block)
            touched = self._touched(block)
            if touched or (touched is None and self._leaves(block)):
                return True
            if touched is None:
                waiting |= {*self._inside(block)} - seen
        return False

    def _touched(self, block: int) -> bool | None:
        """Whether a block reads the register before it writes it; None where it does neither."""
        graph, listing = self.program.graph, self.program.listing
        mask = register_mask((self.register,))
        for at in range(int(graph.first[block]), int(graph.last[block])):
            insn = listing.insn(at)
            if insn is None or listing.table.uses(insn) & mask:
                return True
            if listing.table.defs(insn) & mask:
                return False
        return None

    def _leaves(self, block: int) -> bool:
        """Whether control goes elsewhere from a block's end with the register, but by falling."""
        graph, falls = self.program.graph, self._flow(block) in _FALLING
        mask = register_mask((self.register,))
        here = slice(block, block + 1)
        if (graph.outside.numbers(here)[0] | graph.returned.numbers(here)[0]) & mask:
            return True
        blocks = graph.blocks_of(self.function)
        away = (to for to in self._targets(block) if to not in blocks)
        return any(not falls or to != block + 1 for to in away)

    def _inside(self, block: int) -> Iterator[int]:
        blocks = self.program.graph.blocks_of(self.function)
        return (to for to in self._targets(block) if to in blocks)

    def _targets(self, block: int) -> list[int]:
        """Where the edges from a block lead."""
        graph = self.program.graph
        order, sources = graph.outgoing
        first, last = between(sources, range(block, block + 1))
        found: list[int] = graph.target[order[first:last]].tolist()
        return found

    def _flow(self, block: int) -> Flow:
        at = int(self.program.graph.last[block]) - 1
        return FLOWS[int(self.program.listing.flows[at])]
