"""The model of a CPU that issues whatever is ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewriter.core.isa.instruction import Insn, To
from rewriter.core.isa.table import Table
from rewriter.core.target.cpu import Cpu, OutOfOrder, System, Tournament
from rewriter.timing.described import traits_of
from rewriter.timing.outoforder.pipeline import Chip
from rewriter.timing.outoforder.places import Halves
from rewriter.timing.outoforder.steady import SteadyOutOfOrder


class OutOfOrderEngine:
    """It goes on behind misses, and replays loads that a store has only some bytes of."""

    asks_ahead = True
    second_transfer = 1
    """One transfer of control is predicted a cycle (21264 Hardware Reference Manual, 2.2.1)."""

    def __init__(self, cpu: Cpu, pipeline: OutOfOrder) -> None:
        self._cpu, self._pipeline, self._halves = cpu, pipeline, Halves(cpu, pipeline)
        self.line = pipeline.memory.dcache.line.value
        self.tournament: Tournament | None = pipeline.fetch.predictor
        self.mispredicted = pipeline.fetch.mispredicted.value

    def chip(self, system: System, text: Mapping[int, Insn]) -> Chip:
        """A chip just switched on.  `text` has what stands in the fetch blocks that will run."""
        return Chip(self._cpu, self._pipeline, system, self._halves, text)

    def steady(self, table: Table) -> SteadyOutOfOrder:
        """What loops take once they run."""
        return SteadyOutOfOrder(self._cpu, self._pipeline, table, self._halves)

    def slots(self, block: Sequence[Insn]) -> str:
        """The halves that a whole block's instructions go to, the lowest address first."""
        return self._halves.block(block)

    def replayed_within(self, size: int) -> int:
        """As many as are in flight at once."""
        return self._pipeline.window.blocks.value * self._cpu.fetch_block.value // size

    def inside_block(self, call: Insn) -> int:
        """The line predictor has one successor of a block: the last.

        Through a register without a hint the callee is foreseen by it alone; that of a branch is
        known a little later, and on the way back the block's own successor is missed as well.  A
        hint is taken as good as a branch's target, though the predictor may override it.
        """
        figures = self._pipeline.fetch
        if call.op.flow.to is To.REGISTER and not traits_of(self._cpu, call).hint:
            return figures.jump_mispredicted.value
        return 2 * figures.line_bubble.value
