"""How many loops of real files could get write hints (WH64), and what stands against the others.

    python benchmarks/write_hints.py [INPUT...]

Default: the Alpha libc, libm, libstdc++ and kernel.  A site is an innermost loop of one block whose
stores fill what a pass moves over.  A version for long counts would be a lead-in to a line, a body
that gives the hint and then stores the whole line, and the old loop as lead-out.  Each site counts
once, by the first of these that stands against it:

- a pass moves over less than 4 or more than 32 bytes, or downwards;
- a barrier, a lock, a trap or a hint is in the loop, or a load-locked is near;
- the end hangs on what is read;
- it is on the stack;
- it also reads memory: destination and source may overlap, which only a test as it runs can tell;
- in a kernel it may be a device: only stores that ignore the low bits of an address are certainly
  to memory;
- no register is free at the loop's head that the function writes anyway;
- the function has fewer nops than the version has instructions.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.sites import LINE, fills
from fixtures.inputs import Missing, find
from passes.streams.accesses import Stream, streams
from rewriter.analysis.loops import Loop, innermost
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.protocol import whole
from rewriter.elf.image import load
from targets.alpha import Alpha

ALPHA = Alpha()
DEFAULT = ("alpha-libc", "alpha-libm", "alpha-libstdc++", "alpha-vmlinux")
STEPS = range(4, 33)
GUARD = 12  # instructions around a line: tests, the hint, the way back


@dataclass(frozen=True)
class Site:
    """A loop of one block that fills memory."""

    program: Program
    function: Function
    loop: Loop
    insns: tuple[Insn, ...]
    stream: Stream

    def reason(self) -> str:
        """What stands against a version with hints, or nothing."""
        checks = (self._step, self._events, self._end, self._where, self._reads, self._device)
        return next(filter(None, (check() for check in (*checks, self._register, self._room))), "")

    def _step(self) -> str:
        if self.stream.step < 0:
            return "downwards"
        few = self.stream.step not in STEPS
        return "a pass moves over less than 4 or more than 32 bytes" if few else ""

    def _events(self) -> str:
        if any(ALPHA.table.effects(insn.op).events for insn in self.insns):
            return "a barrier, a lock, a trap or a hint is in the loop"
        near = self.loop.head in self.program.near_locks
        return "a load-locked is near" if near else ""

    def _end(self) -> str:
        """Whether what the branch back reads comes from memory."""
        needed, before = ALPHA.table.uses(self.insns[-1]), 0
        while needed != before:
            before = needed
            for insn in reversed(self.insns):
                if ALPHA.table.defs(insn) & needed:
                    if ALPHA.table.effects(insn.op).loads:
                        return "the end hangs on what is read"
                    needed |= ALPHA.table.uses(insn)
        return ""

    def _where(self) -> str:
        facts = self.program.facts(self.function).get(self.loop.head, {})
        base, stack = self.stream.base, ALPHA.spelling.STACK
        if base == stack or facts.get(base, (0, 0))[0] == stack:
            return "on the stack"
        return ""

    def _reads(self) -> str:
        reads = any(ALPHA.table.effects(insn.op).loads for insn in self.insns)
        return "it also reads memory, which may overlap" if reads else ""

    def _device(self) -> str:
        if not self.program.is_kernel:
            return ""
        stores = [insn for insn in self.insns if ALPHA.table.accesses(insn)]
        return "" if all(whole(insn, ALPHA) for insn in stores) else "it may be a device"

    def _register(self) -> str:
        table = ALPHA.table
        live = self.program.live_into(self.loop.head)
        for insn in self.insns:
            live |= table.uses(insn) | table.defs(insn)
        return "" if self._written & ~live else "no register is free"

    def _room(self) -> str:
        stores = sum(bool(ALPHA.table.accesses(insn)) for insn in self.insns)
        needed = LINE // self.stream.step * stores + len(self.insns) + GUARD
        return "" if self._nops >= needed else "no room in the function"

    @cached_property
    def _span(self) -> tuple[int, int]:
        return self.program.listing.span(self.function.start, self.function.end)

    @cached_property
    def _written(self) -> int:
        first, last = self._span
        insns = (insn for insn in self.program.listing.insns_at(first, last) if insn is not None)
        written = 0
        for insn in insns:
            written |= ALPHA.table.defs(insn)
        return written & ~(1 << ALPHA.spelling.STACK)

    @cached_property
    def _nops(self) -> int:
        first, last = self._span
        return int(self.program.nops[first:last].sum())


def sites(program: Program) -> Iterator[Site]:
    """Every loop of one block that fills memory."""
    listing, by_start = program.listing, {f.start: f for f in program.functions}
    for start, loops in innermost(program).items():
        for loop in loops:
            first, last = listing.span(loop.head, loop.latch + 1)
            flows = listing.flows[first : last - 1]
            if (flows != FLOW_CODE[Flow.NEXT]).any():
                continue
            here = zip(range(first, last), listing.insns_at(first, last), strict=True)
            insns = tuple(i for at, i in here if i is not None and not program.nops[at])
            for stream in streams(insns, ALPHA):
                if fills(stream):
                    yield Site(program, by_start[start], loop, insns, stream)
                    break


def main(names: Sequence[str]) -> int:
    """Prints the survey of each input; the exit status says whether all were there."""
    status = 0
    for name in names:
        try:
            path = str(find(name))
        except Missing as missing:
            print(missing)
            status = 1
            continue
        program = analyse(load(path), ALPHA)
        reasons, steps, could = Counter[str](), Counter[int](), defaultdict[str, list[str]](list)
        for site in sites(program):
            reason = site.reason() or "could have one"
            reasons[reason] += 1
            steps[abs(site.stream.step)] += 1
            could[reason].append(f"{site.function.name}+{site.loop.head - site.function.start:x}")
        told = ", ".join(f"{step} bytes {count}" for step, count in sorted(steps.items()))
        print(f"{name}: {sum(reasons.values())} loops of one block fill memory ({told})")
        for reason, count in reasons.most_common():
            print(f"  {count} {reason}")
        for reason in ("could have one", "no room in the function"):
            if could[reason]:
                print(f"    {reason}: {' '.join(could[reason][:24])}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or DEFAULT))
