"""The model of a CPU that dispatches groups in order to units that take what is ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import Table
from rewriter.core.target.cpu import Cpu, System, Tournament
from rewriter.core.target.dispatched_cpu import Dispatched
from rewriter.timing.dispatch.chip import Chip
from rewriter.timing.dispatch.items import Items
from rewriter.timing.dispatch.steady import SteadyDispatched


class DispatchedEngine:
    """Loads of just-stored bytes wait for them; asking ahead pays where the chip does not."""

    second_transfer = 0
    """Not known to cost anything."""

    def __init__(self, cpu: Cpu, pipeline: Dispatched) -> None:
        self._cpu, self._pipeline, self._items = cpu, pipeline, Items(cpu, pipeline)
        self.line = pipeline.memory.dcache.line.value
        self.tournament: Tournament | None = None
        self.mispredicted = pipeline.fetch.mispredicted.value
        self.asks_ahead = not pipeline.memory.streams.value

    def chip(self, system: System, text: Mapping[int, Insn]) -> Chip:
        """A chip just switched on; what it takes does not depend on code that does not run."""
        return Chip(self._cpu, self._pipeline, system, self._items)

    def steady(self, table: Table) -> SteadyDispatched:
        """What loops take once they run."""
        return SteadyDispatched(self._cpu, self._pipeline, table, self._items)

    def slots(self, block: Sequence[Insn]) -> str:
        """Nothing: a pipe is chosen when an instruction issues."""
        return ""

    def replayed_within(self, size: int) -> int:
        """None is: such loads wait (`Accesses.partial`)."""
        return 0

    def inside_block(self, call: Insn) -> int:
        """None: targets are remembered by the address of the jump."""
        return 0
