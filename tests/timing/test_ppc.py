"""PowerPC CPUs: complete and sourced, and what gcc, llvm-mca and manuals say against the models.

The figures are those of benchmarks/ppc_timing.py, which docs/timing.md prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import ppc_timing
from benchmarks.ppc_timing import COMPILERS, MCA, Statement
from fixtures.inputs import require_tool
from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import Cpu, Figure
from rewriter.timing import NotDescribed, causes, simulate
from rewriter.timing.engines import engine_of
from targets.ppc.cpus import CPUS
from targets.ppc.cpus.classes import NAMES
from targets.ppc.isa import table
from targets.ppc.systems import SYSTEM_OF, SYSTEMS

TABLE = table(64, "big")
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "timing.md").read_text(encoding="utf-8")
IN_ORDER = ("750", "7400", "7450")
STATEMENTS = list(ppc_timing.statements())

# Waits for operands that end in another clock than gcc's.  A permutation takes one cycle on a 7400
# by its datasheet, two by gcc.  The others are of the last load of an unrolled loop behind the
# addition to its base, which gcc moved; what it waits for there, the dump does not say.
_MOVED = ("integer", "load")
OTHER = {
    "7400": {("vecperm", "vecsimple"): {-1}, ("vecperm", "vecstore"): {-1}},
    "power8": {_MOVED: {-1}},
    "power9": {_MOVED: {-2}},
    "power10": {_MOVED: {-5}},
}
# Loops for which LLVM's description and gcc's, which the model has, differ: error, as a part.
DIFFERENT = {
    ("power9", "copy_words"): "stdu: a sequence of store and addition",
    ("power9", "scale"): "stfdx takes two places more",
    ("power9", "dot"): "a multiplication and addition of doubles takes 7 cycles, not 5",
    ("power9", "divide"): "fdiv takes 33 cycles, not 27",
    ("power10", "length"): "the base of lbzu is not waited for",
    ("power10", "scale"): "what stands behind the last slot of a pair",
    ("power10", "divide"): "fdiv keeps its unit for 7 cycles",
}


@pytest.fixture(autouse=True)
def _tools() -> None:
    """What assembles, compiles and simulates."""
    for bits in ("", "64"):
        for name in ("gcc", "as"):
            require_tool(f"powerpc{bits}-linux-gnu-{name}")
    require_tool("llvm-mca")


@cache
def insn(text: str) -> Insn:
    """One instruction."""
    return ppc_timing.assembled(text, COMPILERS["970"])[0]


@pytest.mark.parametrize("cpu", CPUS.values(), ids=lambda cpu: cpu.name)
def test_every_row_that_a_cpu_has_is_described(cpu: Cpu) -> None:
    """Its class is one of the chip's, whatever its operands are."""
    assert cpu.pipeline is not None and cpu.traits is not None
    for op in TABLE:
        if op.needs and op.needs not in cpu.features:
            continue
        operands = tuple(operand.limits[0] for operand in op.format.operands)
        name = cpu.traits(Insn(op, operands)).sched
        assert name in cpu.pipeline.classes, (op.name, name)


@pytest.mark.parametrize("cpu", CPUS.values(), ids=lambda cpu: cpu.name)
def test_every_figure_has_a_source_and_parameters_say_so(cpu: Cpu) -> None:
    assert len(cpu.figures) > 40
    for name, figure in cpu.figures.items():
        assert figure.source, name
        assert figure.parameter == figure.source.startswith("parameter"), name


def test_systems_have_sources_and_every_cpu_has_one() -> None:
    assert SYSTEM_OF.keys() == CPUS.keys()
    for system in SYSTEMS.values():
        assert all(figure.source for figure in system.figures.values())


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda one: f"{one.cpu}: {one.what}")
def test_published_figure(statement: Statement) -> None:
    assert statement.model() == statement.published
    assert ppc_timing.statement_row(statement) in PAGE


@pytest.mark.parametrize("cpu", COMPILERS)
def test_waits_end_when_they_do_in_gccs_schedules(cpu: str) -> None:
    """Every wait for an operand that gcc's description makes is as long in the model."""
    found = ppc_timing.compared(cpu)
    assert found.waits > 90
    assert found.off == OTHER.get(cpu, {})
    assert ppc_timing.compiler_row(cpu) in PAGE
    if cpu in IN_ORDER:  # shorter where a unit's queue holds what waits
        assert 0.8 * found.clocks < found.cycles < 1.05 * found.clocks


def test_a_wrong_latency_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load that takes a cycle more is not as gcc has it."""
    pipeline = ppc_timing.described("970")
    load = replace(pipeline.classes["load"], latency=Figure(5, "wrong"))
    wrong = replace(pipeline, classes={**pipeline.classes, "load": load})
    monkeypatch.setitem(ppc_timing.CPUS, "970", replace(CPUS["970"], pipeline=wrong))
    assert ppc_timing.compared.__wrapped__("970").off


@pytest.mark.parametrize("cpu", MCA)
def test_loops_take_what_llvm_mca_says(cpu: str) -> None:
    """Or LLVM's description is another one than gcc's, and by how much is in the page."""
    for loop in ppc_timing.loops(cpu, ppc_timing.KERNELS):
        if (cpu, loop.function) in DIFFERENT:
            assert loop.published / 2 <= loop.model <= 2 * loop.published
        else:
            assert loop.model == loop.published
        assert ppc_timing.loop_row(cpu, loop) in PAGE
    assert {function for name, function in DIFFERENT if name == cpu} <= {
        loop.function for loop in ppc_timing.loops(cpu, ppc_timing.KERNELS)
    }


# The engine itself ------------------------------------------------------------------------

TEXTS = (
    *("addi 3,3,1", "add 4,3,5", "mullw 5,3,4", "lwz 6,0(3)", "lwzu 6,4(3)", "stw 6,8(4)"),
    *("stwu 6,4(4)", "cmpwi 0,6,3", "divw 7,6,5", "fadd 1,2,3", "lfd 2,0(3)", "stfd 1,0(4)"),
    *("mtctr 5", "mflr 6", "crand 0,1,2", "rlwinm. 3,4,5,6,7", "lha 7,0(3)", "mfcr 8"),
)


def steps(texts: Sequence[str], at: int = 0x10000) -> list[Step]:
    """A straight run; accesses are in a few words, so that loads meet stores."""
    insns = [insn(text) for text in texts]
    found = []
    for number, one in enumerate(insns):
        effects = TABLE.effects(one.op)
        accesses = effects.loads or effects.stores
        where = 0x200000 + 4 * (number % 3) if accesses else None
        found.append(Step(at + 4 * number, one, where, effects.size, effects.stores, None))
    return found


@pytest.mark.parametrize("name", CPUS)
@given(chosen=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=40))
@settings(max_examples=15, deadline=None)
def test_a_run_takes_no_less_than_its_groups_and_adds_up(name: str, chosen: list[str]) -> None:
    """Every stage comes after the one before it, and completion is in order."""
    result = simulate(steps(chosen), CPUS[name], SYSTEMS[SYSTEM_OF[name]])
    assert sum(result.breakdown.values()) == result.cycles
    assert result.cycles >= len(ppc_timing.steady(name).groups([insn(text) for text in chosen]))
    assert len(result.timeline) == len(chosen)
    for moment in result.timeline:
        assert moment.fetch < moment.issue <= moment.complete <= moment.retire
    retired = [moment.retire for moment in result.timeline]
    assert retired == sorted(retired)


@pytest.mark.parametrize("name", CPUS)
@given(chosen=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=20))
@settings(max_examples=10, deadline=None)
def test_nothing_issues_before_its_operands_are_there(name: str, chosen: list[str]) -> None:
    """The latencies that a scheduler is told are those that the engine keeps."""
    model, cpu = ppc_timing.steady(name), CPUS[name]
    assert cpu.traits is not None
    moments = simulate(steps(chosen), cpu, SYSTEMS[SYSTEM_OF[name]]).timeline
    wrote: dict[int, int] = {}
    code = [insn(text) for text in chosen]
    for number, one in enumerate(code):
        for register in cpu.traits(one).reads:
            if register in wrote:
                made = code[wrote[register]]
                took = model.latency(made, one, register)
                twice = (*model.item(made).then, *model.item(made).late, *model.item(one).late)
                if not twice:  # what issues twice has two times, and a moment only the last
                    assert moments[number].issue >= moments[wrote[register]].issue + took
        wrote.update(dict.fromkeys(cpu.traits(one).writes, number))


@pytest.mark.parametrize("name", CPUS)
@given(chosen=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=20))
@settings(max_examples=10, deadline=None)
def test_a_scheduler_is_told_no_later_a_start_than_the_engine_has(
    name: str, chosen: list[str]
) -> None:
    model = ppc_timing.steady(name)
    code = [(0x10000 + 4 * n, insn(t), None) for n, t in enumerate(chosen)]
    pipeline = model.line(code).stepper()
    for number in range(len(code)):
        told = pipeline.start(number, number)
        assert told <= pipeline.put(number, number)


@pytest.mark.parametrize("name", CPUS)
@given(chosen=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12))
@settings(max_examples=10, deadline=None)
def test_no_loop_takes_less_than_the_bound(name: str, chosen: list[str]) -> None:
    """What a pass of a loop takes at least holds for this order of it."""
    model = ppc_timing.steady(name)
    code = [(0x10000 + 4 * n, insn(text), None) for n, text in enumerate([*chosen, "bdnz ."])]
    assert model.least(code) <= model.cycles(code, {})


def test_groups_keep_the_rules_of_power4() -> None:
    """Cracked ones take two slots, microcoded ones all, some come first, and a branch ends one."""
    add, cracked, alone = insn("addi 3,3,1"), insn("lwzu 6,4(3)"), insn("mfcr 8")
    first, branch = insn("mtctr 5"), insn("bdnz .")
    sizes = {
        (add,) * 5: [4, 1],
        (add, add, cracked, add): [3, 1],
        (add, add, add, cracked): [3, 1],
        (add, alone, add): [1, 1, 1],
        (add, first, add): [1, 2],
        (add, branch, add): [2, 1],
        (add, add, add, add, branch): [5],
        (first, insn("bctr")): [1, 1],
    }
    model = ppc_timing.steady("970")
    for code, expected in sizes.items():
        assert [len(group) for group in model.groups(code)] == expected


def test_branches_that_write_no_register_take_no_place_on_a_750() -> None:
    add, branch, counting = insn("addi 3,3,1"), insn("beq 0,."), insn("bdnz .")
    model = ppc_timing.steady("750")
    assert [len(group) for group in model.groups((add, branch, add))] == [3]
    assert [len(group) for group in model.groups((add, counting, add))] == [2, 1]


def test_a_load_waits_for_the_store_before_it() -> None:
    """With the latency that forwarding has; one that is wider than the store waits longer."""
    store, load, wide = insn("stw 6,0(3)"), insn("lwz 7,0(3)"), insn("ld 7,0(3)")
    system = SYSTEMS[SYSTEM_OF["970"]]

    def took(second: Insn, size: int) -> int:
        run = [
            Step(0x10000, store, 0x200000, 4, True, None),
            Step(0x10004, second, 0x200000, size, False, None),
        ]
        first, last = simulate(run, CPUS["970"], system).timeline
        return last.complete - first.issue

    assert (took(load, 4), took(wide, 8)) == (12, 26)


def test_what_nothing_foretells_is_waited_for() -> None:
    """A 750 has no link stack, a 7450 has one: a return from the second call is foretold there."""
    call, back, load = insn("bl .+64"), insn("blr"), insn("mtlr 5")
    lost = {}
    for name in ("750", "7450"):
        run = []
        for turn in range(4):
            at = 0x10000 + 8 * turn
            run.append(Step(at, call, None, 0, False, at + 64))
            run.append(Step(at + 64, load, None, 0, False, None))
            run.append(Step(at + 68, back, None, 0, False, at + 4))
            run.append(Step(at + 4, insn("addi 3,3,1"), None, 0, False, None))
        lost[name] = simulate(run, CPUS[name], SYSTEMS[SYSTEM_OF[name]]).share(causes.OPERANDS)
    assert lost["750"] > lost["7450"]


def test_a_scheduler_may_ask_for_lines_where_the_chip_does_not() -> None:
    asked = {name for name, cpu in CPUS.items() if engine_of(cpu).asks_ahead}
    assert asked == {"603e", "750", "7400", "7450"}


def test_what_a_chip_does_not_have_is_refused() -> None:
    with pytest.raises(NotDescribed):
        simulate(steps(["mulld 3,4,5"]), CPUS["750"], SYSTEMS[SYSTEM_OF["750"]])
    assert len(NAMES) == len({*NAMES})
