"""Lines that a loop of bundled code will read or write are asked for before it gets there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from passes.lib.insert import Declined
from passes.scheduling.bundled import counted, schedule
from passes.streams.accesses import Stream, walked
from passes.streams.bundled_walk import BundledWalked, Reading
from rewriter.core.code.dataflow import registers_of
from rewriter.core.code.groups import Slot
from rewriter.core.code.ordering import Scheduling
from rewriter.core.code.superblock import Superblock
from rewriter.core.code.transfer import Transfer
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.prefetching import Asked

KIND = "loop over memory"
LEAST = Fraction(1, 20)
"""Of the cycles out of memory: below that the model itself is not exact."""

_CROWDED = "no register is free all through a pass"
_SHORT = 4  # times as far as a hint asks ahead: a count that is known to end sooner is short


@dataclass(frozen=True)
class WalkingLoop:
    """Straight code that branches back to its start, as it stands or was scheduled before.

    `block` is the original with what may be read at its exits, `plain` what it is without hints;
    `dead` is the mask of the registers that nothing reads at its start, `before` what stands in
    front of it.
    """

    block: Superblock
    plain: tuple[Slot, ...]
    dead: int
    before: tuple[Slot, ...]


@dataclass(frozen=True)
class Hinted:
    """What was put into a loop, and the modelled cycles that a pass saves."""

    asked: tuple[Asked, ...]
    saves: Fraction
    detail: str


Scheduled = tuple[Hinted, tuple[Slot, ...]]
"""The hints of a loop, and the loop with them in the order found."""


@dataclass(frozen=True)
class BundledStreams:
    """A loop that walks over memory asks for a line some passes before it needs it.

    Before    loop: ld8 r14=[r15],8 ;;     After    loop: ld8 r14=[r15],8
                    add r8=r8,r14                         adds r16=1024,r15 ;;
                    br.cloop loop ;;                      lfetch [r16]
                                                          add r8=r8,r14
                                                          br.cloop loop ;;
    Requires  A region that branches back to its start, in which an address moves by the same
              number in each pass; a scratch register that is shown dead at the start.  No search:
              what ends by what it has read is short.  No barrier, no hint of its own, no stream
              on the stack, no count known to be short, and nothing of an operating system, whose
              loops may walk over a device.
    Proof     An lfetch without `.fault` changes no register and no memory and raises nothing
              (SDM vol. 3).  The verifier takes it so, wants its address to be near one that the
              old pass accesses, and compares the rest.

    The sum and the hint are scheduled with the loop, in no more bundles than it has and in no
    more cycles than without them, with everything in the cache, once and pass after pass.
    """

    walked: BundledWalked
    scheduling: Scheduling

    @property
    def reading(self) -> Reading:
        """What instructions are to a walk."""
        return self.walked.reading

    def is_loop(self, slots: Sequence[Slot]) -> bool:
        """Whether a region branches back to its own start; it ends behind such a branch."""
        base = self.reading.target.base
        start, last = base(slots[0].address), base(slots[-1].address)
        leads = (self.reading.leads(slot) for slot in slots if slot.address >= last)
        return any(to == start for to in leads)

    def hinted(self, loop: WalkingLoop) -> Scheduled | Declined | None:
        """A loop with hints, or why it has none; None if it walks over nothing."""
        slots, at = loop.block.slots, loop.block.slots[0].address
        found = walked(self.reading.moving(slots))
        if not found:
            return None
        reason = self._unsuited(loop)
        if reason:
            return Declined(KIND, at, reason)
        warm = self.walked.warm(loop.plain, walked(self.reading.moving(loop.plain)))
        best: Scheduled | None = None
        named = _named(loop, self)
        free = registers_of(loop.dead & self.reading.hints.spare)
        spare = sorted(free, key=lambda register: (not named >> register & 1, register))
        for stream in sorted(found, key=lambda stream: stream.writes):  # nobody waits for a write
            ahead = self.walked.ahead(stream, warm, len(found))
            why = self._hot(loop, stream, ahead) or ("" if spare else _CROWDED)
            if why:
                reason = reason or why
                continue
            more = self._asked(stream, ahead, spare[-1], slots)
            tried = self._tried(loop, best, more, warm, self.walked.passes(stream, ahead))
            if isinstance(tried, str):
                reason = reason or (_CROWDED if named >> spare[-1] & 1 else tried)
            else:
                best, spare = tried, spare[:-1]
        return Declined(KIND, at, reason) if best is None else best

    def _asked(self, stream: Stream, ahead: int, spare: int, slots: Sequence[Slot]) -> Asked:
        touched = self.reading.hints.touched
        accessed = (touched(slots[access.number].insn) for access in stream.accesses)
        first = any(one is not None and one.first for one in accessed)
        return Asked(stream.base, stream.ahead + ahead, spare, stream.writes, first)

    def _tried(
        self, loop: WalkingLoop, best: Scheduled | None, more: Asked, warm: Fraction, passes: int
    ) -> Scheduled | str:
        """The loop with one more hint than the best has, or why not."""
        known, fewer = ((), loop.plain) if best is None else (best[0].asked, best[1])
        asked, room = (*known, more), counted(loop.block.slots, self.scheduling)
        slots = self._scheduled(loop, asked)
        if slots is None or counted(slots, self.scheduling) > room:
            return "no room in its bundles"
        places = walked(self.reading.moving(slots, asks=True))
        after = self.walked.warm(slots, places)
        if after > warm or self.scheduling.cycles(slots) > self.scheduling.cycles(loop.plain):
            return "a pass would take longer in the cache"
        without = walked(self.reading.moving(fewer, asks=True))
        old = self.walked.cold(fewer, without, passes)
        new = self.walked.cold(slots, places, passes)
        if old - new < LEAST * old:
            return "no gain in the model"
        saves = Fraction(old - new, passes) + (0 if best is None else best[0].saves)
        ahead = ", ".join(f"{abs(one.distance)}" for one in asked)
        detail = f"{float(saves):.1f} cycles a pass saved out of memory, {after} in the cache are "
        return Hinted(asked, saves, f"{detail}no more than before; {ahead} bytes ahead"), slots

    def _scheduled(self, loop: WalkingLoop, asked: Sequence[Asked]) -> tuple[Slot, ...] | None:
        """The loop with hints in the best order found; None if there is none."""
        hints, start = self.reading.hints, loop.block.slots[0].address
        made = hints.asking(asked, start)
        outcome = schedule(replace(loop.block, slots=(*made, *loop.block.slots)), self.scheduling)
        if outcome.reason:
            return None
        return hints.moved(outcome.slots, start - made[0].address)

    # Where none should be ----------------------------------------------------------------------

    def _unsuited(self, loop: WalkingLoop) -> str:
        """Why a loop is no place for hints, or nothing."""
        slots, hints = loop.block.slots, self.reading.hints
        if hints.may_be_device(slots[0].address):
            return "a kernel's loop may walk over a device"
        if loop.block.joined:
            return "a group is open before it"
        if any(hints.hint_base(slot.insn) is not None for slot in slots):
            return "it asks ahead itself"
        effects = [self.reading.target.transfer(slot.insn) for slot in slots]
        if any(one.order.is_fence for one in effects):
            return "a barrier or a lock in the loop"
        if _ends_by_reading(slots, effects, self.reading):
            return "it ends by what it reads: such loops are short"
        return ""

    def _hot(self, loop: WalkingLoop, stream: Stream, ahead: int) -> str:
        """Why a stream is in the cache already, or ends before a hint is of use; or nothing."""
        hints = self.reading.hints
        if self._origin(stream.base, loop.before) == hints.stack:
            return "on the stack"
        counted_down = any(
            hints.counter in self.reading.target.transfer(slot.insn).reads
            for slot in loop.block.slots
            if self.reading.leads(slot) is not None
        )
        passes = self._count(loop.before) if counted_down else None
        if passes is not None and passes * abs(stream.step) < _SHORT * abs(ahead):
            return "a short count"
        return ""

    def _count(self, before: Sequence[Slot]) -> int | None:
        """What the counter is set to before the loop, if that is a number."""
        for slot in reversed(before):
            passes = self.reading.hints.counts(slot.insn)
            if passes is not None:
                return passes
            if self.reading.hints.counter in _written(self.reading.target.transfer(slot.insn)):
                return None
        return None

    def _origin(self, register: int, before: Sequence[Slot]) -> int:
        """The register that one is a sum of and of numbers, as far as the code before shows."""
        for slot in reversed(before):
            transfer = self.reading.target.transfer(slot.insn)
            if register not in _written(transfer):
                continue
            own = [t for t in transfer.sums if t.register == register and len(t.addends) == 1]
            if not own:
                return register
            register = own[0].addends[0]
        return register


def _named(loop: WalkingLoop, streams: BundledStreams) -> int:
    """The registers that a loop names, as a mask."""
    named = 0
    for slot in loop.block.slots:
        transfer = streams.reading.target.transfer(slot.insn)
        named |= transfer.uses | transfer.defs
    return named


def _written(transfer: Transfer) -> Iterator[int]:
    """The registers that an instruction writes."""
    yield from (result.register for result in transfer.results)
    yield from (total.register for total in transfer.sums)


def _ends_by_reading(slots: Sequence[Slot], effects: Sequence[Transfer], reading: Reading) -> bool:
    """Whether what is loaded has a part in whether control leaves."""
    needed, before = 0, -1
    for one in effects:
        if one.exit is not None and one.guard is not None:
            needed |= 1 << one.guard
    while needed != before:
        before = needed
        for slot, one in zip(slots, effects, strict=True):
            if not register_mask(_written(one)) & needed or one.exit is not None:
                continue
            moved = register_mask(total.register for total in one.sums)
            if reading.hints.touched(slot.insn) is None:
                needed |= one.uses
            elif register_mask(result.register for result in one.results) & needed:
                return True
            if moved & needed:
                needed |= register_mask(a for t in one.sums for a in t.addends)
    return False
