"""Which registers may be read where a region of grouped code begins.

A register is dead only where it is shown to be: on every way from there it is set, under no
predicate, before anything reads it.  Calls, returns, computed branches, system calls, code that
stays as it is and everything outside the function may read all registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rewriter.core.grouped import Region, Routine
from rewriter.core.groups import Slot
from rewriter.core.kept import Kept
from rewriter.core.transfer import Exit, Provable

Slots = Callable[[Region], Sequence[Slot]]


@dataclass(frozen=True, slots=True)
class _Summary:
    """A region: what it reads from before it, and for each way out what is not set until then."""

    reads: int
    ways: tuple[tuple[int | None, int], ...]


class Effects:
    """What instructions read and set; answers are kept."""

    def __init__(self, target: Provable, everything: int) -> None:
        self.target, self.everything = target, everything
        self.of = Kept(target.effect, target.alike)

    def live(self, routine: Routine, slots: Slots) -> dict[int, int]:
        """For each region's start the mask of the registers that may be read from there on."""
        made = {r.start: self._summary(slots(r)) for r in routine.regions if not r.reason}
        live = {r.start: self.everything for r in routine.regions if r.reason}
        live |= {start: one.reads | self.target.observed for start, one in made.items()}
        waiting = dict.fromkeys(reversed(made))
        comes = _comes(made)
        while waiting:
            start, _ = waiting.popitem()
            one = made[start]
            now = live[start]
            for target, unset in one.ways:
                leads = self.everything if target is None else live.get(target, self.everything)
                now |= leads & unset
            if now != live[start]:
                live[start] = now
                waiting |= dict.fromkeys(comes.get(start, ()))
        return live

    def left_with(self, slot: Slot, live: Mapping[int, int]) -> int | None:
        """What may be read where control leaves at a slot; None if it does not leave there."""
        effect = self.of(slot.insn)
        if effect.exit is None:
            return self.everything if effect.reads_all else None
        target = self._leads(slot, effect.exit)
        return self.everything if target is None else live.get(target, self.everything)

    def _summary(self, slots: Sequence[Slot]) -> _Summary:
        reads, unset = 0, self.everything
        ways: list[tuple[int | None, int]] = []
        for slot in slots:
            effect = self.of(slot.insn)
            reads |= effect.reads & unset
            if effect.reads_all:
                ways.append((None, unset))
            if effect.exit is not None:
                ways.append((self._leads(slot, effect.exit), unset))
                if effect.is_certain:
                    return _Summary(reads, tuple(ways))
            unset &= ~effect.sets
        ways.append((self.target.following(slots[-1].address), unset))
        return _Summary(reads, tuple(ways))

    def _leads(self, slot: Slot, leaves: Exit) -> int | None:
        """Where control goes with the registers as they are; None if that is not known."""
        if leaves.distance is None or leaves.links or leaves.rotates:
            return None
        return (self.target.base(slot.address) + leaves.distance) % (1 << 64)


def _comes(made: Mapping[int, _Summary]) -> dict[int, list[int]]:
    """For each place the regions from which control comes to it."""
    comes: dict[int, list[int]] = {}
    for start, one in made.items():
        for target, _ in one.ways:
            if target is not None:
                comes.setdefault(target, []).append(start)
    return comes
