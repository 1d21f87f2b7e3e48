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
from rewriter.core.code.dataflow import inputs, machine, registers_of
from rewriter.core.code.program import Function
from rewriter.core.edit import Grade
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.target.idioms import Flushing
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.flushes.shapes import FlushLoop


@dataclass(frozen=True)
class Around:
    """What control comes through before a loop of the old code, and what is read behind it."""

    program: Program
    function: Function
    known: Flushing

    def before(self, loop: FlushLoop) -> Sequence[Insn] | None:
        """The straight code, perhaps with ways out of it, from which alone control comes to a loop.

        None where there is none.
        """
        block = self.program.graph.block_holding(loop.head)
        if block == 0 or not self.alone(loop) or self._sources(block) != [block - 1, block]:
            return None
        insns = self._falling(block - 1)
        first = block - 1
        while insns is not None and self._sources(first) == [first - 1]:
            more = self._falling(first - 1)
            if more is None or self._goes_round(first - 1):
                break
            insns, first = [*more, *insns], first - 1
        return insns

    def _goes_round(self, block: int) -> bool:
        """Whether a block follows itself: it may have been gone through more than once."""
        graph = self.program.graph
        return block in graph.within(graph.blocks_of(self.function)).get(block, ())

    def states(self, loop: FlushLoop, terms: Terms) -> Symbolic | None:
        """What registers hold where a loop begins, by what leads to it."""
        insns = self.before(loop)
        if insns is None:
            return None
        state = machine(self.program.target.table, terms)
        _run(state, insns)
        return state

    def _sources(self, block: int) -> list[int] | None:
        """The blocks that a block of the function follows, if nothing else leads to it."""
        graph = self.program.graph
        if graph.entered[block] or graph.landed[block]:
            return None
        edges = graph.within(graph.blocks_of(self.function))
        return sorted(source for source, goals in edges.items() if block in goals)

    def _falling(self, block: int) -> list[Insn] | None:
        """The instructions of a block behind which control goes on, if they are straight."""
        graph, listing = self.program.graph, self.program.listing
        insns = listing.insns_at(int(graph.first[block]), int(graph.last[block]))
        found = [insn for insn in insns if insn is not None]
        if not found or len(found) < len(insns):
            return None
        flow = found[-1].op.flow
        straight = all(insn.op.flow is Flow.NEXT for insn in found[:-1])
        return found if straight and flow.falls and not flow.links else None

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

    def read_at(self, loop: FlushLoop) -> int:
        """Registers that are read from a loop's head on."""
        return self._read_from(loop.head)

    def read_behind(self, loop: FlushLoop) -> int:
        """Registers that are read behind a loop."""
        return self._read_from(loop.end)

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


@dataclass(frozen=True)
class Instead:
    """What stands in the places of two loops: of the first one steps of registers alone, of the
    second one the flush of a block, and such steps behind it."""

    around: Around
    first: FlushLoop
    second: FlushLoop
    prover: Prover

    def leaves_the_same(self, steps: Sequence[Insn], more: Sequence[Insn]) -> bool:
        """Whether code leaves in registers what the loops do, where something reads it."""
        lead, way = self.around.before(self.first), self.around.before(self.second)
        if lead is None or way is None or not all(map(self._is_step, (*steps, *more))):
            return False
        table, reads = self.around.program.target.table, self.around.read_at
        # Of what the old code does not read the new code may have left something else.
        if inputs(table, steps) & ~reads(self.first) or inputs(table, more) & ~reads(self.second):
            return False
        with table.terms() as terms:
            old = machine(table, terms)
            _run(old, lead)
            new = old.snapshot()
            if not self._same(old, new, self.first, steps):
                return False
            for state in (old, new):
                _run(state, way)
            walker = Reg(self.second.walker)
            if self.prover.equal(old.get(walker), new.get(walker))[0] is not Grade.PROVED:
                return False
            return self._same(old, new, self.second, more)

    def _is_step(self, insn: Insn) -> bool:
        """Whether an instruction computes a register from others, and does nothing else."""
        table = self.around.program.target.table
        effects = table.effects(insn.op)
        return insn.op.flow is Flow.NEXT and not effects.events and not table.accesses(insn)

    def _same(self, old: Symbolic, new: Symbolic, loop: FlushLoop, instead: Sequence[Insn]) -> bool:
        """Runs a loop, and what stands for it; whether they leave the same.

        What nothing reads is not known any more; what the loop does not write stays.
        """
        before = old.snapshot()
        _loop(old, loop, self.around.known)
        _run(new, instead)
        live, terms = self.around.read_behind(loop), old.terms
        written = self._defs(instead) | _written(self.around, loop)
        for register in registers_of(written):
            kept = not _written(self.around, loop) >> register & 1
            wanted = before.get(register) if kept else old.get(register)
            same = self.prover.equal(wanted, new.get(register))[0] is Grade.PROVED
            if not same and (kept or live >> register & 1):
                return False
            if not same:
                for number, state in enumerate((old, new)):
                    state.set(register, terms.var(f"unread {loop.head} {register:d} {number}"))
        return True

    def _defs(self, insns: Sequence[Insn]) -> int:
        mask = 0
        for insn in insns:
            mask |= self.around.program.target.table.defs(insn)
        return mask


def _loop(state: Symbolic, loop: FlushLoop, known: Flushing) -> None:
    """What a loop of one round leaves in registers, by the count that is in the counter."""
    terms, counter, left = state.terms, Reg(known.COUNTER), loop.rounds[0].left
    count, before = state.get(counter), state.snapshot()
    for register, (root, far) in left.items():
        again, step = left.get(root, (root, 0))
        value = terms.var(f"unknown {loop.head} {register}")
        if again == root:
            walked = terms.mul(count, terms.const(step)) - terms.const(step)
            value = before.get(Reg(root)) + walked + terms.const(far)
        state.set(Reg(register), value)
    state.set(counter, terms.const(0))
