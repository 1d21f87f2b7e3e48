"""A branch over a move becomes an instruction that chooses."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from passes.lib.insert import Declined, Finder, Insertion, Setting, Slots
from passes.lib.steps import Change, OwnPass, Steps
from passes.lib.technique import usable
from rewriter.analysis.loops import Loop
from rewriter.analysis.program import Program
from rewriter.core.addresses import NOWHERE
from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence, Grade
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.idioms import Choosing
from rewriter.core.target.protocol import Sequential, Target
from rewriter.timing.described import NotDescribed
from rewriter.timing.engines import engine_of
from rewriter.timing.steady_node import Placed
from rewriter.verify.walk.detours.choices import barriers, has
from rewriter.verify.walk.detours.meaning import means

_KIND = "branch over a move"
_EVIDENCE = Evidence(Grade.PROVED, detail="branch and move mean the choice")


class Choose(OwnPass):
    """A branch that leads over a move is none: an instruction chooses by what it tests.

    Before    cmpld r3,r4; blt label; mr r3,r4; label: ...
    After     cmpld r3,r4; isel r3,r3,r4,lt; ...
    Requires  Control comes to the move by the branch alone; a new layout, which closes up behind
              the choice; that the function has no such choice yet, by which the verifier tells
              which are new; and no barrier that makes loads wait for branches (isync).
    Proof     That branch and move mean the choice is shown on terms, and the walk reads each new
              choice as both (`verify/walk/detours/choices.py`).

    As many instructions are executed where the branch is taken, and one less where it is not.  In
    an innermost loop no pass takes longer in the model, in which the branch is foreseen.
    """

    name = "choose"
    change = Change.ROOM

    def offered(self, target: Target) -> bool:
        """Where there are such instructions."""
        return target.sequential is not None and target.sequential.choosing is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.inserts(self)

    def finder(self, program: Program, setting: Setting) -> Finder:
        """What finds the sites of functions."""
        known = setting.target.choosing
        if known is None or not setting.lays_out or program.is_kernel:
            return lambda function, slots: iter(())
        return _Finder(program, setting, known).found


class _Finder:
    """Finds the sites of functions."""

    def __init__(self, program: Program, setting: Setting, known: Choosing) -> None:
        self.program, self.setting, self.known = program, setting, known
        self.target: Sequential = setting.target
        listing, size = program.listing, self.target.table.size
        at = np.flatnonzero(listing.targets != NOWHERE)
        over = listing.targets[at] == listing.addresses[at] + np.uint64(2 * size)
        self.places: list[int] = listing.addresses[at[over]].tolist()
        self._steady = engine_of(setting.cpu).steady(self.target.table)
        self._meant: dict[Insn, bool] = {}
        self._barriers = barriers(listing, known)

    def found(self, function: Function, slots: Slots) -> Iterator[Insertion | Declined]:
        """The sites of a function."""
        first, last = (bisect_left(self.places, at) for at in (function.start, function.end))
        listing = self.program.listing
        span = listing.span(function.start, function.end)
        here, waits = {*listing.words[slice(*span)].tolist()}, has(self._barriers, *span)
        for at in self.places[first:last]:
            move = at + self.target.table.size
            insn = self._chosen(at, move) if at not in slots and move not in slots else None
            if insn is None:
                continue
            if waits:
                yield Declined(_KIND, at, "loads may wait for the branch at a barrier")
            elif reason := self._reason(insn, at, move):
                yield Declined(_KIND, at, reason)
            elif self.target.table.encode(insn) in here:
                yield Declined(_KIND, at, "the function has such a choice already")
            else:
                yield Insertion(
                    _KIND, at, (insn,), _EVIDENCE, Fraction(0), gone=(move,), closes_up=True
                )

    def _chosen(self, at: int, move: int) -> Insn | None:
        """What a branch and what stands behind it become."""
        listing = self.program.listing
        if not listing.has(move):
            return None
        first, second = (listing.insn(listing.index(place)) for place in (at, move))
        found = None if first is None or second is None else self.known.chosen(first, second)
        return found if found is not None and usable(self.setting.cpu, (found,)) else None

    def _reason(self, insn: Insn, at: int, move: int) -> str:
        """Why both stay, or nothing."""
        program, graph = self.program, self.program.graph
        if at in self.setting.locked or move in self.setting.locked:
            return "between load-locked and store-conditional"
        block = graph.block_holding(move)
        if int(graph.first[block]) != program.listing.index(move) or not graph.continues[block]:
            return "control comes to the move otherwise, too"
        if not self._is_meant(insn):
            return "branch and move do not mean the choice"
        try:
            slower = any(self._slower(loop, at, insn) for loop in self._loops(at))
        except NotDescribed as missing:
            return str(missing)
        return "a pass of its loop takes longer in the model" if slower else ""

    def _loops(self, at: int) -> list[Loop]:
        """The innermost loops that an address is in, as far as a pass goes one way."""
        function = self.program.function_at(at)
        loops = self.setting.loops.get(function.start, ()) if function is not None else ()
        return [loop for loop in loops if loop.head <= at <= loop.latch]

    def _slower(self, loop: Loop, at: int, insn: Insn) -> bool:
        """Whether a pass of a loop takes longer with a choice at an address, and no move."""
        listing, size = self.program.listing, self.target.table.size
        first, last = listing.span(loop.head, loop.latch + size)
        code = list(
            zip(listing.addresses[first:last].tolist(), listing.insns_at(first, last), strict=True)
        )
        old: list[Placed] = [(place, one, None) for place, one in code if one is not None]
        if any(one.op.flow not in (Flow.NEXT, Flow.BRANCH) for _, one, _ in old):
            return False
        new: list[Placed] = [
            (place, insn if place == at else one, None)
            for place, one, _ in old
            if place != at + size
        ]
        before, after = (
            self._steady.cycles(one, {place: insn for place, insn, _ in one}) for one in (old, new)
        )
        return after > before

    def _is_meant(self, insn: Insn) -> bool:
        if insn not in self._meant:
            found, table = self.known.as_branch(insn), self.target.table
            self._meant[insn] = found is not None and means(
                table, self.setting.prover, *found, opposite=True, insn=insn
            )
        return self._meant[insn]
