"""Loops that flush blocks of caches take the CPU's real blocks, or go where it needs none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from passes.lib.insert import Declined, Finder, Insertion, Setting, Slots
from passes.lib.steps import Change, OwnPass, Steps
from rewriter.analysis.program import Program
from rewriter.core.code.dataflow import registers_of
from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence, Grade
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.interpret import Step
from rewriter.core.target.idioms import Flushing
from rewriter.core.target.protocol import Target
from rewriter.timing.described import NotDescribed
from rewriter.timing.model import simulate
from rewriter.timing.straight import Probe
from rewriter.verify.walk.equivalence import Different
from rewriter.verify.walk.flushes.coherent import Around, Instead, needless
from rewriter.verify.walk.flushes.covered import left_behind, same_blocks
from rewriter.verify.walk.flushes.reading import NEEDLESS, blocks_of
from rewriter.verify.walk.flushes.shapes import FlushLoop, Round, flush_loops, stepped

_KIND = "loop that flushes"

_Found = Insertion | Declined

_UNROLLED = 2
"""Rounds of a loop that is unrolled: more instructions have no place behind its branch."""

_LEAST = Fraction(1, 20)
"""Of the cycles of a loop: below that the model itself is not exact."""

_PAGE = 128
"""Rounds for which loops are timed: a page of 4096 bytes in blocks of 32."""


class Flush(OwnPass):
    """Loops that flush a range flush each block of the CPU's caches once, and go round less often.

    Before    0: dcbst 0,r9        After, blocks of 128 bytes, r9 at such a one
                 addi  r10,r9,32       0: dcbst 0,r9
                 dcbst 0,r10
                 addi  r10,r10,32
                 dcbst 0,r10
                 addi  r10,r9,96
                 dcbst 0,r10
                 addi  r9,r9,128          addi  r9,r9,128
                 bdnz  0b                 bdnz  0b
              sync                     sync
    Before    0: dcbst 0,r3        After, where fetch sees what is stored
                 addi  r3,r3,32
                 bdnz  0b
              sync; mtctr r4           sync; mtctr r4
              1: icbi  0,r6               icbi 0,r6
                 addi  r6,r6,32
                 bdnz  1b
              sync; isync              sync; isync
    Requires  A loop of one block that only flushes, steps registers and counts down.  What goes
              with it is not read behind it.  For loops that go: one that writes blocks to memory,
              a barrier, one by which the instruction cache forgets the same blocks, a barrier.
              That the CPU named is the one that runs the code: its caches' blocks, and whether
              they see stores, are its own.
    Proof     The blocks of both loops, for any number of rounds (`verify/walk/flushes/`); what
              is around them, barriers in their order, the walk compares.

    Phases are never fused: a block that is forgotten before all were written to memory may come
    back as it was.  A loop is unrolled where the model says that it takes less, and there is room.
    """

    name = "flush"
    change = Change.ROOM

    def offered(self, target: Target) -> bool:
        """Where there are instructions that flush."""
        return target.sequential is not None and target.sequential.flushing is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.inserts(self)

    def finder(self, program: Program, setting: Setting) -> Finder:
        """What finds the sites of functions."""
        known = setting.target.flushing
        if known is None:
            return lambda function, slots: iter(())
        table, listing = program.target.table, program.listing
        numbers = [n for n, op in enumerate(table.rows) if op.name in known.FLUSHES]
        places = np.flatnonzero(np.isin(listing.rows, numbers))

        def found(function: Function, slots: Slots) -> Iterator[Insertion | Declined]:
            first, last = listing.span(function.start, function.end)
            if np.searchsorted(places, first) < np.searchsorted(places, last):
                yield from _Site(program, function, slots, setting, known).found()

        return found


@dataclass(frozen=True)
class _Site:
    """The loops of one function, of which no earlier pass changed any."""

    program: Program
    function: Function
    slots: Slots
    setting: Setting
    known: Flushing

    def found(self) -> Iterator[Insertion | Declined]:
        """What becomes of each loop, or why it stays."""
        program, setting = self.program, self.setting
        loops = [*flush_loops(program.listing, self.function, setting.target, self.known)]
        around = Around(program, self.function, self.known)
        gone = dict[int, FlushLoop]()
        if loops and self.known.sees_stores(setting.cpu):
            pairs = needless(around, loops, setting.prover)
            gone = {first.head: second for first, second in pairs}
        goes = {second.head for second in gone.values()}
        for loop in loops:
            if loop.head in goes:
                continue
            if reason := self._forbids(loop):
                yield Declined(_KIND, loop.head, reason)
            elif loop.head in gone:
                yield self._without(around, loop, gone[loop.head])
            else:
                yield _Loop(self, loop, around).shorter()

    def _forbids(self, loop: FlushLoop) -> str:
        program, function = self.program, self.function
        if program.tables_of(function) or program.pads_of(function):
            return "a function with tables or exception ranges"
        if program.fixups_of(function):
            return "an access may go on elsewhere"
        places = self.places(loop)
        return "an earlier pass changed it" if self.slots.keys() & {*places} else ""

    def places(self, loop: FlushLoop) -> list[int]:
        """The addresses of a loop."""
        found = self.program.listing.addresses[loop.places.start : loop.places.stop]
        return [int(address) for address in found]

    def insns(self, loop: FlushLoop) -> list[Insn]:
        """The instructions of a loop."""
        found = self.program.listing.insns_at(loop.places.start, loop.places.stop)
        return [insn for insn in found if insn is not None]

    def nop(self) -> Insn:
        """What does nothing."""
        return next(iter(self.setting.target.nops(self.program.listing.table.size)))

    def _without(self, around: Around, first: FlushLoop, second: FlushLoop) -> _Found:
        """Both loops go; one block is forgotten, by an instruction of the second one."""
        insns = self.insns(second)
        flush = next((i for i in insns if self.known.flushed(i) == second.walker), None)
        if flush is None or self._forbids(second):
            return Declined(_KIND, second.head, "no block is forgotten where a round begins")
        instead = Instead(around, first, second, self.setting.prover)
        for steps, more in self._instead(around, first, second):
            fits = len(steps) <= len(first.places) and len(more) < len(second.places)
            if fits and instead.leaves_the_same(steps, more):
                (_, head), *rest = (*self._in(first, steps), *self._in(second, (flush, *more)))
                saved = sum(map(self.cycles, (first, second)), Fraction())
                evidence = replace(NEEDLESS, detail="all but its barriers and one block")
                kind = "flush that fetch does not need"
                count = _count(around, first) or 1
                return Insertion(
                    kind, first.head, (head,), evidence, saved * count, elsewhere=tuple(rest)
                )
        return Declined(_KIND, first.head, "what is left in a register may be read")

    def _instead(
        self, around: Around, first: FlushLoop, second: FlushLoop
    ) -> Iterator[tuple[tuple[Insn, ...], tuple[Insn, ...]]]:
        """What may leave in registers what two loops do: nothing, sums with a constant, or the way
        by the count and a copy of the first walking register."""
        yield (), ()
        count = _count(around, first)
        if count is not None:
            steps, more = (self._sums(around, loop, count) for loop in (first, second))
            if steps is not None and more is not None:
                yield steps, more
            return
        copied = self.known.plus(first.walker, 0, second.walker)
        bits = first.step.bit_length() - 1
        if copied is not None and first.step == 1 << bits:
            for register in _counters(around, first):
                yield self.known.walked(first.walker, register, bits), (copied,)

    def _sums(self, around: Around, loop: FlushLoop, count: int) -> tuple[Insn, ...] | None:
        """What a loop leaves where it may be read, each from where a walking register began."""
        read = around.read_behind(loop)
        wanted = [register for register in loop.rounds[0].left if read >> register & 1]
        found = []
        for register in sorted(wanted, key=lambda register: register == loop.walker):
            place = left_behind(loop, register, count - 1)
            insn = None if place is None else self.known.plus(*place, register)
            if insn is None:
                return None
            found.append(insn)
        return tuple(found)

    def _in(self, loop: FlushLoop, insns: Sequence[Insn]) -> Iterator[tuple[int, Insn]]:
        """Instructions in the places of a loop, nops behind them."""
        places = self.places(loop)
        return zip(places, (*insns, *[self.nop()] * (len(places) - len(insns))), strict=True)

    def cycles(self, loop: FlushLoop) -> Fraction:
        """What a round takes; nothing where no model says it."""
        insns = self.insns(loop)
        try:
            return Fraction(_cycles([insns], loop, self.setting), _PAGE)
        except NotDescribed:
            return Fraction()


def _count(around: Around, loop: FlushLoop) -> int | None:
    """How often a loop goes round, where that is a constant."""
    with around.program.target.table.terms() as terms:
        state = around.states(loop, terms)
        counter = None if state is None else state.get(Reg(around.known.COUNTER))
        return counter.value if counter is not None and counter.kind == "const" else None


def _counters(around: Around, loop: FlushLoop) -> list[int]:
    """Registers read later that hold the count where a loop begins, and are not written in it."""
    known, read = around.known, around.read_behind(loop)
    with around.program.target.table.terms() as terms:
        state = around.states(loop, terms)
        if state is None:
            return []
        counter = state.get(Reg(known.COUNTER))
        others = (r for r in registers_of(read) if r != known.COUNTER)
        found = [r for r in others if r not in loop.rounds[0].left]
        return [int(register) for register in found if state.get(register) is counter]


@dataclass(frozen=True)
class _Loop:
    """One loop, and what it may become."""

    site: _Site
    loop: FlushLoop
    around: Around

    def shorter(self) -> _Found:
        """The loop with fewer instructions in a round, or with more rounds in a loop."""
        if len(self.loop.rounds) > 1 or not self.around.alone(self.loop):
            return Declined(_KIND, self.loop.head, "no loop of one block")
        try:
            return self._in_place() or self._unrolled()
        except NotDescribed as reason:
            return Declined(_KIND, self.loop.head, str(reason))

    @property
    def _block(self) -> int:
        """Bytes of a block; one where the CPU does not say it."""
        return self.site.known.block(self.site.setting.cpu, self.loop.name) or 1

    def _covers(self, rounds: Sequence[Sequence[int]]) -> bool:
        """Whether rounds that flush at some distances from their beginning flush all blocks."""
        loop, step = self.loop, self.loop.step
        shifted = [tuple(far + step * n for far in one) for n, one in enumerate(rounds)]
        new = replace(loop, rounds=tuple(Round(one, {}) for one in shifted))
        try:
            begins = self.around.begins(loop, self._block, self.site.setting.prover)
            same_blocks(loop, new, self._block, begins)
        except Different:
            return False
        return True

    # Fewer blocks in a round --------------------------------------------------------------

    def _in_place(self) -> Insertion | None:
        """The loop without flushes of blocks that another one flushes in each round."""
        flushed = self.loop.rounds[0].flushed
        for kept in ({flushed[0]}, {flushed[0], flushed[-1]}):
            if len(kept) < len(flushed) and self._covers([sorted(kept)]):
                return self._with(kept)
        return None

    def _with(self, kept: set[int]) -> Insertion:
        loop, site = self.loop, self.site
        insns, places = site.insns(loop), site.places(loop)
        now = self._left(insns, kept)
        gone = [at for at, insn in zip(places, now, strict=True) if insn is None]
        fewer = [insn for insn in now if insn is not None]
        saved = Fraction(self._timed([insns]) - self._timed([fewer]), _PAGE)
        evidence = blocks_of(self._block)
        rest = tuple((at, site.nop()) for at in gone[1:])
        return Insertion("flush of smaller blocks", gone[0], (), evidence, saved, elsewhere=rest)

    def _left(self, insns: Sequence[Insn], kept: set[int]) -> list[Insn | None]:
        """A round that flushes at some distances only, without what nothing needs any more."""
        target, known = self.site.setting.target, self.site.known
        left: dict[int, tuple[int, int]] = {}
        found: list[Insn | None] = []
        for insn in insns:
            register = known.flushed(insn)
            if register is None:
                stepped(left, insn, target)
            if register is None or left.get(register, (register, 0))[1] in kept:
                found.append(insn)
            else:
                found.append(None)
        return self._needed(found)

    def _needed(self, insns: list[Insn | None]) -> list[Insn | None]:
        table, needed = self.site.setting.target.table, self.around.live(self.loop)
        needed |= 1 << self.loop.walker
        for at in reversed(range(len(insns))):
            insn = insns[at]
            if insn is None:
                continue
            steps = self.site.setting.target.linear(insn) is not None
            if steps and not table.defs(insn) & needed:
                insns[at] = None
                continue
            needed = needed & ~table.defs(insn) | table.uses(insn)
        return insns

    # More rounds in a loop ----------------------------------------------------------------

    def _unrolled(self) -> _Found:
        """The loop with several rounds, each of which may be the last."""
        loop, setting = self.loop, self.site.setting
        insns = [i for i in self.site.insns(loop) if not setting.target.is_nop(i)]
        flushed = loop.rounds[0].flushed
        once: list[Sequence[int]] = [flushed, *[()] * (_UNROLLED - 1)]
        fewer = self._covers(once)
        body = insns[:-1]
        bare = [insn for insn in body if self.site.known.flushed(insn) is None]
        rounds = [body, *[bare if fewer else body] * (_UNROLLED - 1)]
        before, after = self._timed([insns]), self._timed([[*r, insns[-1]] for r in rounds])
        if before - after < _LEAST * before:
            return Declined(_KIND, loop.head, self._no_gain(before, after))
        evidence = blocks_of(self._block) if fewer else Evidence(Grade.PROVED)
        said = f"{_PAGE} rounds took {before} cycles in the model, and take {after}"
        latch = self.site.places(loop)[-1]
        behind = self._behind(rounds, latch)
        if len(behind) > setting.target.table.size:
            return Declined(_KIND, loop.head, "a round is too long to be there twice")
        saved = Fraction(before - after, _PAGE)
        evidence = replace(evidence, detail=said)
        kind = "flush of smaller blocks" if fewer else "loop of one round"
        return Insertion(kind, latch, behind, evidence, saved)

    def _no_gain(self, before: int, after: int) -> str:
        cpu = self.site.setting.cpu
        return f"{_PAGE} rounds take {before} cycles on {cpu.name}, and unrolled {after}"

    def _behind(self, rounds: Sequence[Sequence[Insn]], latch: int) -> tuple[Insn, ...]:
        """What stands from the first round's branch on."""
        known, loop = self.site.known, self.loop
        found: list[Insn] = []
        for insns in rounds[1:]:
            found.append(known.leaving(loop.end - (latch + len(found))))
            found += insns
        return (*found, known.again(loop.head - (latch + len(found))))

    def _timed(self, rounds: Sequence[Sequence[Insn]]) -> int:
        return _cycles(rounds, self.loop, self.site.setting)


def _cycles(rounds: Sequence[Sequence[Insn]], loop: FlushLoop, setting: Setting) -> int:
    """What so many rounds take as a page has blocks; they begin anew when all are done."""
    code, probe = setting.target.arena.code, Probe.of(setting.target.table)
    probe.registers[loop.walker] = setting.target.arena.data
    steps: list[Step] = []
    for n in range(_PAGE):
        turn = n % len(rounds)
        at = code + sum(len(one) for one in rounds[:turn]) * setting.target.table.size
        for insn in rounds[turn]:
            steps.append(probe.step(insn, at))
            at += insn.size
        if turn == len(rounds) - 1 and n < _PAGE - 1:
            steps[-1] = replace(steps[-1], target=code)
    return simulate(steps, setting.cpu, setting.system).cycles
