"""The CPU and system descriptions: complete, sourced, and what the scheduler reads of them."""

from __future__ import annotations

import pytest

from rewriter.core.isa.instruction import Insn
from rewriter.core.masks import bits
from rewriter.core.target.cpu import Cpu
from rewriter.timing import NotDescribed, simulate
from rewriter.timing.described import sched_of, traits_of
from rewriter.timing.engines import engine_of
from rewriter.timing.static import width
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from targets.alpha.systems import SYSTEMS, UP1000


def insn(text: str) -> Insn:
    """One instruction."""
    found = TABLE.decode(int.from_bytes(assemble(text).code, "little"))
    assert found is not None
    return found


@pytest.mark.parametrize("cpu", CPUS.values(), ids=lambda cpu: cpu.name)
def test_every_instruction_that_a_cpu_has_is_described(cpu: Cpu) -> None:
    assert cpu.pipeline is not None
    needed = {op.sched for op in TABLE if not op.needs or op.needs in cpu.features}
    assert needed <= set(cpu.pipeline.classes)


@pytest.mark.parametrize("cpu", CPUS.values(), ids=lambda cpu: cpu.name)
def test_every_figure_has_a_source_and_parameters_say_so(cpu: Cpu) -> None:
    assert len(cpu.figures) > 25
    for name, figure in cpu.figures.items():
        assert figure.source, name
        assert figure.parameter == figure.source.startswith("parameter"), name


def test_systems_have_sources_too() -> None:
    for system in SYSTEMS.values():
        assert all(figure.source for figure in system.figures.values())


@pytest.mark.parametrize(
    ("system", "nanoseconds", "cycles"), [("up1000", 80, 56), ("cs20", 24, 20)]
)
def test_a_line_takes_its_bus_time(system: str, nanoseconds: int, cycles: int) -> None:
    figure = SYSTEMS[system].line_time
    assert (figure.value, SYSTEMS[system].cycles(figure.value)) == (nanoseconds, cycles)


@pytest.mark.parametrize(
    ("cpu", "producer", "consumer", "cycles"),
    [
        ("ev67", "ldq t0,0(a0)", "addq t0,1,t1", 3),
        ("ev67", "addq t0,1,t1", "addq t0,1,t1", 0),
        ("ev67", "cmoveq t0,t1,t2", "addq t2,1,t3", 2),
        ("ev67", "addq t0,1,t1", "cmoveq t0,t1,t2", 0),
        ("ev67", "addq t0,1,t1", "cmoveq t1,t0,t2", 1),
        ("ev67", "addt $f1,$f2,$f3", "stt $f3,0(a0)", 6),
        ("ev67", "divt $f1,$f2,$f3", "addt $f3,$f3,$f4", 15),
        ("ev5", "cmpeq t0,t1,t2", "beq t2,.", 0),
        ("ev5", "addq t0,t1,t2", "beq t2,.", 1),
        ("ev5", "ldq t0,0(a0)", "addq t0,1,t1", 2),
        ("ev5", "addq t0,1,t0", "mulq t0,t1,t2", 3),
        ("ev4", "addq t0,1,t0", "stq t0,0(a0)", 0),
        ("ev4", "addq t0,1,a0", "stq t0,0(a0)", 2),
        ("ev4", "addq t0,1,t0", "sll t0,1,t1", 1),
    ],
)
def test_latency_between_two_instructions(
    cpu: str, producer: str, consumer: str, cycles: int
) -> None:
    made, used = insn(producer), insn(consumer)
    model = engine_of(CPUS[cpu]).steady(TABLE)
    read = bits(TABLE.defs(made) & TABLE.uses(used))
    assert max((model.latency(made, used, register) for register in read), default=0) == cycles


def pipes(cpu: Cpu, insn: Insn) -> tuple[str, ...]:
    """The pipes that can take an instruction; none for one that is thrown away."""
    return sched_of(cpu, traits_of(cpu, insn)).pipes


def test_pipes_and_width() -> None:
    assert pipes(CPUS["ev67"], insn("unop")) == ()
    assert pipes(CPUS["ev5"], insn("unop")) == ("E0", "E1")
    assert pipes(CPUS["ev67"], insn("mulq t0,t1,t2")) == ("U1",)
    assert pipes(CPUS["ev67"], insn("wh64 (a0)")) == ("L1",)
    assert [width(CPUS[name]) for name in ("ev4", "ev5", "ev67")] == [2, 4, 4]


def test_what_is_not_described_is_refused() -> None:
    with pytest.raises(NotDescribed):
        pipes(CPUS["ev5"], insn("cttz t0,t1"))
    bare = Cpu("none", "", frozenset(), CPUS["ev5"].fetch_block)
    with pytest.raises(NotDescribed):
        simulate([], bare, UP1000)
