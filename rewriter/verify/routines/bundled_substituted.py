"""Whether new code in a file of bundled code is known routines in tuned form, all in order.

Taken from the original alone: which routines it has, that they behave, which places they have.
Taken from the new file alone: its bytes.  What stands in such a place must be, byte for byte,
tuned routines and the ways to them; what describes it to unwinders is built again and compared;
and each routine must keep its contracts when it is entered where callers enter it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence
from rewriter.core.target.bundling import Code
from rewriter.core.target.protocol import CannotMove, Tuned
from rewriter.core.target.substitution import PlacedRoutine, Room
from rewriter.elf.image import Image
from rewriter.verify.routines.bundled_known import KnownBundled, Tried, filled, read, stands_for
from rewriter.verify.routines.replaceable import Named


@dataclass(frozen=True, slots=True)
class Taken:
    """A routine of the original whose work a tuned one does; `room` is its place."""

    named: Named
    function: Function
    room: Room
    placed: PlacedRoutine


@dataclass(frozen=True)
class BundledSubstituted:
    """The replaced routines of a new file."""

    known: KnownBundled
    new: Image
    after: Code

    @cached_property
    def taken(self) -> tuple[Taken, ...]:
        """Every routine in whose place, or from where, a tuned one is entered now."""
        found = (self._taken(named, f) for named, f in self.known.within())
        return tuple(one for one in found if one is not None)

    def _taken(self, named: Named, function: Function) -> Taken | None:
        size = function.end - function.start
        if read(self.new, function.start, size) == self.known.image.read(function.start, size):
            return None
        placed = stands_for(self.known, self.new, named)
        if placed is None:
            return None
        try:
            return Taken(named, function, self.known.room(function), placed)
        except CannotMove:
            return None

    @cached_property
    def rooms(self) -> tuple[tuple[Taken, tuple[PlacedRoutine, ...]], ...]:
        """The places of the replaced routines, each with what stands in it."""
        every = [one.placed for one in self.taken]
        return tuple((one, tuple(one.room.holds(every))) for one in self.taken)

    @cached_property
    def functions(self) -> frozenset[Function]:
        """Functions that are replaced routines."""
        return frozenset(one.function for one in self.taken)

    def accounted(self) -> Iterator[range]:
        """The addresses of all bytes that were compared for substitutions."""
        for one, placed in self.rooms:
            yield range(one.room.start, one.room.end)
            try:
                said = self._described(one.room, placed)
            except CannotMove:
                continue
            yield from (range(at, at + len(raw)) for at, raw in said.items())

    def _described(self, room: Room, placed: Sequence[PlacedRoutine]) -> dict[int, bytes]:
        return self.known.target.substituting.described(self.known.code, room, placed)

    def problems(self) -> Iterator[tuple[Function, str]]:
        """What speaks against the substitutions, without running them."""
        inside = {s.address for _, placed in self.rooms for s in placed}
        for one, placed in self.rooms:
            outcome = self.known.outcome(one.named)
            if isinstance(outcome, str):
                yield one.function, outcome
            if one.placed.address not in inside:
                yield one.function, "the new code stands in no replaced routine's place"
            if one.placed.address % self.known.target.substituting.alignment:
                yield one.function, "the new code stands on no boundary"
            yield from ((one.function, reason) for reason in self._odd(one, placed))

    def _odd(self, one: Taken, placed: Sequence[PlacedRoutine]) -> Iterator[str]:
        """What is not as it must be in a place and in what describes it."""
        room = one.room
        try:
            wanted = filled(self.known.target, room, placed, one.placed.entry)
            said = self._described(room, placed)
        except CannotMove as reason:
            yield str(reason)
            return
        if read(self.new, room.start, room.size) != wanted:
            yield "in its place is more or less than tuned routines and the ways to them"
        if any(read(self.new, at, len(raw)) != raw for at, raw in said.items()):
            yield "its unwind information does not describe the new code"

    def trial(self, one: Taken) -> Evidence | str:
        """Runs the new code in the new file as the old was run: it must give the same."""
        return self.known.same(self._tried, one.named.address, one.named)

    @cached_property
    def _tried(self) -> Tried:
        return Tried(self.new, self.known.target, self.after)


def suits(known: KnownBundled, named: Named, routine: Tuned) -> bool:
    """Whether a routine is for every contract of a named one."""
    others = (set(map(_code, known.target.substituting.routines(n))) for n in named.contracts)
    return all(_code(routine) in codes for codes in others)


def _code(routine: Tuned) -> bytes:
    return routine.code
