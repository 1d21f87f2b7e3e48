"""The model of a CPU that issues in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import Table
from rewriter.core.target.cpu import Cpu, InOrder, System, Tournament
from rewriter.timing.inorder.pipeline import Chip
from rewriter.timing.inorder.steady import SteadyInOrder


class InOrderEngine:
    """Its loads wait for the stores before them, and it stops at the first miss that is needed."""

    asks_ahead = False
    second_transfer = 0
    """A branch that is not taken leaves the rest of its block."""

    def __init__(self, cpu: Cpu, pipeline: InOrder) -> None:
        self._cpu, self._pipeline = cpu, pipeline
        self.line = pipeline.dcache.line.value
        self.tournament: Tournament | None = None
        self.mispredicted = pipeline.mispredicted.value

    def chip(self, system: System, text: Mapping[int, Insn]) -> Chip:
        """A chip just switched on; what it takes does not depend on code that does not run."""
        return Chip(self._cpu, self._pipeline, system)

    def steady(self, table: Table) -> SteadyInOrder:
        """What loops take once they run."""
        return SteadyInOrder(self._cpu, self._pipeline, table)

    def slots(self, block: Sequence[Insn]) -> str:
        """Nothing: a pipe is chosen when an instruction issues."""
        return ""

    def replayed_within(self, size: int) -> int:
        """None is: such loads are put off (`InOrder.after_store`)."""
        return 0

    def inside_block(self, call: Insn) -> int:
        """None: no successor is remembered."""
        return 0
