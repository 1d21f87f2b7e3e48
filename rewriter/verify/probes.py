"""Code that finds out what its CPU has: it executes an instruction, and a signal says it is not.

So what only some CPUs have may not go from a way through a function that has it, unless another
one of the same need is executed on that way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property

from rewriter.analysis.program import Program
from rewriter.core.code.extensions import Leaving, omitted
from rewriter.core.code.program import Function


class Probes:
    """Needs that a function of a program lost, by the blocks in which it did.

    Every CPU that runs the code has the `features`.
    """

    def __init__(self, program: Program, function: Function, features: Collection[str]) -> None:
        self.program, self.function, self.features = program, function, features
        self.lost: dict[str, set[int]] = {}

    def compare(self, old: Leaving, new: Leaving, addresses: Iterable[int]) -> None:
        """Looks at two segments that are the same otherwise; the old one's addresses."""
        gone = omitted(old, new, self.features)
        blocks = {*map(self.program.graph.block_holding, addresses if gone else ())}
        for need in gone:
            self.lost.setdefault(need, set()).update(blocks)

    def problem(self) -> str:
        """What went from a way that has no other of its need; nothing where none did."""
        for need, blocks in self.lost.items():
            if self._missing(need, blocks):
                return f"what only CPUs with {need} have is gone: it may be there to find out"
        return ""

    def _missing(self, need: str, blocks: set[int]) -> bool:
        """Whether some way through the function leads over the blocks and no other of the need."""
        keeping = {block for block in self._here if need in self._needs(block)} - blocks
        graph = self.program.graph
        entries = {block for block in self._here if graph.entered[block]}
        come_to = self._reached(entries - keeping, keeping) & blocks
        ways = self._reached(come_to, keeping)
        return any(not self._followed.get(block) for block in ways)

    def _reached(self, blocks: set[int], but: set[int]) -> set[int]:
        """Where control may come from some blocks without coming to others."""
        seen, waiting = set[int](blocks), [*blocks]
        while waiting:
            following = {*self._within.get(waiting.pop(), ())} - but - seen
            seen |= following
            waiting += following
        return seen

    def _needs(self, block: int) -> set[str]:
        graph, listing = self.program.graph, self.program.listing
        rows: list[int] = listing.rows[graph.first[block] : graph.last[block]].tolist()
        return {listing.table.rows[row].needs for row in rows if row >= 0}

    @cached_property
    def _here(self) -> range:
        return self.program.graph.blocks_of(self.function)

    @cached_property
    def _within(self) -> dict[int, list[int]]:
        return self.program.graph.within(self._here)

    @cached_property
    def _followed(self) -> dict[int, list[int]]:
        return self.program.graph.followed_within(self._here)
