"""A sum with a constant that an access alone goes by, in the access's displacement."""

from __future__ import annotations

from collections.abc import Iterator

from passes.combining.held import Held
from passes.lib.technique import Site
from rewriter.core.code.dataflow import INPUT, Trace
from rewriter.core.edit import Rewrite
from rewriter.core.target.idioms import Combining
from rewriter.core.target.protocol import Sequential

_KIND = "sum before an access"


class Folded:
    """The accesses of a block that go by a sum which nothing else reads."""

    def __init__(self, trace: Trace, target: Sequential, held: Held, combining: Combining) -> None:
        self.trace, self.target, self.held, self.combining = trace, target, held, combining

    def site(self, slot: int) -> Iterator[Site]:
        """One where a slot is such an access and reaches as far."""
        trace, insn = self.trace, self.trace.insns[slot]
        place = self.target.spelling.address(insn)
        made = trace.definition[slot].get(place[0], INPUT) if place is not None else INPUT
        if place is None or made == INPUT or trace.users[made] != [slot] or trace.escapes(made):
            return
        step = self.target.linear(trace.insns[made]) if made not in trace.stored else None
        if step is None or step[1] not in trace.operand[made]:
            return
        _, source, distance = step
        # What was added to, once nothing is: it may be in the register that held the sum.
        if self.held.value(source, slot, {made}) is not trace.operand[made][source]:
            return
        access = self.combining.displaced(insn, source, place[1] + distance)
        if access is not None:
            yield Site(slot, _KIND, (Rewrite(slot, _KIND, ((made, None), (slot, access))),))
