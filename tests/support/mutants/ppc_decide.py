"""Why a change to PowerPC code does nothing wrong, decided without the verifier.

Changes are looked at alone and then in the straight code around them, run on unknowns by the
table's meanings, with Z3 for what is not plainly the same.  What is not shown is not explained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import z3

from rewriter.core.isa.instruction import Insn
from targets.ppc.registers import CONSTANTS
from tests.support.mutants.changes import Change
from tests.support.mutants.plain_base import WORD, PlainBase
from tests.support.mutants.ppc_run import Leaving, Run, run
from tests.support.mutants.ppc_ways import Ways

_EFFORT = 300_000


class Decider:
    """Decides for one base."""

    def __init__(self, base: PlainBase) -> None:
        self.base, self.ways = base, Ways(base)

    def reason(self, change: Change) -> str:
        """The equivalence that holds; nothing where none is found."""
        table, order = self.base.program.target.table, self.base.program.image.byteorder
        parts = [change.code[n : n + WORD] for n in range(0, len(change.code), WORD)]
        new = [table.decode(int.from_bytes(part, order)) for part in parts]
        places = [change.address + WORD * n for n in range(len(parts))]
        old = [self.base.insn(place) for place in places]
        pairs = [(p, a, b) for p, a, b in zip(places, old, new, strict=True) if a != b]
        if not pairs:
            return "same instruction"
        if any(a is None or b is None for _, a, b in pairs):
            return ""
        known = [(p, a, b) for p, a, b in pairs if a is not None and b is not None]
        if all(self._filled(p, a, b) for p, a, b in known):
            return "nop not reached"
        if all(self._leads_alike(p, a, b) for p, a, b in known):
            return "leads to the same place"
        return self._by_running(change, {p: b for p, _, b in known})

    def _filled(self, place: int, old: Insn, new: Insn) -> bool:
        """Whether a nop that is not reached becomes another, or what the original has."""
        idle = self.base.program.target.is_nop
        listing = self.base.program.listing
        same = new == listing.insn(listing.index(place))
        return idle(old) and (idle(new) or same) and not self.ways.is_reached(place)

    def _leads_alike(self, place: int, old: Insn, new: Insn) -> bool:
        """The same transfer to another address from where control comes to the same."""
        one, other = old.target(place), new.target(place)
        if old.op is not new.op or old.placeless != new.placeless or one is None or other is None:
            return False
        if old.op.flow.calls:
            return False
        return self.ways.settled(one) == self.ways.settled(other)

    def _by_running(self, change: Change, other: Mapping[int, Insn]) -> str:
        first, last = min(other), max(other)
        if any(place in self.ways.heads for place in range(first + WORD, last + WORD, WORD)):
            return ""  # what is entered on the way is another thing
        if self._compared(first, last, other, dead=False):
            return "commuting" if change.kind == "swap" else "no effect"
        if self._compared(first, last, other, dead=True):
            return "dead"
        top = self.ways.straight_before(first)
        if top != first and self._compared(top, last, other, dead=True):
            return "equal in what is before"
        if self._compared(top, last, other, dead=True, through=True):
            return "equal in what follows"
        return ""

    def _compared(
        self, first: int, last: int, other: Mapping[int, Insn], dead: bool, through: bool = False
    ) -> bool:
        old = run(self.ways, first, {}, last, through)
        new = run(self.ways, first, other, last, through)
        return old is not None and new is not None and self._same(old, new, dead)

    def _same(self, old: Run, new: Run, dead: bool) -> bool:
        given: list[Any] = []
        mine, its = list(old.leaving), list(new.leaving)
        while mine and its:
            one, another = mine[0], its[0]
            if self._leaving(one, another, given, dead):
                given.append(z3.Not(one.condition))
                del mine[0], its[0]
            elif not _possible([*given, one.condition]):
                del mine[0]
            elif not _possible([*given, another.condition]):
                del its[0]
            else:
                return False
        return not any(_possible([*given, leaving.condition]) for leaving in (*mine, *its))

    def _leaving(self, old: Leaving, new: Leaving, given: Sequence[Any], dead: bool) -> bool:
        if (old.to is None) != (new.to is None) or not _equal(old.condition, new.condition, given):
            return False
        within = [*given, old.condition]
        if old.to is not None and new.to is not None:
            if self.ways.settled(old.to) != self.ways.settled(new.to):
                return False
        elif not _equal(old.target, new.target, within):
            return False
        mine, its = old.machine, new.machine
        if len(mine.seen) != len(its.seen) or not _equal(mine.memory, its.memory, within):
            return False
        for (name, values), (called, others) in zip(mine.seen, its.seen, strict=True):
            if name != called or len(values) != len(others):
                return False
            if not all(_equal(a, b, within) for a, b in zip(values, others, strict=True)):
                return False
        return all(
            (dead and self._is_dead(old, register)) or _equal(a, b, within)
            for register, a, b in _registers(old, new)
        ) and self._no_new_access(mine.accesses, its.accesses, within)

    def _is_dead(self, leaving: Leaving, register: int) -> bool:
        if leaving.to is not None:
            return not self.ways.may_read(leaving.to, register)
        unread = self.ways.lost if leaving.returns else self.ways.passed_by
        return bool(unread >> register & 1)

    def _no_new_access(
        self, old: Sequence[Access], new: Sequence[Access], given: Sequence[Any]
    ) -> bool:
        """Whether each access is within one of the old code's; stores are as many."""
        if sum(store for store, *_ in old) != sum(store for store, *_ in new):
            return False
        parts = not self.base.program.is_kernel
        return all(
            any(
                (size == was or (parts and size < was and not stores))
                and (was_store or not stores)
                and _within(its - address, was - size, given)
                for was_store, was, address in old
            )
            for stores, size, its in new
        )


Access = tuple[bool, int, Any]


def _within(distance: Any, room: int, given: Sequence[Any]) -> bool:
    distance = z3.simplify(distance)
    if z3.is_bv_value(distance):
        return bool(distance.as_long() <= room)
    return not _possible([*given, z3.UGT(distance, room)])


def _registers(old: Leaving, new: Leaving) -> Iterator[tuple[int, Any, Any]]:
    for register in old.registers.keys() | new.registers.keys():
        if register not in CONSTANTS:
            yield int(register), old.machine.get(register), new.machine.get(register)


def _equal(a: Any, b: Any, given: Sequence[Any]) -> bool:
    return (
        bool(a.eq(b))
        or bool(z3.simplify(a == b).eq(z3.BoolVal(True)))
        or not _possible([*given, a != b])
    )


def _possible(conditions: Sequence[Any]) -> bool:
    """Whether conditions may hold together; where that is not decided they may."""
    solver = z3.Solver()
    solver.set("rlimit", _EFFORT)
    solver.add(*conditions)
    return bool(solver.check() != z3.unsat)
