"""What a scheduler asks without a trace: latencies, pipes, width, slots.

Functions over a CPU's data; all raise NotDescribed for a CPU or class without a description.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu, Pipeline
from rewriter.timing.described import Bypasses, NotDescribed, sched_of, traits_of
from rewriter.timing.engines import engine_of


def pipeline_of(cpu: Cpu) -> Pipeline:
    """The CPU's pipeline."""
    if cpu.pipeline is None:
        raise NotDescribed(f"{cpu.name} has no timing description")
    return cpu.pipeline


def width(cpu: Cpu) -> int:
    """Instructions that may start in a cycle."""
    return pipeline_of(cpu).width.value


def pipes(cpu: Cpu, insn: Insn) -> tuple[str, ...]:
    """The pipes that can take an instruction; none for one that is thrown away."""
    return sched_of(cpu, traits_of(cpu, insn)).pipes


def latency(cpu: Cpu, producer: Insn, consumer: Insn) -> int:
    """Cycles from the issue of one instruction to that of one that reads its result.

    The shortest: a cache hit, no crossing between clusters.  Zero when the consumer reads no
    result of the producer, or may issue together with it.
    """
    made, used = traits_of(cpu, producer), traits_of(cpu, consumer)
    sched, bypasses = sched_of(cpu, made), Bypasses(pipeline_of(cpu))
    first = 0 if sched.after is None else sched.after.value
    late = sched_of(cpu, used).late
    worst = 0
    for register, role in zip(used.reads, used.roles, strict=True):
        if register in made.writes:
            there = first + bypasses.to(used.sched, role).get(made.sched, sched.latency.value)
            after = sched_of(cpu, used).after
            worst = max(worst, there - (after.value if role in late and after else 0))
    return worst


def slots(cpu: Cpu, block: Sequence[Insn]) -> str:
    """The halves that a whole fetch block's instructions go to, the lowest address first.

    Empty for a CPU that does not assign them by a rule.
    """
    return engine_of(cpu).slots(block)


def letters(code: Sequence[tuple[int, Insn]], cpu: Cpu) -> dict[int, str]:
    """The slot of each instruction in a fetch block that is whole."""
    size = cpu.fetch_block.value
    blocks: dict[int, list[tuple[int, Insn]]] = {}
    for address, insn in code:
        blocks.setdefault(address // size, []).append((address, insn))
    found: dict[int, str] = {}
    for block in blocks.values():
        if sum(insn.size for _, insn in block) == size:
            halves = slots(cpu, [insn for _, insn in block])
            found.update(zip((address for address, _ in block), halves, strict=False))
    return found
