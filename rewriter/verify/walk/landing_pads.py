"""Code in exception ranges: what a landing pad may read is as it was, wherever it is reached from.

Each new instruction that may throw must stand for an old one of the same range that touches the
same place, or is the same event, and before both all that the pad may read must be equal.  An old
one may be gone: what it would have thrown is then not thrown.  Where a function moved, its ranges
did too: the old file's say where the old code throws to, the new file's where the new code does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from rewriter.analysis.exception_ranges import ExceptionRanges, throws
from rewriter.analysis.program import Program
from rewriter.core.code.dataflow import Run
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import COMING_BACK, Flow, Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.terms.term import Term
from rewriter.verify.walk.equivalence import Comparison, Different
from rewriter.verify.walk.segments import Segment
from rewriter.verify.walk.stack import address_at

_Way: TypeAlias = tuple[int | None, int] | None
"""Landing pad and action, both by the old file's addresses."""

_ELSEWHERE = -1
"""A landing pad that is none of the old file's."""


@dataclass(frozen=True, slots=True)
class _Thrower:
    """An instruction that may throw: its slot, what the range says, and what it touches or is."""

    slot: int
    way: _Way
    places: tuple[Term, ...]
    name: str
    state: Symbolic


@dataclass
class Pads:
    """Answers for one function of a program.

    `changed` are the exception ranges of the new file where those of the function are others, and
    `led` what each of its landing pads became.
    """

    program: Program
    function: Function
    changed: ExceptionRanges | None = None
    led: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.exceptions = self.program.exceptions
        self.table, self.target = self.program.target.table, self.program.target
        self.any = self.exceptions.within(self.function.start, self.function.end)
        self._given = register_mask((self.target.landing,))  # by the unwinder
        self._back = {new: old for old, new in self.led.items()}

    def _way(self, address: int) -> _Way:
        """Where what stands at an address of the old file throws to."""
        return self.exceptions.way(address)

    def _new_way(self, address: int) -> _Way:
        """Where what stands at an address of the new file throws to."""
        if self.changed is None:
            return self._way(address)
        way = self.changed.way(address)
        if way is None or way[0] is None or address not in self.function:
            return way
        return self._back.get(way[0], _ELSEWHERE), way[1]

    def same_ways(self, old: Segment, new: Segment) -> bool:
        """Whether what may throw, plainly the same otherwise, is in the same ranges."""
        ways = self._ways(old, self._way), self._ways(new, self._new_way)
        return not self.any or list(ways[0]) == list(ways[1])

    def _ways(self, segment: Segment, way: Callable[[int], _Way]) -> Iterator[_Way]:
        for slot in segment.proper():
            insn = segment.insns[slot]
            if insn.op.flow in COMING_BACK or throws(insn, self.table):
                yield way(segment.addresses[slot])

    def same_call(self, old: Segment, new: Segment, slot: int, other: int) -> None:
        """That a call throws to where it did; raises Different."""
        if not self.any or old.insns[slot].op.flow not in COMING_BACK:
            return
        if self._way(old.addresses[slot]) != self._new_way(new.addresses[other]):
            raise Different(f"the call at {old.addresses[slot]:#x} throws elsewhere")

    def slots(self, old: Segment, new: Segment) -> tuple[list[int], list[int]]:
        """The slots of what may throw and is no call, in each of two segments.

        None of either where all of it is in one range, or in none, that leads to no landing pad.
        """
        if not self.any:
            return [], []
        found = self._throwing(old), self._throwing(new)
        ways = {self._way(old.addresses[slot]) for slot in found[0]}
        ways |= {self._new_way(new.addresses[slot]) for slot in found[1]}
        if len(ways) > 1 or any(_pad(way) is not None for way in ways):
            return found
        return [], []

    def _throwing(self, segment: Segment) -> list[int]:
        return [
            slot
            for slot, insn in enumerate(segment.insns)
            if insn.op.flow is Flow.NEXT and throws(insn, self.table)
        ]

    def throwers(
        self, run: Run, segment: Segment, slots: Iterable[int], is_new: bool
    ) -> list[_Thrower]:
        """What may throw in a run that has the state before each."""
        found, way = [], self._new_way if is_new else self._way
        for slot in slots:
            state, insn = run.exits[slot - 1].snapshot(), segment.insns[slot]
            state.control = None  # a branch before it is an exit of its own
            at = segment.addresses[slot]
            places = self._places(state, insn, at)
            found.append(_Thrower(slot, way(at), places, "" if places else insn.name, state))
        return found

    def _places(self, state: Symbolic, insn: Insn, at: int) -> tuple[Term, ...]:
        """What says which memory an access touches; nothing of what is no access."""
        if not self.table.accesses(insn):
            return ()
        address = address_at(state.get, insn, at, self.target, state.terms)
        return state.places(address, self.table.accessed(insn))

    def meet(self, comparison: Comparison, old: list[_Thrower], new: _Thrower) -> None:
        """Shows that a new thrower stands for an old one; raises Different.

        Those of old ones first that touch the same place as it stands.
        """
        pad = _pad(new.way)
        live = 0 if pad is None else self.program.live_into(pad) & ~self._given
        places = tuple(map(comparison.through, new.places))
        for one in sorted(old, key=lambda one: one.places != places):
            if (one.way, one.name) != (new.way, new.name) or not _same(comparison, one, new):
                continue
            try:
                comparison.check(one.state, new.state, live)
            except Different:
                if pad is not None:
                    continue
            return
        raise Different("what a landing pad reads differs where it may be reached from")


def _pad(way: _Way) -> int | None:
    return None if way is None else way[0]


def _same(comparison: Comparison, old: _Thrower, new: _Thrower) -> bool:
    try:
        comparison.same_places(old.places, new.places)
    except Different:
        return False
    return True
