"""What a chip learns of code without timing it is what a run of it leaves, where it says so."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import Cpu
from rewriter.timing.model import chip
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from targets.alpha.systems import UP1000
from targets.ppc.cpus import CPUS as POWERPC
from targets.ppc.isa import table
from targets.ppc.systems import SYSTEM_OF, SYSTEMS

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


ALPHA = assemble("ldq t0,0(t1)\nstq t0,0(t1)\nldl t0,0(t1)\nstl t0,0(t1)\nwh64 (t1)\naddq t0,t1,t2")
ALPHA_CODE = [
    TABLE.decode(int.from_bytes(code[at : at + 4], "little"))
    for code in (ALPHA.code, CODE)
    for at in range(0, len(code), 4)
]
PPC_WORDS = (0xE8A40000, 0xF8A40000, 0x80A40000, 0x90A40000, 0x7C842A14, 0x41820000, 0x4E800020)
PPC_CODE = [table(64, "big").decode(word) for word in PPC_WORDS]
"""ld, std, lwz, stw with the address in r4; add to it; beq; blr."""
CHIPS = {
    "ev67": (EV67, UP1000, ALPHA_CODE),
    **{
        name: (POWERPC[name], SYSTEMS[SYSTEM_OF[name]], PPC_CODE)
        for name in ("970", "7450", "power9")
    },
}

WHERE = st.integers(0, 12).map(lambda n: 4 * n) | st.integers(0, 8).map(lambda n: n << 15)
ACCESSES = st.lists(st.tuples(st.integers(0, 6), PLACES, PLACES, WHERE), min_size=1, max_size=40)


Drawn = list[tuple[int, int, int, int]] | list[tuple[int, int, int | None, int]]


def run_of(name: str, drawn: Drawn) -> list[Step]:
    """A trace with accesses: (instruction, place, where it goes, what it accesses)."""
    cpu, _, code = CHIPS[name]
    rows = TABLE if cpu is EV67 else table(64, "big")
    found: list[Step] = []
    standing: dict[int, Insn | None] = {}
    for which, place, goal, where in drawn:
        insn = standing.setdefault(place, code[which])
        assert insn is not None
        effects, at = rows.effects(insn.op), 0x1000 + 4 * place
        if effects.loads or effects.stores or insn.name == "wh64":
            size = effects.size or 64
            found.append(Step(at, insn, where & -size, size, not effects.loads, None))
        else:
            moved = insn.op.flow is not Flow.NEXT and goal is not None
            found.append(Step(at, insn, None, 0, False, 0x1000 + 4 * goal if moved else None))
    return found


@pytest.mark.parametrize("name", CHIPS)
@given(ACCESSES, st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_what_is_learnt_for_certain_is_what_a_run_leaves(
    name: str, drawn: list[tuple[int, int, int, int]], times: int
) -> None:
    (cpu, system, _), steps = CHIPS[name], run_of(name, drawn)
    text = {step.address: step.insn for step in steps}
    ran, learned = (chip(cpu, system, text) for _ in range(2))
    certain = True
    for _ in range(times):
        ran.run(steps)
        certain = learned.learn(steps)
    if certain:
        assert learned.run(steps) == ran.run(steps)


@pytest.mark.parametrize("name", CHIPS)
def test_branches_are_foreseen_as_if_learnt_so_often(name: str) -> None:
    """Loops of a few branches in two fetch blocks, and some whose lines give way."""
    cpu, system, code = CHIPS[name]
    drawing = random.Random(1)
    control = [n for n, insn in enumerate(code) if insn and insn.op.flow is not Flow.NEXT]
    for times in (2, 3, 3, 3, 5, 11, 11, 16) * 8:
        places = [place << drawing.choice((0, 0, 0, 14)) for place in range(6)]
        which = {place: drawing.choice(control) for place in places}
        drawn = [
            (which[place], place, drawing.choice((None, *places)), 0)
            for place in drawing.choices(places, k=drawing.randrange(1, 40))
        ]
        transfers = run_of(name, drawn)
        text = {step.address: step.insn for step in transfers}
        learned, foreseeing = (chip(cpu, system, text) for _ in range(2))
        for _ in range(times):
            learned.learn(transfers)
        foreseeing.foresee(transfers, times)
        for _ in range(2):
            assert foreseeing.run(transfers) == learned.run(transfers)


@pytest.mark.parametrize("name", CHIPS)
def test_what_gave_way_is_not_certain(name: str) -> None:
    """More lines of one set than a cache has ways: which are left depends on the times."""
    cpu, system, _ = CHIPS[name]
    few, many = ([(0, n, 0, n << 20) for n in range(count)] for count in (1, 20))
    for drawn, certain in ((few, True), (many, False)):
        steps = run_of(name, drawn)
        text = {step.address: step.insn for step in steps}
        assert chip(cpu, system, text).learn(steps) is certain


def test_a_load_that_a_store_may_serve_is_not_certain() -> None:
    """A store to a 970's next cache brings no line: the first run's load is served by the store,
    which waits for memory; the second run's, when the line is in the next cache, asks for it."""
    cpu, system, _ = CHIPS["970"]
    drawn = [(1, 0, 0, 0), *((4, 1 + n, 0, 0) for n in range(12)), (0, 13, 0, 0)]
    steps = run_of("970", drawn)
    text = {step.address: step.insn for step in steps}
    ran, learned = (chip(cpu, system, text) for _ in range(2))
    assert not learned.learn(steps)
    _, second, third = (ran.run(steps) for _ in range(3))
    assert second != third
