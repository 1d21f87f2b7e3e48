"""Loops written in assembly, as the scheduler sees them, and run on numbers."""

from __future__ import annotations

from collections.abc import Sequence

import targets
from passes.scheduling.dependence import Dependences, accesses, bonding, dependences, free
from passes.scheduling.incumbent import Found, best
from passes.scheduling.list_scheduler import Pass
from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.interpret import AccessFault, Interpreter, Memory
from rewriter.timing.engines import engine_of
from rewriter.timing.steady import Steady
from targets.alpha.assembler import assemble

ALPHA = targets.named("alpha")
CODE, DATA = 0x10000, 0x20000
PAGE = 0x1000


def loop(text: str) -> Pass:
    """A pass that begins a fetch block; a label `loop` stands before it."""
    code = assemble(f"loop: {text}", CODE).code
    words = (int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code), 4))
    insns = tuple(insn for word in words if (insn := ALPHA.table.decode(word)) is not None)
    return of(insns)


def of(insns: tuple[Insn, ...]) -> Pass:
    """A pass of these instructions, with whatever may move."""
    runs: list[list[int]] = [[]]
    for place, insn in enumerate(insns):
        if ALPHA.is_nop(insn):
            continue
        if free(insn, ALPHA):
            runs[-1].append(place)
        else:
            runs.append([])
    addresses = tuple(CODE + 4 * place for place in range(len(insns)))
    kept = tuple(tuple(run) for run in runs if len(run) > 1)
    return Pass(insns, addresses, accesses(map(bonding(ALPHA), insns)), kept, {})


def steady(cpu: str) -> Steady:
    """The model of a CPU."""
    return engine_of(ALPHA.cpus[cpu]).steady(ALPHA.table)


def depends(one: Pass, model: Steady) -> Dependences:
    """The dependences of a pass."""
    return dependences(one.insns, one.accesses, ALPHA, model)


def scheduled(one: Pass, model: Steady) -> Found:
    """The best order found."""
    return best(one, one.cycles(one.same, model), ALPHA, model)


def lines(one: Pass, order: Sequence[int]) -> list[str]:
    """The instructions in an order; a branch without its distance."""
    found = (ALPHA.table.text(one.insns[n]) for n in order)
    return list(found)


class Run:
    """Straight code run once on numbers: registers, memory, and the fault that ended it, if any.

    `pages` are the pages of data that are there, from DATA on.
    """

    def __init__(
        self, insns: Sequence[Insn], registers: dict[int, int], content: bytes, pages: Sequence[int]
    ) -> None:
        memory = Memory()
        code = b"".join(ALPHA.encode(insn) for insn in insns)
        memory.map(CODE, code, write=False)
        for page in pages:
            memory.map(DATA + PAGE * page, content)
        machine = Interpreter(ALPHA.table, memory, registers)
        self.fault: int | None = None
        self.stores: list[tuple[int, int]] = []
        try:
            for step in machine.steps(CODE, CODE + len(code)):
                if step.store and step.access is not None:
                    self.stores.append((step.access, step.size))
        except AccessFault as fault:
            self.fault = fault.address
        self.registers = dict(machine.registers)
        self.memory = [memory.read(DATA + PAGE * page, len(content)) for page in pages]
