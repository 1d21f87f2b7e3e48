"""What a chip learns of transfers of control without timing them is what a run of them leaves."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import Cpu
from rewriter.timing.model import chip
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from targets.alpha.systems import UP1000

EV67: Cpu = CPUS["ev67"]
LINES = ("bne t0,.", "br zero,.", "bsr ra,.", "ret zero,(ra),1", "jmp zero,(t0)", "jsr ra,(t1)")
CODE = assemble("\n".join(LINES)).code


def steps_of(drawn: list[tuple[int, int, int | None]]) -> list[Step]:
    """A trace: (instruction, place, where it goes) of each step; a place has one instruction."""
    insns = [TABLE.decode(int.from_bytes(CODE[4 * n : 4 * n + 4], "little")) for n in range(6)]
    found: list[Step] = []
    standing: dict[int, Insn | None] = {}
    for which, place, goal in drawn:
        insn = standing.setdefault(place, insns[which])
        assert insn is not None
        target = None if goal is None else 0x1000 + 4 * goal
        found.append(Step(0x1000 + 4 * place, insn, None, 0, False, target))
    return found


PLACES = st.integers(0, 40) | st.integers(0, 40).map(lambda n: n << 14)  # lines that share a set
DRAWN = st.tuples(st.integers(0, 5), PLACES, st.none() | PLACES)


@settings(max_examples=30)
@given(st.lists(DRAWN, min_size=1, max_size=30), st.integers(1, 4))
def test_learning_is_a_run(drawn: list[tuple[int, int, int | None]], times: int) -> None:
    steps = steps_of(drawn)
    text = {step.address: step.insn for step in steps}
    ran, learned = (chip(EV67, UP1000, text) for _ in range(2))
    for _ in range(times):
        ran.run(steps)
        learned.learn(steps)
    assert learned.run(steps) == ran.run(steps)
