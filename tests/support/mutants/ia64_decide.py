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

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import AWAY, Flow, Insn
from rewriter.core.isa.registers import register_mask
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import BR, FR, GR, PR
from tests.support.ia64_straight import Trial
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
        if _only_stops(old, new):
            return "stop added"
        if self._same_places(old, new):
            return "same place"
        if self.base.function_at(change.address) is None:
            return ""
        if sorted(map(_what, old)) == sorted(map(_what, new)):
            return self._by_running(change, new)
        return self._by_results(old, new)

    def _same_places(self, old: Sequence[Slot], new: Sequence[Slot]) -> bool:
        """Whether branches alone differ, and lead to one place over bundles of nops."""
        if [slot.stop for slot in old] != [slot.stop for slot in new]:
            return False
        for mine, its in zip(old, new, strict=True):
            same = mine.insn.op is its.insn.op and mine.insn.placeless == its.insn.placeless
            if not same or self._settled(mine) != self._settled(its):
                return False
        return True

    def _settled(self, slot: Slot) -> int | None:
        """Where control comes to in the end that a branch leads to a bundle."""
        form, at = slot.insn.op.format, slot.address & -BUNDLE
        if form.target is None:
            return None
        at += slot.insn.operands[form.target]
        while (slots := self.base.slots(at)) and all(
            each.insn.name.startswith("nop.") for each in slots
        ):
            at += BUNDLE
        return at

    def _by_results(self, old: Sequence[Slot], new: Sequence[Slot]) -> str:
        """Whether nothing reads what the instructions that changed set to another value."""
        if [(s.address, s.stop) for s in old] != [(s.address, s.stop) for s in new]:
            return ""
        changed = [n for n, (mine, its) in enumerate(zip(old, new, strict=True)) if mine != its]
        idle = False
        for n in changed:
            pair, written = (old[n], new[n]), 0
            if not all(_is_pure(slot.insn) for slot in pair):
                return ""
            for slot in pair:
                if len(changed) == 1 and self._is_done(slot, old[:n]):
                    idle = True
                else:
                    written |= TABLE.defs(slot.insn)
            if _only_target(*(slot.insn for slot in pair)):
                written &= TABLE.defs(old[n].insn) ^ TABLE.defs(new[n].insn)
            address, under = old[n].address & -BUNDLE, _only_without(*pair)
            if self.ways.live_behind(old[n + 1 :], address, written, under):
                return ""
        return "equal in what is before" if idle else "dead"

    def _is_done(self, slot: Slot, within: Sequence[Slot]) -> bool:
        """Whether what an instruction sets has that value: it was done before, or is a move back.

        `within` are the slots before it in its bundle.
        """
        sets, reads = TABLE.defs(slot.insn), TABLE.uses(slot.insn)
        if sets & reads:
            return False
        places = self.ways.before(slot.address & -BUNDLE, _MOST[1])
        earlier = [one for at in places for one in reversed(self.base.slots(at))]
        ended = False  # the group in which it was done
        for one in (*reversed(within), *earlier):
            ended |= one.stop
            if _what(one) == _what(slot) or _is_back(one.insn, slot.insn):
                return ended
            if TABLE.defs(one.insn) & (sets | reads) or one.insn.op.flow is not Flow.NEXT:
                return False
        return False

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


def _only_target(one: Insn, other: Insn) -> bool:
    """Whether two instructions differ in where they put one result, and in nothing else."""
    if one.op is not other.op:
        return False
    differ = [
        n for n, (a, b) in enumerate(zip(one.operands, other.operands, strict=True)) if a != b
    ]
    return len(differ) == 1 and differ[0] in set(TABLE.effects(one.op).writes)


def _only_stops(old: Sequence[Slot], new: Sequence[Slot]) -> bool:
    """Whether groups end earlier and nothing else changed: legal code reads nothing that its group
    sets, so where a group ends says only when its instructions may issue."""
    same = [_without(slot.insn) for slot in old] == [_without(slot.insn) for slot in new]
    return same and all(its.stop or not mine.stop for mine, its in zip(old, new, strict=True))


def _what(slot: Slot) -> str:
    """The instruction, whatever slot it stands in."""
    insn = _without(slot.insn)
    return TABLE.text(insn.replace(slot=0) if insn.has("slot") else insn)


def _only_without(mine: Slot, its: Slot) -> int:
    """The predicate without which alone two slots differ: one has it, the other is without any."""
    if not (mine.insn.has("qp") and its.insn.has("qp")):
        return PR
    predicates = {slot.insn.operand("qp") for slot in (mine, its)}
    plain = {_what(replace(slot, insn=slot.insn.replace(qp=PR))) for slot in (mine, its)}
    return max(predicates) if PR in predicates and len(plain) == 1 else PR


def _is_back(one: Insn, other: Insn) -> bool:
    """Whether one moves to a register what the other moves back, both whatever predicates hold."""
    moves = all(
        insn.name == "adds" and insn.operand("imm14") == 0 and not is_under(insn)
        for insn in (one, other)
    )
    ends = (one.operand("r1"), one.operand("r3")) if moves else ()
    return moves and ends == (other.operand("r3"), other.operand("r1"))


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
