"""Blocks of caches that code flushes one by one, so that it can execute what it stored.

`dcbst` writes a block to memory, `icbi` makes the instruction cache forget it (Power ISA 3.1B, Book
II, 4.3.1 and 4.3.2); between both a `sync` waits until memory has it, and a `sync` and an `isync`
make fetch begin anew behind them.  `dcbf` also makes the data cache forget the block.
"""

from __future__ import annotations

from dataclasses import replace

from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.dispatched_cpu import Dispatched
from targets.ppc.cpus import CPUS
from targets.ppc.isa import table
from targets.ppc.isa.features import ICACHE_SNOOP
from targets.ppc.registers import CTR, GPR, ZERO

_FAR = 1 << 15
_AGAIN, _LEAVING = 0x42000000, 0x42400000  # bdnz and bdz, without hints


class Flushes:
    """The capability `flushing`."""

    FLUSHES = frozenset({"dcbst", "dcbf", "icbi"})
    BACK = frozenset({"dcbst"})
    FORGETS = frozenset({"icbi"})
    COUNTER: int = CTR

    def __init__(self, bits: int) -> None:
        self._bits, self._rows = bits, table(bits, "big")

    def flushed(self, insn: Insn) -> int | None:
        """The register with the address; None with a sum of two, or one processor's caches only."""
        if insn.name not in self.FLUSHES or insn.operand("ra0") != ZERO:
            return None
        if insn.has("flushed") and insn.operand("flushed"):
            return None
        return insn.operand("rb")

    def is_barrier(self, insn: Insn) -> bool:
        """`sync` of everything: `lwsync` does not wait for caches."""
        return insn.name == "sync" and not any(insn.operands)

    def counts_down(self, insn: Insn) -> bool | None:
        """bdnz, or bdz, with any hint."""
        if insn.name != "bc":
            return None
        return True if insn.has("bo_nz") else False if insn.has("bo_z") else None

    def plus(self, source: int, distance: int, target: int) -> Insn | None:
        """addi."""
        if not -_FAR <= distance < _FAR or source == GPR:
            return None
        return Insn(table(32, "big").find("addi"), (target, source, distance))

    def walked(self, register: int, count: int, bits: int) -> tuple[Insn, ...]:
        """A shift, an addition, and the shift back."""
        add = Insn(self._rows.find("add"), (register, register, count))
        return self._shifted(count, bits), add, self._shifted(count, -bits)

    def _shifted(self, register: int, bits: int) -> Insn:
        """slwi or srwi, sldi or srdi."""
        if self._bits == 32:
            ends = (0, 31 - bits) if bits > 0 else (-bits, 31)
            return Insn(self._rows.find("rlwinm"), (register, register, bits % 32, *ends))
        name, end = ("rldicr", 63 - bits) if bits > 0 else ("rldicl", -bits)
        return Insn(self._rows.find(name), (register, register, bits % 64, end))

    def leaving(self, distance: int) -> Insn:
        """bdz."""
        return _branch(_LEAVING, distance)

    def again(self, distance: int) -> Insn:
        """bdnz."""
        return _branch(_AGAIN, distance)

    def block(self, cpu: Cpu, name: str) -> int | None:
        """The line of its cache, data for all but icbi; by its name: it may be timed as another."""
        chip = CPUS.get(cpu.name)
        if chip is None or not isinstance(chip.pipeline, Dispatched):
            return None
        memory = chip.pipeline.memory
        return (memory.icache if name in self.FORGETS else memory.dcache).line.value

    def taken(self, cpu: Cpu, insn: Insn) -> int | None:
        """By the class of the instruction."""
        if not isinstance(cpu.pipeline, Dispatched) or cpu.traits is None:
            return None
        sched = cpu.pipeline.classes[cpu.traits(insn).sched]
        busy = 1 if sched.busy is None else sched.busy.value
        return busy if len(sched.pipes) == 1 else None

    def banked(self, cpu: Cpu, busy: int) -> Cpu | None:
        """POWER4 and 970: a parameter of their descriptions."""
        pipeline = cpu.pipeline
        if not isinstance(pipeline, Dispatched) or pipeline.memory.through is None:
            return None
        through = pipeline.memory.through
        banks = replace(through, busy=replace(through.busy, value=busy))
        memory = replace(pipeline.memory, through=banks)
        return replace(cpu, pipeline=replace(pipeline, memory=memory))

    def sees_stores(self, cpu: Cpu) -> bool:
        """The instruction caches of POWER5 and later."""
        return ICACHE_SNOOP in cpu.features


def _branch(word: int, distance: int) -> Insn:
    insn = table(32, "big").decode(word)
    assert insn is not None
    return insn.replace(bd=distance)
