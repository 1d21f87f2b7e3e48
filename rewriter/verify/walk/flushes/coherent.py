"""Loops that a CPU does not need whose instruction cache sees what is stored.

a loop that writes blocks to memory       nothing
a barrier                                 a barrier
a loop by which the instruction cache     one block is forgotten: what was fetched already
forgets the same blocks                   goes with it
a barrier                                 a barrier
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rewriter.analysis.program import Program
from rewriter.core.code.dataflow import machine, registers_of
from rewriter.core.code.program import Function
from rewriter.core.edit import Grade
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.target.idioms import Flushing
from rewriter.core.terms.term import Term
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.flushes.covered import left_behind
from rewriter.verify.walk.flushes.shapes import FlushLoop, Place


@dataclass(frozen=True)
class Around:
    """What control comes through before a loop of the old code, and what is read behind it."""

    program: Program
    function: Function
    known: Flushing

    def before(self, loop: FlushLoop) -> Sequence[Insn] | None:
        """The straight code from which alone control comes to a loop; None where there is none."""
        graph = self.program.graph
        block = graph.block_holding(loop.head)
        if block == 0 or not self.alone(loop):
            return None
        edges = graph.within(graph.blocks_of(self.function))
        sources = sorted(source for source, goals in edges.items() if block in goals)
        if sources != [block - 1, block] or graph.entered[block] or graph.landed[block]:
            return None
        listing = self.program.listing
        insns = listing.insns_at(int(graph.first[block - 1]), int(graph.last[block - 1]))
        found = [insn for insn in insns if insn is not None]
        if len(found) < len(insns) or any(i.op.flow is not Flow.NEXT for i in found[:-1]):
            return None
        return found if found and found[-1].op.flow.falls else None

    def alone(self, loop: FlushLoop) -> bool:
        """Whether a loop is a block of its own, into which control comes at its head."""
        graph = self.program.graph
        block = graph.block_holding(loop.head)
        listing = self.program.listing
        places = int(listing.addresses[graph.first[block]]), int(graph.last[block])
        return places == (loop.head, loop.places.stop)

    def live(self, loop: FlushLoop) -> int:
        """Registers that are read behind a loop, or when it goes round again."""
        return self._read_from(loop.end) | self._read_from(loop.head)

    def _read_from(self, address: int) -> int:
        """Registers read from a block's start on, but for those of which nothing comes."""
        program = self.program
        live, scratch = program.live_into(address), program.target.spelling.SCRATCH
        try:
            block = program.graph.block_at(address)
        except KeyError:
            return live
        return live & (program.needed(self.function).into[block] | ~scratch)

    def left(self, loop: FlushLoop, count: int | None) -> dict[int, Place] | None:
        """What a loop of one round, gone through so often, leaves in registers read behind it.

        None where that is not known: of the counter, and where the count is no constant.
        """
        live, found = self._read_from(loop.end), dict[int, Place]()
        for register in (*loop.rounds[0].left, self.known.COUNTER):
            if live >> register & 1:
                place = None
                if count and register != self.known.COUNTER:
                    place = left_behind(loop, register, count - 1)
                if place is None:
                    return None
                found[register] = place
        return found

    def count(self, loop: FlushLoop) -> int | None:
        """How often a loop goes round, where that is a constant."""
        insns = self.before(loop)
        if insns is None:
            return None
        with self.program.target.table.terms() as terms:
            state = machine(self.program.target.table, terms)
            _run(state, insns)
            counter = state.get(Reg(self.known.COUNTER))
            return counter.value if counter.kind == "const" else None

    def begins(self, loop: FlushLoop, block: int, prover: Prover) -> int | None:
        """0 where the walking register is shown to begin at a multiple of a block."""
        insns = self.before(loop)
        if insns is None or block & (block - 1):
            return None
        with self.program.target.table.terms() as terms:
            state = machine(self.program.target.table, terms)
            _run(state, insns)
            low = state.get(Reg(loop.walker)) & terms.const(block - 1)
            shown = prover.equal(low, terms.const(0))[0] is Grade.PROVED
        return 0 if shown else None


def needless(
    around: Around, loops: Sequence[FlushLoop], prover: Prover
) -> Iterator[tuple[FlushLoop, FlushLoop]]:
    """The pairs of loops of the old code, one behind the other, that are for fetch alone.

    The first writes blocks to memory; a barrier is between both, another one behind; the second,
    by which the instruction cache forgets, begins where the first one began, with the same count.
    """
    known = around.known
    for first, second in pairwise(loops):
        if first.name not in known.BACK or second.name not in known.FORGETS:
            continue
        if not all(around.alone(one) for one in (first, second)):
            continue
        alike = _same_walk(first, second) and _waits(around, second)
        if alike and _between(around, first, second, prover):
            yield first, second


def _same_walk(first: FlushLoop, second: FlushLoop) -> bool:
    """Whether both flush at the same distances in each round, in steps of the same size."""
    if not len(first.rounds) == len(second.rounds) == 1:
        return False
    flushed = ({*one.rounds[0].flushed} for one in (first, second))
    return first.step == second.step and next(flushed) == next(flushed)


def _between(around: Around, first: FlushLoop, second: FlushLoop, prover: Prover) -> bool:
    """Whether the second loop comes right behind the first and a barrier, and walks as it did."""
    lead, way = around.before(first), around.before(second)
    graph = around.program.graph
    if lead is None or way is None or not any(map(around.known.is_barrier, way)):
        return False
    if graph.block_holding(second.head) != graph.block_holding(first.head) + 2:
        return False
    table = around.program.target.table
    with table.terms() as terms:
        state = machine(table, terms)
        _run(state, lead)
        began = _counted(state, first, around.known)
        for register in registers_of(_written(around, first)):
            state.set(register, terms.var(f"left in {register:d}"))
        _run(state, way)
        pairs = zip(began, _counted(state, second, around.known), strict=True)
        return all(prover.equal(old, new)[0] is Grade.PROVED for old, new in pairs)


def _written(around: Around, loop: FlushLoop) -> int:
    mask = 1 << around.known.COUNTER
    for register in loop.rounds[0].left:
        mask |= 1 << register
    return mask


def _run(state: Symbolic, insns: Sequence[Insn]) -> None:
    """Straight code; where it may leave, it goes on."""
    for insn in insns:
        state.execute(insn, 0)
        state.control = None


def _counted(state: Symbolic, loop: FlushLoop, known: Flushing) -> tuple[Term, Term]:
    """Where a loop begins, and how often it will go round."""
    return state.get(Reg(loop.walker)), state.get(Reg(known.COUNTER))


def _waits(around: Around, loop: FlushLoop) -> bool:
    """Whether a barrier comes behind a loop before anything that the world sees."""
    listing, table = around.program.listing, around.program.target.table
    at = loop.places.stop
    while at < len(listing) and (insn := listing.insn(at)) is not None:
        if around.known.is_barrier(insn):
            return True
        if insn.op.flow is not Flow.NEXT or table.effects(insn.op).events or table.accesses(insn):
            return False
        at += 1
    return False
