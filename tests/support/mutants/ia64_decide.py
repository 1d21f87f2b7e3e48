"""Why a change to IA-64 code does nothing wrong, decided without the verifier.

Straight code around the change is run on the group-parallel machine from random states, which the
processor's manual and not the proof's unknown functions give a meaning.  Equal are where control
goes, memory, events, accesses, and all registers, or those that may be read afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rewriter.core.groups import Slot
from rewriter.core.isa import AWAY, Insn
from targets.ia64 import bundles
from targets.ia64.fields import BUNDLE
from targets.ia64.isa import TABLE
from targets.ia64.machine.straight import Trial
from tests.support.mutants.changes import Change
from tests.support.mutants.ia64_base import Ia64Base
from tests.support.mutants.ia64_ways import EVERYTHING, Ways, beyond, is_under

_STATES, _FEW = 120, 40
_MOST = 4, 12
"""Bundles before the change and behind it: to where its group ends, and further."""
_UNUSED = ("ignored", "tag13")
_IDLE = ("nop.", "brp", "lfetch")


class Decider:
    """Decides for one base."""

    def __init__(self, base: Ia64Base) -> None:
        self.base, self.ways = base, Ways(base)

    def reason(self, change: Change) -> str:
        """The equivalence that holds; nothing where none is found."""
        try:
            new = list(bundles.straight(change.code, change.address))
        except ValueError:
            return ""
        old = self.base.slots(change.address)
        if _plain(old) == _plain(new):
            return "same instruction"
        if _acting(old) == _acting(new):
            return "no effect"
        if self.base.function_at(change.address) is None:
            return ""
        return self._by_running(change, new)

    def _by_running(self, change: Change, new: Sequence[Slot]) -> str:
        for most in _MOST:
            first, last = self._window(change.address, most)
            old = self._slots(first, last)
            other = [slot for slot in old if slot.address & -BUNDLE != change.address]
            other = sorted([*other, *new], key=lambda slot: slot.address)
            trial = Trial.of(old, _STATES)
            if len(trial.told) < _FEW or self._open(old, other):
                continue
            if not any(trial.differences(other, EVERYTHING)):
                return {"swap": "commuting", "stop": "stop alone"}.get(change.kind, "no effect")
            at, left = self._live(old, other, last)
            if not any(trial.differences(other, EVERYTHING, at=at, left=left)):
                return "dead"
        return ""

    def _window(self, address: int, most: int) -> tuple[int, int]:
        """Bundles from where a group begins to where one ends."""
        first, last = address, address
        for before in self.ways.before(address, most):
            closed = self.base.slots(before)[-1].stop
            if closed and address - first >= BUNDLE * (most - _MOST[0]):
                break
            first = before
        function = self.base.function_at(address)
        assert function is not None
        while last - address < BUNDLE * most and last + BUNDLE < function.end:
            slots = self.base.slots(last)
            if slots and slots[-1].stop and last > address:
                break
            last += BUNDLE
        return first, last

    def _slots(self, first: int, last: int) -> list[Slot]:
        return [s for at in range(first, last + BUNDLE, BUNDLE) for s in self.base.slots(at)]

    def _open(self, old: Sequence[Slot], new: Sequence[Slot]) -> bool:
        """Whether what follows would come into another group: a branch that is taken ends one."""
        last = old[-1].insn
        goes_on = is_under(last) or TABLE.flow(last) not in AWAY
        return goes_on and old[-1].stop != new[-1].stop

    def _live(
        self, old: Sequence[Slot], new: Sequence[Slot], last: int
    ) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """What may be read where control leaves, by where it goes and by calls and returns."""
        written = 0
        for slot in (*old, *new):
            written |= TABLE.defs(slot.insn)
        goes = {last + BUNDLE, *(to for slot in old if (to := self.ways.to(slot)) is not None)}
        unwritten = EVERYTHING & ~written
        at = {place: unwritten | self.ways.live(place, written) for place in goes}
        return at, {slot.address: beyond(slot.insn) for slot in old}


def _plain(slots: Sequence[Slot]) -> list[tuple[Insn, bool]]:
    """The instructions without bits that say nothing."""
    return [(_without(slot.insn), slot.stop) for slot in slots]


def _without(insn: Insn) -> Insn:
    return insn.replace(**{name: 0 for name in _UNUSED if insn.has(name)})


def _acting(slots: Sequence[Slot]) -> list[Slot]:
    """The slots without those that do nothing, but for where groups end."""
    return [
        replace(slot, insn=_IDLE_INSN if slot.insn.name.startswith(_IDLE) else _without(slot.insn))
        for slot in slots
    ]


_NOP = TABLE.decode(TABLE.find("nop.i").match)
assert _NOP is not None
_IDLE_INSN = _NOP
