"""The description of the Itanium 2: complete, sourced, and no name in it without an instruction."""

from __future__ import annotations

import pytest

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.target.bundled_cpu import ANY, BundledCpu, BundledTraits
from rewriter.timing.bundled.latencies import ports
from targets.ia64.cpus import CPUS
from targets.ia64.isa.bundles import TEMPLATES
from targets.ia64.isa.fields import Unit
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import AR, CR

EVERY = pytest.mark.parametrize("cpu", CPUS.values(), ids=lambda cpu: cpu.name)


def _examples() -> list[Insn]:
    """An instruction of every row, and of a move for every register that it can name."""
    found = []
    for op in TABLE:
        insn = Insn(op, tuple(_first(operand, op.match) for operand in op.format.operands))
        found.append(insn)
        for operand, first in (("ar3", AR), ("cr3", CR)):
            if insn.has(operand):
                found += [insn.replace(**{operand: first + n}) for n in range(128)]
    return found


def _first(operand: Operand, word: int) -> int:
    """A value that is neither reserved nor a register that cannot change."""
    if operand.values:
        return next(value for value in operand.values if value is not None)
    return operand.extract(word) + (3 if operand.kind is Kind.REGISTER else 0)


@pytest.fixture(scope="module")
def described() -> list[tuple[Insn, BundledTraits]]:
    return [(insn, CPUS["itanium2"].issue.traits(insn)) for insn in _examples()]


@EVERY
def test_every_instruction_has_ports_in_the_slot_that_it_stands_in(cpu: BundledCpu) -> None:
    for insn in _examples():
        assert ports(cpu, insn), insn
        if insn.op.unit == "A":
            assert ports(cpu, insn, "M")
            assert set(ports(cpu, insn, "M")) <= set(ports(cpu, insn, "I"))
        else:
            assert not ports(cpu, insn, "F" if insn.op.unit != "F" else "M")


def test_names_in_the_tables_are_of_instructions(
    described: list[tuple[Insn, BundledTraits]],
) -> None:
    """A slip of the pen in a table would silently cost nothing."""
    issue = CPUS["itanium2"].issue
    kinds = {kind for _, traits in described for kind in traits.kinds}
    scheds = {traits.sched for _, traits in described}
    bases = scheds | {sched.partition(" ")[0] for sched in scheds}
    rules = issue.dispersal
    for pair in issue.pairs:
        assert pair.earlier | pair.later <= kinds
    assert {echo.kind for echo in issue.echoes} <= kinds
    assert {*rules.after, *rules.before, *(k for two in rules.between for k in two)} <= kinds
    assert set(issue.classes) <= bases
    assert rules.idle <= bases
    for one in issue.passes:
        assert one.producers | one.consumers <= bases
    roles = {role.name for _, traits in described for role in traits.reads}
    assert {name for one in issue.passes for name in one.reads} <= roles
    memory = issue.memory
    assert memory.loads | memory.stores | memory.prefetches | memory.around <= bases
    assert all(ANY in traits.kinds for _, traits in described)


def test_shapes_are_those_of_templates() -> None:
    rules = CPUS["itanium2"].issue.dispersal
    shapes = {"MX" if t.is_long else t.name for t in TEMPLATES.values()}
    named = {*rules.ending, *rules.ending_if_busy, *(s for s, _ in rules.places)}
    assert named | {shape for two in rules.apart for shape in two} <= shapes
    # What stands behind a branch is never in its cycle: `splits` relies on that.
    branches = {shape for shape in shapes if Unit.B.name in shape}
    assert branches == rules.ending | rules.ending_if_busy
    for shape, number in rules.places:
        assert shape[number] == Unit.B.name


@EVERY
def test_every_wait_has_a_counter_of_a_known_group(cpu: BundledCpu) -> None:
    """Every register that an instruction can wait for, and every counter, is accounted for."""
    issue = cpu.issue
    for register in range(len(TABLE.register_names)):
        roles = sum(each.first <= register <= each.last for each in issue.waits)
        assert roles == (register < TABLE.register_names.index("ip"))
    counters = {pair.counter for pair in issue.pairs} | {each.counter for each in issue.waits}
    counters |= {name for pair in issue.pairs for name, _ in pair.shares}
    counters |= {issue.front.counter, issue.front.starved}
    counters |= {issue.memory.forwarding, issue.memory.queue}
    counters |= {echo.counter for echo in issue.echoes}
    assert {counter.partition(".")[0] for counter in counters} == set(issue.priority)


def test_shares_are_all_bubbles_of_the_pair() -> None:
    for pair in CPUS["itanium2"].issue.pairs:
        if pair.shares:
            assert sum(bubbles.value for _, bubbles in pair.shares) == pair.cycles.value - 1


@EVERY
def test_every_figure_has_a_source_and_parameters_say_so(cpu: BundledCpu) -> None:
    assert len(cpu.figures) > 60
    for name, figure in cpu.figures.items():
        assert figure.source, name
        assert figure.parameter == figure.source.startswith("parameter"), name


def test_what_sources_dispute_is_a_parameter() -> None:
    """Three of the facts on which the sources differ, with both their numbers named."""
    figures = CPUS["itanium2"].figures
    disputed = {n for n, f in figures.items() if "disagree" in f.source}
    assert all(figures[name].parameter for name in disputed)
    for part, numbers in (("RSE_AR", "56"), ("MMALU_A", "23"), ("FCMP", "21")):
        texts = [figures[name].source for name in disputed if part in name]
        assert any(all(number in text for number in numbers) for text in texts), part


def test_madison_differs_in_its_third_level_only() -> None:
    one, other = (CPUS[name].figures for name in ("itanium2", "madison"))
    differing = {name for name in one if one[name] != other[name]}
    assert differing == {"memory levels 2 size", "memory levels 2 ways"}
