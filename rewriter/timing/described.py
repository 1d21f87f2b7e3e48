"""What a CPU's description says of an instruction, or that it says nothing."""

from __future__ import annotations

from collections.abc import Mapping

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.cpu import Cpu, Pipeline, Sched, Traits

CONTROL = frozenset(Flow) - {Flow.NEXT, Flow.TRAP, Flow.STOP}


class NotDescribed(ValueError):
    """The CPU has no description, or none of this class of instructions."""


def traits_of(cpu: Cpu, insn: Insn) -> Traits:
    """What timing asks of an instruction on a CPU."""
    if cpu.traits is None:
        raise NotDescribed(f"{cpu.name} has no timing description")
    if not insn.op.sched:
        raise NotDescribed("data in code has no timing")
    return cpu.traits(insn)


def sched_of(cpu: Cpu, traits: Traits) -> Sched:
    """The scheduling class of an instruction on a CPU."""
    classes = cpu.pipeline.classes if cpu.pipeline is not None else {}
    if traits.sched not in classes:
        raise NotDescribed(f"{cpu.name} does not describe class {traits.sched}")
    return classes[traits.sched]


class Bypasses:
    """The latencies of a pipeline that are not a producer's usual ones; what was asked is kept."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._all = pipeline.bypasses
        self._known: dict[tuple[str, str], Mapping[str, int]] = {}

    def to(self, consumer: str, role: str) -> Mapping[str, int]:
        """By class of producers, the latency to an operand of a class."""
        if (consumer, role) not in self._known:
            found: dict[str, int] = {}
            for bypass in self._all:
                if consumer in bypass.consumers and bypass.operand in ("", role):
                    found.update(dict.fromkeys(bypass.producers, bypass.latency.value))
            self._known[consumer, role] = found
        return self._known[consumer, role]
