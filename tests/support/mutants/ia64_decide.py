"""Why a change to IA-64 code does nothing wrong, decided without the verifier.

Another instruction in a slot is explained only where both have no effect but on registers which
nothing may read afterwards, by an analysis of its own.  The same instructions in another order, or
in other groups, are run on the group-parallel machine from random states, which the processor's
manual and not the proof's unknown functions give a meaning: the same must be where control goes,
memory, events, accesses, and all registers or those that may be read afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rewriter.core.groups import Slot
from rewriter.core.isa import AWAY, Flow, Insn, register_mask
from targets.ia64 import bundles
from targets.ia64.fields import BUNDLE
from targets.ia64.isa import TABLE
from targets.ia64.machine.straight import Trial
from targets.ia64.registers import BR, FR, GR, PR
from tests.support.mutants.changes import Change
from tests.support.mutants.ia64_base import Ia64Base
from tests.support.mutants.ia64_ways import EVERYTHING, Ways, beyond, is_under

STATES, _FEW = 120, 40
_MOST = 4, 12
"""Bundles before the change and behind it: to where its group ends, and further."""
_UNUSED = ("ignored", "tag13")
_IDLE = ("nop.", "brp", "lfetch")
_PURE = frozenset(
    ("IALU", "ILOG", "ICMP", "ISHF", "TBIT", "XTD", "LONG_I", "PNT", "NOP_M", "NOP_I")
)
"""Classes of instructions of which the manual says that they never fault."""
_SETTABLE = register_mask((*range(GR + 1, FR), *range(PR + 1, BR)))


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
            return "does nothing"
        if self.base.function_at(change.address) is None:
            return ""
        if sorted(map(_what, old)) == sorted(map(_what, new)):
            return self._by_running(change, new)
        if self._is_dead(old, new):
            return "dead"
        return "equal in what is before" if self._repeats(old, new) else ""

    def _repeats(self, old: Sequence[Slot], new: Sequence[Slot]) -> bool:
        """Whether a nop became what was done before, and holds still."""
        changed = [(a, b) for a, b in zip(old, new, strict=False) if a != b]
        if len(old) != len(new) or len(changed) != 1:
            return False
        ((mine, its),) = changed
        if not mine.insn.name.startswith("nop.") or not _is_pure(its.insn) or mine.stop != its.stop:
            return False
        touched = TABLE.defs(its.insn) | TABLE.uses(its.insn)
        address = mine.address & -BUNDLE
        bundles_before = (self.base.slots(at) for at in self.ways.before(address, _MOST[1]))
        earlier = [slot for slots in bundles_before for slot in reversed(slots)]
        for slot in (*reversed(old[: old.index(mine)]), *earlier):
            if _what(slot) == _what(its):
                return not TABLE.defs(its.insn) & TABLE.uses(its.insn)
            if TABLE.defs(slot.insn) & touched or slot.insn.op.flow is not Flow.NEXT:
                return False
        return False

    def _is_dead(self, old: Sequence[Slot], new: Sequence[Slot]) -> bool:
        """Whether nothing reads what the instructions that changed set."""
        if [(s.address, s.stop) for s in old] != [(s.address, s.stop) for s in new]:
            return False
        for number, (mine, its) in enumerate(zip(old, new, strict=True)):
            if mine == its:
                continue
            written = TABLE.defs(mine.insn) | TABLE.defs(its.insn)
            if not (_is_pure(mine.insn) and _is_pure(its.insn)):
                return False
            if self.ways.live_behind(old[number + 1 :], mine.address & -BUNDLE, written):
                return False
        return True

    def _by_running(self, change: Change, new: Sequence[Slot]) -> str:
        for most in _MOST:
            first, last = self._window(change.address, most)
            old = self._slots(first, last)
            other = [slot for slot in old if slot.address & -BUNDLE != change.address]
            other = sorted([*other, *new], key=lambda slot: slot.address)
            trial = Trial.of(old, STATES)
            if len(trial.told) < _FEW or self._open(old, other):
                continue
            if not any(trial.differences(other, EVERYTHING)):
                return "stop alone" if change.kind == "stop" else "commuting"
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


def _what(slot: Slot) -> str:
    """The instruction, whatever slot it stands in."""
    insn = _without(slot.insn)
    return TABLE.text(insn.replace(slot=0) if insn.has("slot") else insn)


def _is_pure(insn: Insn) -> bool:
    """Whether an instruction sets general registers and predicates, and does nothing else."""
    effects = TABLE.effects(insn.op)
    acts = effects.loads or effects.stores or effects.events or insn.op.flow is not Flow.NEXT
    return not acts and insn.op.sched in _PURE and not TABLE.defs(insn) & ~_SETTABLE


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
