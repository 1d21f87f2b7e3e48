"""What a CPU's description says of an instruction, or that it says nothing."""

from __future__ import annotations

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.cpu import Cpu, Sched, Traits

CONTROL = frozenset(Flow) - {Flow.NEXT, Flow.TRAP, Flow.STOP}


class NotDescribed(ValueError):
    """The CPU has no description, or none of this class of instructions."""


def traits_of(cpu: Cpu, insn: Insn) -> Traits:
    """What timing asks of an instruction on a CPU."""
    if cpu.traits is None:
        raise NotDescribed(f"{cpu.name} has no timing description")
    return cpu.traits(insn)


def sched_of(cpu: Cpu, traits: Traits) -> Sched:
    """The scheduling class of an instruction on a CPU."""
    classes = cpu.pipeline.classes if cpu.pipeline is not None else {}
    if traits.sched not in classes:
        raise NotDescribed(f"{cpu.name} does not describe class {traits.sched}")
    return classes[traits.sched]
