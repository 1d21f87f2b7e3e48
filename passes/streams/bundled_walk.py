"""How long a loop of bundled code takes that walks over memory: in the cache, and out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from passes.streams.accesses import Moving, Stream, Touch
from rewriter.core.code.groups import Slot, groups
from rewriter.core.code.transfer import Provable
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.arena import WIDE
from rewriter.core.target.bundled_cpu import BundledCpu
from rewriter.core.target.prefetching import Prefetching
from rewriter.timing.bundled.trace import trace

LINES = 4
"""Lines of a stream that are timed beyond what is asked for ahead."""
_PASSES = 16  # that are timed at least
_APART = (1 << 24) + (1 << 12)  # bytes between streams: other pages, and other sets of a cache


@dataclass(frozen=True, slots=True)
class Passed:
    """A slot that control passed, as the model of a trace asks for it."""

    address: int
    insn: Insn
    stop: bool
    on: bool
    access: int | None
    size: int
    target: int | None


@dataclass(frozen=True)
class Reading:
    """What instructions of a target are to a walk over memory."""

    target: Provable
    hints: Prefetching

    def moving(self, slots: Sequence[Slot], asks: bool = False) -> list[list[Moving]]:
        """The slots as far as addresses go, group by group; with hints as accesses if it `asks`."""
        return [[self._moving(slot.insn, asks) for slot in group] for group in groups(slots)]

    def _moving(self, insn: Insn, asks: bool) -> Moving:
        transfer, touch = self.target.transfer(insn), None
        found, hint = self.hints.touched(insn), self.hints.hint_base(insn)
        if found is not None and transfer.guard is None:
            touch = Touch(found.base, 0, found.size, found.stores)
        elif asks and hint is not None:
            touch = Touch(hint, 0, 1, False)
        sums = tuple(
            (total.register, total.addends[0], total.constant)
            for total in transfer.sums
            if len(total.addends) == 1 and transfer.guard is None
        )
        known = {result for result, _, _ in sums}
        lost = {r.register for r in transfer.results} | {t.register for t in transfer.sums}
        return Moving(touch, sums, tuple(sorted(lost - known)))

    def leads(self, slot: Slot) -> int | None:
        """Where a branch goes that does nothing else; None for what is no such branch."""
        if slot.insn.op.flow is Flow.NEXT:
            return None
        leaves = self.target.transfer(slot.insn).exit
        if leaves is None or leaves.distance is None or leaves.links:
            return None
        return (self.target.base(slot.address) + leaves.distance) % (1 << self.target.width)


@dataclass(frozen=True)
class BundledWalked:
    """The passes of a loop on a CPU; exits on the way are not taken."""

    cpu: BundledCpu
    reading: Reading

    @property
    def line(self) -> int:
        """Bytes of a line that comes from memory."""
        return self.cpu.issue.memory.levels[-1].line.value

    def warm(self, slots: Sequence[Slot], places: Sequence[Stream]) -> Fraction:
        """Cycles a pass when everything is in the cache."""
        once, twice = (
            trace(self.cpu, list(self._steps(slots, places, n))).cycles
            for n in (_PASSES, 2 * _PASSES)
        )
        return Fraction(twice - once, _PASSES)

    def cold(self, slots: Sequence[Slot], places: Sequence[Stream], passes: int) -> int:
        """Cycles of so many passes, when all that the loop walks over is in memory only."""
        steps = list(self._steps(slots, places, passes))
        return trace(self.cpu, steps, warm=False).cycles

    def passes(self, stream: Stream, ahead: int) -> int:
        """Passes in which a stream gets some lines farther than what it asks for, bytes ahead."""
        return max(_PASSES, (LINES * self.line + abs(ahead)) // abs(stream.step))

    def ahead(self, stream: Stream, cycles: Fraction, others: int) -> int:
        """How many bytes ahead to ask, when a pass takes so many cycles.

        A line comes the memory's latency after it was asked for; streams share the misses that
        may be under way.
        """
        memory, step = self.cpu.issue.memory, abs(stream.step)
        each = max(self.line, step)
        lines = -(-memory.memory.value // max(cycles * Fraction(each, step), Fraction(1)))
        most = max(memory.misses.value // others, 1)
        distance = min(int(lines), most) * each
        distance = min(distance, self.reading.hints.reach // each * each)
        return distance if stream.step > 0 else -distance

    def _steps(
        self, slots: Sequence[Slot], places: Sequence[Stream], passes: int
    ) -> Iterator[Passed]:
        """What control passes; `places` are the streams of these slots, hints among them."""
        start = self.reading.target.base(slots[0].address)
        whole = [(slot, *self._access(n, slot, places)) for n, slot in enumerate(slots)]
        leads = [self.reading.leads(slot) for slot in slots]
        for turn in range(passes):
            for (slot, at, step, size), to in zip(whole, leads, strict=True):
                goes = to == start and turn < passes - 1
                access = None if at is None else at + step * turn & -size
                on, target = to is None or goes, start if goes else None
                yield Passed(slot.address, slot.insn, slot.stop, on, access, size, target)

    def _access(
        self, number: int, slot: Slot, places: Sequence[Stream]
    ) -> tuple[int | None, int, int]:
        """Where a slot accesses memory in the first pass, how far that moves, and bytes."""
        found, data = self.reading.hints.touched(slot.insn), WIDE.data
        size = 1 if found is None else found.size
        for stream, one in enumerate(places):
            for access in one.accesses:
                if access.number == number:
                    return data + _APART * stream + access.offset, one.step, size
        return None if found is None else data + _APART * len(places) + 16 * number, 0, size
