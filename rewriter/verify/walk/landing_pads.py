"""Code in exception ranges: what a landing pad may read is as it was, wherever it is reached from.

Each new instruction that may throw must stand for an old one of the same range that touches the
same place, or is the same event, and before both all that the pad may read must be equal.  An old
one may be gone: what it would have thrown is then not thrown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rewriter.analysis.exception_ranges import throws
from rewriter.analysis.program import Program
from rewriter.core.code.dataflow import Run
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import COMING_BACK, Flow, Insn
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.terms.term import Term
from rewriter.verify.walk.equivalence import Comparison, Different
from rewriter.verify.walk.segments import Segment
from rewriter.verify.walk.stack import address_at


@dataclass(frozen=True, slots=True)
class _Thrower:
    """An instruction that may throw: its slot, what the range says, and what it touches or is."""

    slot: int
    pad: int
    places: tuple[Term, ...]
    name: str
    state: Symbolic


@dataclass
class Pads:
    """Answers for one function of a program."""

    program: Program
    function: Function

    def __post_init__(self) -> None:
        self.exceptions = self.program.exceptions
        self.table, self.target = self.program.target.table, self.program.target
        self.any = self.exceptions.within(self.function.start, self.function.end)

    def same_ways(self, old: Segment, new: Segment) -> bool:
        """Whether what may throw, plainly the same otherwise, is in the same ranges."""
        return not self.any or list(self._ways(old)) == list(self._ways(new))

    def _ways(self, segment: Segment) -> Iterator[object]:
        for slot in segment.proper():
            insn = segment.insns[slot]
            if insn.op.flow in COMING_BACK or throws(insn, self.table):
                yield self.exceptions.way(segment.addresses[slot])

    def same_call(self, old: Segment, new: Segment, slot: int, other: int) -> None:
        """That a call throws to where it did; raises Different."""
        if not self.any or old.insns[slot].op.flow not in COMING_BACK:
            return
        ways = [self.exceptions.way(s.addresses[n]) for s, n in ((old, slot), (new, other))]
        if ways[0] != ways[1]:
            raise Different(f"the call at {old.addresses[slot]:#x} throws elsewhere")

    def slots(self, segment: Segment) -> list[int]:
        """The slots of what may throw to a landing pad and is no call."""
        if not self.any:
            return []
        return [
            slot
            for slot, (insn, address) in enumerate(
                zip(segment.insns, segment.addresses, strict=True)
            )
            if insn.op.flow is Flow.NEXT
            and throws(insn, self.table)
            and self._pad(address) is not None
        ]

    def _pad(self, address: int) -> int | None:
        site = self.exceptions.at(address)
        return site.landing_pad if site is not None else None

    def throwers(self, run: Run, segment: Segment) -> list[_Thrower]:
        """What may throw in a run that has the state before each."""
        found = []
        for slot in self.slots(segment):
            state, insn = run.exits[slot - 1].snapshot(), segment.insns[slot]
            state.control = None  # a branch before it is an exit of its own
            at = segment.addresses[slot]
            pad = self._pad(at)
            assert pad is not None
            places = self._places(state, insn, at)
            found.append(_Thrower(slot, pad, places, "" if places else insn.name, state))
        return found

    def _places(self, state: Symbolic, insn: Insn, at: int) -> tuple[Term, ...]:
        """What says which memory an access touches; nothing of what is no access."""
        if not self.table.accesses(insn):
            return ()
        address = address_at(state.get, insn, at, self.target, state.terms)
        return state.places(address, self.table.effects(insn.op).size)

    def meet(self, comparison: Comparison, old: list[_Thrower], new: _Thrower) -> None:
        """Shows that a new thrower stands for an old one; raises Different."""
        live = self.program.live_into(new.pad)
        for one in old:
            if (one.pad, one.name) != (new.pad, new.name) or not _same(comparison, one, new):
                continue
            try:
                comparison.check(one.state, new.state, live)
            except Different:
                continue
            return
        raise Different("what a landing pad reads differs where it may be reached from")


def _same(comparison: Comparison, old: _Thrower, new: _Thrower) -> bool:
    try:
        comparison.same_places(old.places, new.places)
    except Different:
        return False
    return True
