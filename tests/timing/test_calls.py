"""Where a call stands in its fetch block: what a chip loses by it, and says that it loses."""

from __future__ import annotations

import pytest

from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.interpret import Step
from rewriter.timing.engines import engine_of
from rewriter.timing.model import chip
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from targets.alpha.systems import UP1000

CALLS = {"direct": "bsr ra,.+4096", "through a register": "jsr ra,(t12)"}
START, CALLEE, TIMES = 0x10000, 0x20000, 400


def _insn(line: str) -> Insn:
    decoded = TABLE.decode(int.from_bytes(assemble(line).code[:4], "little"))
    assert decoded is not None
    return decoded


def _cycles(cpu: str, call: Insn, slot: int) -> float:
    """Cycles a pass of a loop of eight instructions, one of which is a call, in a fetch block."""
    back, add, returned = _insn("br zero,.-28"), _insn("addq t0,t1,t2"), _insn("ret zero,(ra),1")
    at = START + 4 * slot
    insns = {START + 4 * n: add for n in range(8)} | {at: call, START + 28: back}
    text = insns | {CALLEE: returned}
    once = list[Step]()
    for address, insn in insns.items():
        target = {at: CALLEE, START + 28: START}.get(address)
        once.append(Step(address, insn, None, 0, False, target))
        if address == at:
            once.append(Step(CALLEE, returned, None, 0, False, at + 4))
    run = chip(CPUS[cpu], UP1000, text)
    run.run(once * 50)
    return run.run(once * TIMES).cycles / TIMES


@pytest.mark.parametrize("slot", range(3))
@pytest.mark.parametrize("kind", CALLS)
def test_a_call_that_does_not_end_its_block_costs_what_the_engine_says(
    kind: str, slot: int
) -> None:
    call = _insn(CALLS[kind])
    said = engine_of(CPUS["ev67"]).inside_block(call)
    lost = _cycles("ev67", call, slot) - _cycles("ev67", call, 3)
    assert said > 0
    # Entering a block in the middle takes no cycle more here; what is restarted may take some.
    assert said <= lost <= 2 * said


@pytest.mark.parametrize("kind", CALLS)
def test_nothing_is_lost_where_no_successor_of_a_block_is_remembered(kind: str) -> None:
    assert engine_of(CPUS["ev5"]).inside_block(_insn(CALLS[kind])) == 0
