"""The text of a new file with its flushing loops as they were.

The n-th loop of a function that flushes, of those that the new file still has, stands for the n-th
of the old one.  One that the CPU does not need is gone where it stood.  What is shown to flush the
same is read as the old loop in its place, nops behind it; all that is around it the walk compares.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from rewriter.analysis.program import Program
from rewriter.core.code.extensions import lacking
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence, Grade
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.idioms import Flushing
from rewriter.elf.unwind.entries import Fde
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.equivalence import Different
from rewriter.verify.walk.flushes.coherent import Around, Instead, needless
from rewriter.verify.walk.flushes.covered import same_blocks, same_registers
from rewriter.verify.walk.flushes.shapes import FlushLoop, flush_loops
from rewriter.verify.walk.frames import one_frame

NEEDLESS = Evidence(Grade.PROVED, ("the CPU fetches instructions as they were last stored",))
"""That of loops that are gone."""


def blocks_of(block: int) -> Evidence:
    """That of a loop that flushes the same blocks of some size, not the same addresses."""
    return Evidence(Grade.PROVED, (f"the CPU's caches have blocks of {block} bytes",))


@dataclass(frozen=True)
class Flushes:
    """A new file's text with its flushing loops as they were.

    By the start of their function, `shown` has the evidence of loops that are read as others, and
    `wrong` why one is not; `heads` are those of old loops by that of the new one.  What is known of
    registers around a loop holds where control comes into it from code that stands for what leads
    into that old one alone.
    """

    listing: Listing
    shown: Mapping[int, list[Evidence]] = field(default_factory=dict)
    wrong: Mapping[int, str] = field(default_factory=dict)
    heads: Mapping[int, int] = field(default_factory=dict)


def read(
    program: Program,
    new: Listing,
    frames: Mapping[int, Fde],
    functions: Collection[Function],
    prover: Prover,
    cpu: Cpu | None,
    features: frozenset[str],
) -> Flushes:
    """The text of a new file whose loops may flush what those of the old one did.

    On a CPU: where none is known, each address is flushed as before.  `frames` are the new file's
    unwind entries by where they start, `features` what every CPU has that runs the code.
    """
    known = program.target.flushing
    if known is None or not functions:
        return Flushes(new)
    return _Reader(program, new, frames, known, prover, cpu, features).read(functions)


@dataclass
class _Reader:
    program: Program
    new: Listing
    frames: Mapping[int, Fde]
    known: Flushing
    prover: Prover
    cpu: Cpu | None
    features: frozenset[str]
    shown: dict[int, list[Evidence]] = field(default_factory=dict)
    wrong: dict[int, str] = field(default_factory=dict)
    heads: dict[int, int] = field(default_factory=dict)

    def read(self, functions: Collection[Function]) -> Flushes:
        """All functions."""
        target = self.program.target
        self.words = self.new.words.copy()
        self.nop = target.table.encode(next(iter(target.nops(self.new.table.size))))
        for function in functions:
            loops = [*flush_loops(self.program.listing, function, target, self.known)]
            if loops and self._changed(function):
                self._function(function, loops)
        if not self.shown:
            return Flushes(self.new, wrong=self.wrong)
        return Flushes(self.new.with_code(self.words), self.shown, self.wrong, self.heads)

    def _changed(self, function: Function) -> bool:
        first, last = self.program.listing.span(function.start, function.end)
        there = self.new.span(function.start, function.end)
        before = self.program.listing.words[first:last]
        return not np.array_equal(before, self.new.words[slice(*there)])

    def _function(self, function: Function, loops: list[FlushLoop]) -> None:
        """A function's loops; if one is not shown to flush the same, all are read as they are."""
        kept, heads = self.words.copy(), dict(self.heads)
        try:
            self._plain(function)
            around = Around(self.program, function, self.known)
            gone = self._gone(around, loops)
            found = [*flush_loops(self.new, function, self.program.target, self.known)]
            left = [loop for loop in loops if loop not in gone]
            if len(found) != len(left):
                where = f"on {self.cpu.name}" if self.cpu is not None else "and no CPU is named"
                raise Different(f"another number of loops that flush, {where}")
            for old, new in zip(left, found, strict=True):
                self._one(around, old, new)
        except Different as problem:
            self.words, self.heads = kept, heads
            self.shown.pop(function.start, None)
            self.wrong[function.start] = str(problem)

    def _plain(self, function: Function) -> None:
        """Nothing leads into the function's code but what its listing shows."""
        program = self.program
        if program.tables_of(function) or program.pads_of(function):
            raise Different("a loop that flushes changed among tables or exception ranges")
        if program.fixups_of(function):
            raise Different("a loop that flushes changed where accesses may go on elsewhere")

    # Loops that are gone ------------------------------------------------------------------

    def _gone(self, around: Around, loops: list[FlushLoop]) -> list[FlushLoop]:
        """The loops that the new file has no more where they stood, two by two."""
        if self.cpu is None or not self.known.sees_stores(self.cpu):
            return []
        found: list[FlushLoop] = []
        for first, second in needless(around, loops, self.prover):
            steps, more = self._here(first), self._here(second)
            if steps is None or not more or not self._forgets(more[0], second):
                continue
            instead = Instead(around, first, second, self.prover)
            if not instead.leaves_the_same(steps, more[1:]):
                continue
            for loop in (first, second):
                self._same_frame(around.function, loop)
                self._entered(around.function, loop)
                self._restore(loop, loop)
                found.append(loop)
            self.shown.setdefault(around.function.start, []).append(NEEDLESS)
        return found

    def _here(self, loop: FlushLoop) -> list[Insn] | None:
        """What the new file has in a loop's places, without nops; None where data is."""
        insns = self.new.insns_at(loop.places.start, loop.places.stop)
        found = [insn for insn in insns if insn is not None and not self._is_nop(insn)]
        return found if all(insn is not None for insn in insns) else None

    def _forgets(self, insn: Insn, loop: FlushLoop) -> bool:
        """Whether an instruction does to one block what a loop does first."""
        return insn.name == loop.name and self.known.flushed(insn) == loop.walker

    def _is_nop(self, insn: Insn | None) -> bool:
        return insn is not None and self.program.target.is_nop(insn)

    # Loops that flush the same ------------------------------------------------------------

    def _one(self, around: Around, old: FlushLoop, new: FlushLoop) -> None:
        """A loop in the place of an old one, wherever it stands now."""
        before = self.program.listing.words[old.places.start : old.places.stop]
        after = self.new.words[new.places.start : new.places.stop]
        if np.array_equal(before, after):
            return
        if not around.alone(old) or len(new.places) < len(old.places):
            raise Different("a loop that flushes is not read as the one that was there")
        insns = self.new.insns_at(new.places.start, new.places.stop)
        if lacking((insn for insn in insns if insn is not None), self.features):
            raise Different("the CPU may lack what a loop that flushes executes; --cpu names it")
        self._same_frame(around.function, new)
        self._entered(around.function, new)
        same_registers(old, new, around.live(old))
        self.shown.setdefault(around.function.start, []).append(self._flushed(around, old, new))
        self._restore(old, new)

    def _flushed(self, around: Around, old: FlushLoop, new: FlushLoop) -> Evidence:
        """How a loop is shown to flush the same: each address, or each block of the CPU."""
        try:
            same_blocks(old, new, 1, None)
            return Evidence(Grade.PROVED)
        except Different:
            block = self.known.block(self.cpu, old.name) if self.cpu is not None else None
            if block is None:
                raise
        same_blocks(old, new, block, around.begins(old, block, self.prover))
        return blocks_of(block)

    def _restore(self, old: FlushLoop, new: FlushLoop) -> None:
        """The old loop in the place of the new one; it leads to its own head."""
        self.heads[new.head] = old.head
        first, size = new.places.start, len(old.places)
        words = self.program.listing.words[old.places.start : old.places.stop]
        self.words[first : first + size] = words
        self.words[first + size : new.places.stop] = self.nop

    def _same_frame(self, function: Function, loop: FlushLoop) -> None:
        places: list[int] = self.new.addresses[loop.places.start : loop.places.stop].tolist()
        if not one_frame(self.frames.get(function.start), places):
            raise Different("unwinders find another frame in a loop that flushes")
        if not self.program.locked_addresses.isdisjoint(places):
            raise Different("a loop that flushes between load-locked and store-conditional")

    def _entered(self, function: Function, loop: FlushLoop) -> None:
        """That control comes into a loop's places at its head only, in the new file."""
        inside = range(loop.head + 1, loop.end)
        graph, first = self.program.graph, self.program.listing.addresses
        blocks = graph.blocks_of(function)
        here = slice(blocks.start, blocks.stop)
        led = first[graph.first[here][graph.entered[here] | graph.landed[here]]].tolist()
        at, end = self.new.span(function.start, function.end)
        own = range(loop.places.start - at, loop.places.stop - at)
        goals = self.new.targets[at:end].tolist()
        led += [goal for n, goal in enumerate(goals) if n not in own]
        if any(goal in inside for goal in led):
            raise Different("control comes into the middle of a loop that flushes")
