"""What is between a load-locked and its store-conditional stays as it is, or moves as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rewriter.analysis.reservations import LOCK
from rewriter.core.isa.table import Table
from rewriter.verify.walk.courses.reading import Course
from rewriter.verify.walk.equivalence import Different
from rewriter.verify.walk.segments import Cutter, Segment


@dataclass(frozen=True)
class Reservations:
    """The addresses of one function between load-locked and store-conditional: `locked`.

    Along each way, all that follows one another there follows in the new code, at the same
    distances.  A sequence begins with its load-locked, or where the last segment ended.  What is
    `held` has its place besides.
    """

    table: Table
    old: Cutter
    new: Cutter
    locked: frozenset[int]
    held: frozenset[int]

    def begins(self, address: int) -> bool:
        """Whether a way may come to an address by a jump that the old one has not."""
        return address not in self.locked or self._locks(self.old, address)

    def same(self, course: Course, start: int) -> None:
        """Raises Different where a way changed between both; in the new code it `start`s there."""
        for run in self._runs(course.old):
            there = self._stands(run, course, start)
            here = course.old.addresses[run.start : run.stop]
            others = course.new.addresses[there : there + len(run)]
            if len(others) < len(here) or not self._is_same(here, others):
                raise Different(
                    f"changed between load-locked and store-conditional, at {here[0]:#x}"
                )
        for address in {*course.covered}.intersection(self.locked).difference(course.old.addresses):
            if self.old.words[self.old.at[address]] != self.new.words[self.new.at[address]]:
                raise Different(f"a jump between load-locked and store-conditional: {address:#x}")

    def _runs(self, segment: Segment) -> Iterator[range]:
        """The slots of a segment that follow one another there, each from its load-locked."""
        locked = [address in self.locked for address in segment.addresses]
        starts = [
            slot
            for slot, here in enumerate(locked)
            if here and (not slot or not locked[slot - 1] or self._lock(segment, slot))
        ]
        for start in starts:
            ends = (n for n in range(start + 1, len(locked)) if not locked[n] or n in starts)
            yield range(start, next(ends, len(locked)))

    def _stands(self, run: range, course: Course, start: int) -> int:
        """The slot of the new code in which a run begins."""
        old, new = course.old, course.new
        if self._lock(old, run.start):
            number = sum(self._lock(old, slot) for slot in range(run.start))
            locks = [slot for slot in range(len(new.addresses)) if self._lock(new, slot)]
            if number < len(locks):
                return locks[number]
        elif run.start == 0 and new.addresses[0] == start:
            return 0
        elif old.addresses[run.start] in new.addresses:
            return new.addresses.index(old.addresses[run.start])
        raise Different(f"no load-locked stands for that at {old.addresses[run.start]:#x}")

    def _is_same(self, here: Sequence[int], there: Sequence[int]) -> bool:
        """Whether old code has the same words as new code, at the same distances."""
        if [*here] != [*there] and not self.held.isdisjoint(here):
            return False
        apart = all(
            b - a == d - c and (b - a == self.table.size or [*here] == [*there])
            for (a, b), (c, d) in zip(pairwise(here), pairwise(there), strict=True)
        )
        return apart and all(map(self._is_word, here, there))

    def _is_word(self, here: int, there: int) -> bool:
        """Whether two instructions are one, and lead as far where that is there, too."""
        old, new = self.old, self.new
        at, to = old.at[here], new.at[there]
        inside = old.targets[at] in self.locked
        same = old.targets[at] - here == new.targets[to] - there
        return old.placeless[at] == new.placeless[to] and (same or not inside)

    def _lock(self, segment: Segment, slot: int) -> bool:
        return LOCK in self.table.effects(segment.insns[slot].op).events

    def _locks(self, code: Cutter, address: int) -> bool:
        insn = self.table.decode(code.words[code.at[address]])
        return insn is not None and LOCK in self.table.effects(insn.op).events
