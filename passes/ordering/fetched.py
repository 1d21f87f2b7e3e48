"""What fetching takes in a layout, by how often control goes each way."""

from __future__ import annotations

from passes.align import Code, Layout
from passes.lib.weights import Counted
from rewriter.core.isa.instruction import Flow
from rewriter.timing.engine import Engine


def fetched(code: Code, layout: Layout, block: int, engine: Engine) -> int:
    """Cycles: one for each fetch block that control comes to, and what second transfers in one and
    calls inside one lose."""
    counted, cycles = Counted(code.items, code.branches).from_start(), 0
    end, branch = code.function.start, -block
    for number, (_, place, insn) in enumerate(layout.items):
        led, fallen = counted.come(number)
        cycles += led + fallen * (place // block - (end - 1) // block)
        flow, end = insn.op.flow, place + insn.size
        if flow is not Flow.NEXT and branch // block == place // block:
            cycles += fallen * engine.second_transfer
        if flow is not Flow.NEXT:
            branch = place if flow is Flow.BRANCH else -block
        if flow.calls and end % block:
            cycles += (led + fallen) * engine.inside_block(insn)
    return cycles
