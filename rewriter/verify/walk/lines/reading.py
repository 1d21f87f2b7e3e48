"""The text of a new file without versions of loops for long counts.

A version does what some passes of its loop do, and leaves off at the loop's head or where the loop
ends (`proof`).  So a branch to it from right before the loop is as good as none, and the walk
compares what is left: the version is no code, and the branches are nops.

What the walk must show then: that registers which the version leaves otherwise are dead at the
loop's head, and that no load-locked is near (`Versions.allow`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rewriter.analysis.program import Program
from rewriter.core.assumptions import LINES
from rewriter.core.code.extensions import lacking, needs
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.core.code.shadows import in_shadow
from rewriter.core.edit import Evidence, Grade
from rewriter.core.target.idioms import WholeLines
from rewriter.elf.unwind.entries import Fde
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk import hints
from rewriter.verify.walk.equivalence import Different
from rewriter.verify.walk.frames import one_frame
from rewriter.verify.walk.lines.proof import spent
from rewriter.verify.walk.lines.shapes import Found, versions

EVIDENCE = Evidence(Grade.PROVED, ("nobody reads a line while it is stored",))
"""That of a version."""


@dataclass(frozen=True)
class Versions:
    """A new file's text without versions of loops.

    `away` are the addresses of what is no code any more, by the start of their function, and
    `spent` the registers that versions leave otherwise than their loop, by its head and by the
    start of the function; `wrong` says of functions why what looks like a version is none.
    """

    listing: Listing
    away: Mapping[int, Collection[int]] = field(default_factory=dict)
    spent: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    wrong: Mapping[int, str] = field(default_factory=dict)

    def allow(
        self, program: Program, function: Function, pairs: Iterable[tuple[int, int]]
    ) -> Iterable[str]:
        """What is wrong with a function's versions, when these places, old and new, correspond."""
        if reason := self.wrong.get(function.start):
            yield reason
        heads = {new: set[int]() for new in self.spent.get(function.start, ())}
        for old, new in pairs:
            if new in heads:
                heads[new].add(old)
        for head, places in heads.items():
            mask = self.spent[function.start][head]
            if not places or any(program.live_into(old) & mask for old in places):
                yield f"a version of the loop at {head:#x} leaves a register otherwise"
            if program.is_kernel and not all(
                hints.fills_memory(program, function, old) for old in places
            ):
                yield f"a version of the loop at {head:#x} may fill a device"
            try:
                hints.allow(program, places)
            except Different as problem:
                yield str(problem)


def read(
    program: Program,
    new: Listing,
    frames: Mapping[int, Fde],
    functions: Collection[Function],
    prover: Prover,
    features: frozenset[str],
) -> Versions:
    """The text of a new file, in which loops of functions may have versions for long counts.

    `frames` are its unwind entries by where they start, `features` what every CPU has that runs
    the code.
    """
    known = program.target.whole_lines
    if known is None or not functions:
        return Versions(new)
    return _Reader(program, new, frames, known, prover, features).read(functions)


@dataclass
class _Reader:
    program: Program
    new: Listing
    frames: Mapping[int, Fde]
    known: WholeLines
    prover: Prover
    features: frozenset[str]
    away: dict[int, set[int]] = field(default_factory=dict)
    spent: dict[int, dict[int, int]] = field(default_factory=dict)
    wrong: dict[int, str] = field(default_factory=dict)

    def read(self, functions: Collection[Function]) -> Versions:
        """All functions."""
        target = self.program.target
        self.words = self.new.words.copy()
        self.nop = target.table.encode(next(iter(target.nops(self.new.table.size))))
        for function in functions:
            if self._gives_up(self.new, function):
                self._function(function)
        if not self.away:
            return Versions(self.new, wrong=self.wrong)
        return Versions(self.new.with_code(self.words), self.away, self.spent, self.wrong)

    def _gives_up(self, listing: Listing, function: Function) -> bool:
        """Whether a function gives up a line."""
        first, last = listing.span(function.start, function.end)
        rows = {*listing.rows[first:last].tolist()} & self._rows
        return bool(rows)

    @cached_property
    def _rows(self) -> set[int]:
        table, known = self.program.target.table, self.known
        given = known.give_up(0).op.name
        return {number for number, op in enumerate(table.rows) if op.name == given}

    def _function(self, function: Function) -> None:
        """A function's versions, if the old code gives up no line itself."""
        if LINES not in self.program.assume:
            self.wrong[function.start] = "a line is given up, which --assume does not allow"
            return
        if self._gives_up(self.program.listing, function):
            return
        for found in versions(self.new, function, self.program.target, self.known):
            try:
                self._one(function, found)
            except Different as problem:
                self.wrong[function.start] = str(problem)

    def _one(self, function: Function, found: Found) -> None:
        places: list[int] = self.new.addresses[found.places.start : found.places.stop].tolist()
        ways: list[int] = self.new.addresses[list(found.ways)].tolist()
        near = {*places, *ways, found.head}
        frame, shown = self.frames.get(function.start), needs(found.version.loop)
        insns = self.new.insns_at(found.places.start, found.places.stop)
        if lacking((insn for insn in insns if insn is not None), self.features | shown):
            raise Different("the CPU may lack what a version of a loop executes; --cpu names it")
        if frame is not None and frame.lsda is not None:
            raise Different("a version of a loop among exception ranges")
        if not self.program.locked_addresses.isdisjoint(near):
            raise Different("a version of a loop between load-locked and store-conditional")
        if self.program.fixups_of(function):
            raise Different("a version of a loop where accesses may go on elsewhere")
        start = self.new.index(function.start)
        if any(in_shadow(self.new, at, start, self.program.target) for at in found.ways):
            raise Different("a version of a loop where a trap may come late")
        if not one_frame(frame, near):
            raise Different("unwinders find another frame in a version of a loop")
        mask = spent(found.version, self.program.target, self.known, self.prover)
        self._writes(function, found)
        self.words[found.places.start : found.places.stop] = self.known.NOTHING
        self.words[list(found.ways)] = self.nop
        self.away.setdefault(function.start, set()).update(places)
        heads = self.spent.setdefault(function.start, {})
        heads[found.head] = heads.get(found.head, 0) | mask

    def _writes(self, function: Function, found: Found) -> None:
        """A caller may keep a value in a register because nothing in the function writes it."""
        listing, table, before = self.program.listing, self.program.target.table, 0
        for insn in listing.insns(function.start, function.end):
            before |= 0 if insn is None else table.defs(insn)
        version = found.version
        for part in (version.lead, version.starts, *version.guards, version.body):
            if any(table.defs(insn) & ~before for insn in part):
                raise Different("a version of a loop writes a register that was not written")
