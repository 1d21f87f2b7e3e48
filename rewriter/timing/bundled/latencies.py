"""What must lie between two instructions on a CPU that issues bundles, and where they may go.

All of it is static: what a scheduler asks.  The run over code is `bundled_run`.
"""

from __future__ import annotations

from functools import lru_cache

from rewriter.core.isa.instruction import Insn
from rewriter.core.target.bundled_cpu import Bundled, BundledCpu, BundledTraits

_KEPT = 1 << 16  # answers


def latency(cpu: BundledCpu, producer: Insn, consumer: Insn, register: int) -> int:
    """Cycles between the issue of two instructions when the value goes through `register`.

    0: they may issue together, where an instruction group may hold both.
    """
    return role_latency(cpu.issue, cpu.issue.traits(producer), cpu.issue.traits(consumer), register)


def role_latency(
    issue: Bundled, producer: BundledTraits, consumer: BundledTraits, register: int
) -> int:
    """The same for instructions that are already described."""
    for wrote in producer.writes:
        if wrote.register == register:
            break
    else:
        return 0
    cycles = 0
    if wrote.name != "state":
        for read in consumer.reads:
            if read.register == register:
                found = between(issue, producer.sched, consumer.sched, wrote.name, read.name)
                cycles = max(cycles, found)
    return cycles


@lru_cache(maxsize=_KEPT)
def between(issue: Bundled, producer: str, consumer: str, wrote: str, read: str) -> int:
    """The latency between two classes for roles: the first bypass that fits, or the producer's."""
    made, used = _names(producer), _names(consumer)
    for each in issue.passes:
        if (
            (not each.producers or each.producers & made)
            and (not each.consumers or each.consumers & used)
            and (not each.wrote or wrote in each.wrote)
            and (not each.reads or read in each.reads)
        ):
            return each.latency.value
    return issue.class_of(producer).latency.value


@lru_cache(maxsize=_KEPT)
def _names(sched: str) -> frozenset[str]:
    """A class and what it refines."""
    return frozenset({sched, sched.partition(" ")[0]})


def system_latency(cpu: BundledCpu, earlier: Insn, later: Insn) -> int:
    """Cycles between the issue of two instructions by the tables of pairs, 0 where none has them.

    It counts from the last instruction of the kind, whatever stands between the two.
    """
    before, after = cpu.issue.traits(earlier).kinds, cpu.issue.traits(later).kinds
    return max(
        (p.cycles.value for p in cpu.issue.pairs if p.earlier & before and p.later & after),
        default=0,
    )


def ports(cpu: BundledCpu, insn: Insn, unit: str = "") -> tuple[str, ...]:
    """The ports that take the instruction from a slot of the unit, its own if none is given.

    The preferred comes first; none if no such slot may hold it.  One that needs all of them at
    once says so in its class.
    """
    described = cpu.issue.traits(insn)
    return cpu.issue.class_of(described.sched).ports.get(unit or described.unit, ())
