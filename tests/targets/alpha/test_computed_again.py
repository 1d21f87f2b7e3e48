"""What an instruction makes of the same terms is found again: as if it were executed anew."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from rewriter.core.code.dataflow import machine, run
from rewriter.core.isa.instruction import Flow
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.terms.term import Terms
from targets.alpha.isa.rows import TABLE
from tests.targets.alpha.operands import random_insn

STRAIGHT = [op for op in TABLE if op.flow is Flow.NEXT]
MEMORY = [op for op in STRAIGHT if TABLE.effects(op).loads or TABLE.effects(op).stores]


def _seen(state: Symbolic) -> tuple[object, ...]:
    registers = [state.get(Reg(register)) for register in range(len(TABLE.register_names))]
    return registers, state.memory, state.loaded, state.narrow, state.stored, state.events


@given(st.integers(0, 1 << 32), st.integers(2, 24))
def test_a_run_over_known_terms_is_as_the_first(seed: int, length: int) -> None:
    source = random.Random(seed)
    few = [random_insn(source.choice(source.choice((STRAIGHT, MEMORY))), source) for _ in range(6)]
    insns = [source.choice(few) for _ in range(length)]
    addresses = [4 * slot for slot in range(length)]
    terms = Terms(64)
    plain = machine(TABLE, terms)
    for insn, address in zip(insns, addresses, strict=True):
        plain.execute(insn, address)
    for _ in range(2):
        assert _seen(run(TABLE, terms, insns, addresses, ()).state) == _seen(plain)
