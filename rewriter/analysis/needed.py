"""Which registers anything that is seen may come from, at every block of a function.

A register is read, and so live, where it goes into a value that nobody looks at: a count that a
loop keeps for itself alone.  It is needed only where what is made of it is: a store, an access, a
branch, a call, or what some path needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.analysis.flow import Graph
from rewriter.analysis.liveness import Liveness
from rewriter.core.code.program import Function
from rewriter.core.isa.registers import from_columns

_Step = tuple[bool, int, int]


@dataclass(frozen=True)
class Needed:
    """Masks of the registers that are needed into and after the blocks of a function."""

    into: Mapping[int, int]
    after: Mapping[int, int]
    steps: Mapping[int, list[_Step]]

    def behind(self, block: int, count: int) -> int:
        """Registers that are needed behind so many instructions of a block."""
        return _before(self.steps[block][count:], self.after[block])


def needed(graph: Graph, function: Function, live: Liveness) -> Needed:
    """The least fixed point over a function's blocks; what leaves it is needed where it is live."""
    blocks = graph.blocks_of(function)
    following = graph.followed_within(blocks)
    leading: dict[int, list[int]] = {}
    for block, others in following.items():
        for other in others:
            leading.setdefault(other, []).append(block)
    steps = {block: _steps(graph, block) for block in blocks}
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


def _steps(graph: Graph, block: int) -> list[_Step]:
    """By instruction, whether it only computes, and masks of what it reads and writes."""
    listing, here = graph.listing, slice(int(graph.first[block]), int(graph.last[block]))
    table = listing.table
    insns = listing.insns_at(here.start, here.stop)
    computes = [
        insn is not None and bool(table.computes(insn)) and not table.accesses(insn)
        for insn in insns
    ]
    uses, defs = from_columns(listing.uses[here]), from_columns(listing.defs[here])
    return list(zip(computes, uses, defs, strict=True))


def _before(steps: list[_Step], mask: int) -> int:
    """What is needed before some instructions, if a mask is needed behind them."""
    for computes, uses, defs in reversed(steps):
        if not computes or defs & mask:
            mask = mask & ~defs | uses
    return mask
