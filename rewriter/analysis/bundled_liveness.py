"""Which registers may be read where a region of bundled code begins.

A register is dead only where it is shown to be: on every way from there it is set, under no
predicate, before anything reads it.  Calls, returns, computed branches, system calls, code that
stays as it is and everything outside the function may read all registers, but for calls and
returns of which it is known what may be read beyond them (`bundled_calls`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from rewriter.core.code.groups import Slot
from rewriter.core.code.transfer import Exit, Provable
from rewriter.core.run.kept import kept
from rewriter.core.target.bundling import Region, Routine

Slots = Callable[[Region], Sequence[Slot]]
Beyond = Mapping[int, int]
"""By address of the slot of a call or return the mask of what may be read beyond it."""

NOTHING_KNOWN: Beyond = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Summary:
    """A region: what it reads from before it, and for each way out what is not set until then.

    A way leads to an address, or where that is negative to what is beyond the slot at its
    complement.
    """

    reads: int
    ways: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Ways:
    """A function's regions by where they begin, those that stay without a summary.

    `always` are registers that may be read anywhere in it.
    """

    starts: tuple[int, ...]
    made: dict[int, _Summary]
    always: int
    everything: int

    def live(self, beyond: Beyond) -> dict[int, int]:
        """For each region's start the mask of the registers that may be read from there on."""
        live = dict(self._read)
        for start, at, unset in self._leaving:
            live[start] |= beyond.get(at, self.everything) & unset
        staying, comes = self._staying, self._comes
        waiting = dict.fromkeys(staying)
        while waiting:  # the last one first: what is read comes from behind
            start, _ = waiting.popitem()
            now = live[start]
            for to, unset in staying[start]:
                now |= live[to] & unset
            if now != live[start]:
                live[start] = now
                for one in comes.get(start, ()):
                    waiting[one] = None
        return live

    @cached_property
    def _read(self) -> dict[int, int]:
        """The same without ways to other regions and to what is beyond a slot."""
        live = dict.fromkeys(self.starts, self.everything)
        live |= {start: one.reads | self.always for start, one in self.made.items()}
        for start, one in self.made.items():
            for to, unset in one.ways:
                if to >= 0 and to not in live:
                    live[start] |= unset
        return live

    @cached_property
    def _leaving(self) -> Sequence[tuple[int, int, int]]:
        """Ways to what is beyond a slot: from which region, the slot, and what is not set."""
        ways = ((start, to, unset) for start, one in self.made.items() for to, unset in one.ways)
        return [(start, ~to, unset) for start, to, unset in ways if to < 0]

    @cached_property
    def _staying(self) -> Mapping[int, Sequence[tuple[int, int]]]:
        """The ways of a region to others, ascending."""
        known = {*self.starts, *self.made}
        ways = {
            start: [(to, unset) for to, unset in self.made[start].ways if to in known]
            for start in sorted(self.made)
        }
        return {start: found for start, found in ways.items() if found}

    @cached_property
    def _comes(self) -> Mapping[int, Sequence[int]]:
        """For each region those from which control comes to it."""
        comes: dict[int, list[int]] = {}
        for start, ways in self._staying.items():
            for to, _ in ways:
                comes.setdefault(to, []).append(start)
        return comes


class BundledLiveness:
    """Which registers may be read, in any function; what an instruction does is found once."""

    def __init__(self, target: Provable, everything: int) -> None:
        self.target, self.everything = target, everything
        self.of = kept(target.effect, target.alike)

    def live(
        self, routine: Routine, slots: Slots, beyond: Beyond = NOTHING_KNOWN
    ) -> dict[int, int]:
        """For each region's start the mask of the registers that may be read from there on."""
        return self.ways(routine, slots).live(beyond)

    def ways(self, routine: Routine, slots: Slots) -> Ways:
        """The ways through a function."""
        made = {r.start: self._summary(slots(r)) for r in routine.regions if not r.reason}
        always = self.target.observed | routine.kept
        return Ways(tuple(r.start for r in routine.regions), made, always, self.everything)

    def left_with(
        self, slot: Slot, live: Mapping[int, int], beyond: Beyond = NOTHING_KNOWN
    ) -> int | None:
        """What may be read where control leaves at a slot; None if it does not leave there."""
        effect = self.of(slot.insn)
        if effect.exit is None:
            return self.everything if effect.reads_all else None
        target = self._leads(slot, effect.exit)
        if target is not None:
            return live.get(target, self.everything)
        read = beyond.get(slot.address, self.everything)
        if effect.exit.links:
            read |= live.get(self.target.following(slot.address), self.everything)
        return read

    def _summary(self, slots: Sequence[Slot]) -> _Summary:
        reads, unset = 0, self.everything
        ways: list[tuple[int, int]] = []
        for slot in slots:
            effect = self.of(slot.insn)
            reads |= effect.reads & unset
            if effect.reads_all:
                reads |= unset
            if effect.exit is not None:
                target = self._leads(slot, effect.exit)
                ways.append((~slot.address if target is None else target, unset))
                if effect.exit.links:
                    ways.append((self.target.following(slot.address), unset))
                if effect.is_certain:
                    return _Summary(reads, tuple(ways))
            unset &= ~effect.sets
        ways.append((self.target.following(slots[-1].address), unset))
        return _Summary(reads, tuple(ways))

    def _leads(self, slot: Slot, leaves: Exit) -> int | None:
        """Where control goes with the registers as they are; None if that is not known."""
        if leaves.distance is None or leaves.links or leaves.rotates:
            return None
        return (self.target.base(slot.address) + leaves.distance) % (1 << self.target.width)
