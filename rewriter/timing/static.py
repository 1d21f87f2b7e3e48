"""What is asked of a CPU without a trace: its width, and the slots of a fetch block.

Functions over a CPU's data; all raise NotDescribed for a CPU or class without a description.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu
from rewriter.timing.described import NotDescribed
from rewriter.timing.engines import engine_of


def width(cpu: Cpu) -> int:
    """Instructions that may start in a cycle."""
    if cpu.pipeline is None:
        raise NotDescribed(f"{cpu.name} has no timing description")
    return cpu.pipeline.width.value


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
