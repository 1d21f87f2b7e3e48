"""Whether a result would be there later than before, by the CPU's model."""

from __future__ import annotations

from collections.abc import Container

from passes.combining.held import Held
from rewriter.core.code.dataflow import INPUT, Trace, registers_of
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu
from rewriter.timing.engines import engine_of
from rewriter.timing.steady import Steady

_NEVER = -1 << 20


class Later:
    """When results of a block are there, in cycles from when it begins; nothing misses.

    What a block finds in registers is there when it begins, but for one that it writes itself: in
    a loop that is the result of the pass before, so that only the way from it counts.
    """

    def __init__(self, trace: Trace, held: Held, cpu: Cpu) -> None:
        self.trace, self.held = trace, held
        self.steady: Steady | None = None
        if cpu.pipeline is not None:
            self.steady = engine_of(cpu).steady(trace.table)
        self._known: dict[int, list[int]] = {}

    def cycles(self, slot: int, new: Insn, place: int, gone: Container[int]) -> int:
        """How many cycles later `new` at `place` has the result of a slot, at the worst way."""
        if self.steady is None:
            return 0
        result = registers_of(self.trace.table.defs(self.trace.insns[slot]))[0]
        return max(self._later(slot, new, place, gone, start) for start in (INPUT, result))

    def _later(self, slot: int, new: Insn, place: int, gone: Container[int], start: int) -> int:
        """The same by the ways from what is in `start` at first, or from all (INPUT)."""
        times, table = self._times(start), self.trace.table
        before = times[slot] + self._takes(self.trace.insns[slot])
        after = max(
            self._ready(times, self.held.writer(register, place, gone), register, new, start)
            for register in registers_of(table.uses(new))
        )
        if after <= _NEVER // 2:
            return 0  # nothing goes such a way any more
        return after + self._takes(new) - before

    def _times(self, start: int) -> list[int]:
        """When each slot has what it reads."""
        if start not in self._known:
            times = self._known[start] = list[int]()
            for slot, definition in enumerate(self.trace.definition):
                insn = self.trace.insns[slot]
                ready = (
                    self._ready(times, None if at == INPUT else at, register, insn, start)
                    for register, at in definition.items()
                )
                times.append(max(ready, default=0 if start == INPUT else _NEVER))
        return self._known[start]

    def _ready(
        self, times: list[int], writer: int | None, register: int, reader: Insn, start: int
    ) -> int:
        """When a reader has a register from the slot that wrote it."""
        if writer is None:
            return 0 if start in (INPUT, register) else _NEVER
        assert self.steady is not None
        return times[writer] + self.steady.latency(self.trace.insns[writer], reader, register)

    def _takes(self, insn: Insn) -> int:
        assert self.steady is not None
        node = self.steady.node(insn)
        return node.after + node.latency
