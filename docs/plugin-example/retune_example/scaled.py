"""Scaled sums, where a compiler has written a shift and an addition."""

from __future__ import annotations

from collections.abc import Iterator

from passes.lib.technique import Site
from rewriter.core.code.dataflow import INPUT, Trace
from rewriter.core.edit import Rewrite
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential, Trigger

_SCALED = {2: "s4addq", 3: "s8addq"}
"""By how far the shift goes, the instruction that shifts and adds."""


class Scaled:
    """A shift by two or three and the addition that reads it become one scaled addition.

    Before    sll a,3,t; addq t,b,c
    After     s8addq a,b,c
    Requires  Nothing: every Alpha has the instruction.
    Proof     The block, for every input.  Whether a register has changed in between, or the
              shifted value is read elsewhere, need not be asked here: what is wrong is refuted.
    """

    name = "scaled"
    needs = frozenset[str]()
    triggers = (Trigger(frozenset({"sll"}), literals=frozenset(_SCALED)),)

    def sites(self, trace: Trace, target: Sequential, cpu: Cpu) -> Iterator[Site]:
        """The additions of a block that read a shifted value."""
        for slot, insn in enumerate(trace.insns):
            if insn.name != "addq" or insn.op.format.name != "operate":
                continue
            shifted, other = insn.operand("ra"), insn.operand("rb")
            found = self._proposal(trace, slot, shifted, other)
            found = found or self._proposal(trace, slot, other, shifted)
            if found is not None:
                yield Site(slot, found.kind, (found,))

    def _proposal(self, trace: Trace, slot: int, shifted: int, other: int) -> Rewrite | None:
        source = trace.definition[slot].get(shifted, INPUT)
        if source == INPUT:
            return None
        shift = trace.insns[source]
        if shift.name != "sll" or shift.op.format.name != "operate literal":
            return None
        name = _SCALED.get(shift.operand("rb"))
        if name is None:
            return None
        operands = (shift.operand("ra"), other, trace.insns[slot].operand("rc"))
        new = Insn(trace.table.find(name, "operate"), operands)
        # The addition becomes the scaled one; the shift goes if nothing else reads it.
        return Rewrite(slot, "scaled sum", ((slot, new),), frozenset({source}))
