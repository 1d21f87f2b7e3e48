"""Why a change to plain code does nothing wrong, decided without the verifier.

Changes are looked at alone and then in the straight code around them, run on unknowns by the
table's meanings, with Z3 for what is not plainly the same.  What is not shown is not explained.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from rewriter.core.isa.instruction import Flow, Insn
from tests.support.mutants.changes import Change
from tests.support.mutants.plain_base import WORD, PlainBase
from tests.support.mutants.plain_copies import Copies
from tests.support.mutants.plain_run import Leaving, Run
from tests.support.mutants.plain_ways import PlainWays

Access = tuple[bool, int, Any]
"""Whether it is a store, how many bytes, where."""

Changed = Sequence[tuple[int, Insn, Insn]]
"""An address, what stood there, and what stands there now."""


@dataclass(frozen=True)
class Solver:
    """Answers within so much effort, by Z3's own measure."""

    effort: int

    def possible(self, conditions: Sequence[Any]) -> bool:
        """Whether conditions may hold together; where that is not decided they may."""
        solver = z3.Solver()
        solver.set("rlimit", self.effort)
        solver.add(*conditions)
        return bool(solver.check() != z3.unsat)

    def equal(self, a: Any, b: Any, given: Sequence[Any]) -> bool:
        """Whether two values are one, under conditions."""
        return (
            bool(a.eq(b))
            or bool(z3.simplify(a == b).eq(z3.BoolVal(True)))
            or not self.possible([*given, a != b])
        )

    def within(self, distance: Any, room: int, given: Sequence[Any]) -> bool:
        """Whether a distance is at most so many bytes."""
        distance = z3.simplify(distance)
        if z3.is_bv_value(distance):
            return bool(distance.as_long() <= room)
        return not self.possible([*given, z3.UGT(distance, room)])


class PlainDecider(ABC):
    """Decides for one base; what a machine's code is like its own kind says."""

    def __init__(self, base: PlainBase, ways: PlainWays, copies: Copies, effort: int) -> None:
        self.base, self.ways, self._solver = base, ways, Solver(effort)
        self._copies = copies

    @abstractmethod
    def run(self, first: int, other: Mapping[int, Insn], last: int) -> Run | None:
        """Straight code from `first` at least to `last`, with some instructions replaced.

        None where `last` is not reached so.
        """

    @abstractmethod
    def is_dead(self, leaving: Leaving, register: int) -> bool:
        """Whether nothing may read what is in a register where control leaves."""

    def splits(self, address: Any) -> bool:
        """Whether a load of an address may become one of a part: not where devices may be."""
        return not self.base.program.is_kernel

    def granted(self, accesses: Sequence[Access]) -> list[Any]:
        """What accesses that did not trap say of their addresses."""
        return []

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
        known = [(p, a, b) for p, a, b in pairs if a is not None and b is not None]
        if len(known) < len(pairs):
            return ""
        alone = self.each_alone(known)
        if alone:
            return alone
        other = {place: insn for place, _, insn in known}
        first, last = min(other), max(other)
        if self.ways.is_entered(first, last):
            return ""  # what is entered on the way is another thing
        return self.by_running(change, first, other, last)

    def each_alone(self, known: Changed) -> str:
        """The equivalence that holds of each instruction by itself."""
        if all(self._filled(*one) for one in known):
            return "nop not reached"
        if all(self._leads_alike(*one) for one in known):
            return "leads to the same place"
        if all(self._is_there(*one) for one in known):
            return "copied before"
        return ""

    def _is_there(self, place: int, old: Insn, new: Insn) -> bool:
        """Whether a move that goes found in its result what it moves, on all ways."""
        pair = self._copies.moved(old)
        nop = self.base.program.target.is_nop(new)
        return pair is not None and nop and self._copies.hold(place, frozenset(pair))

    def _filled(self, place: int, old: Insn, new: Insn) -> bool:
        """Whether a nop that is not reached becomes another, or what the original has."""
        idle = self.base.program.target.is_nop
        listing = self.base.program.listing
        same = new == listing.insn(listing.index(place))
        return idle(old) and (idle(new) or same) and not self.ways.is_reached(place)

    def _leads_alike(self, place: int, old: Insn, new: Insn) -> bool:
        """The same transfer to another address from where control comes to the same, or a branch
        that leads where control goes on without it, before and after."""
        if self._leads_on(place, old) and self._leads_on(place, new):
            return True
        one, other = old.target(place), new.target(place)
        if old.op is not new.op or old.placeless != new.placeless or one is None or other is None:
            return False
        if old.op.flow.calls:
            return False
        return self.ways.settled(one) == self.ways.settled(other)

    def _leads_on(self, place: int, insn: Insn) -> bool:
        """Whether a branch that writes nothing leads where control goes on without it, too."""
        target = insn.target(place)
        if insn.op.flow is not Flow.BRANCH or target is None:
            return False
        writes = self.base.program.target.table.defs(insn)
        return not writes and self.ways.settled(target) == self.ways.settled(place + WORD)

    def by_running(self, change: Change, first: int, other: Mapping[int, Insn], last: int) -> str:
        """The equivalence that holds of the code that changed, or with what is before it."""
        old, new = self.run(first, {}, last), self.run(first, other, last)
        if self.same(old, new, dead=False):
            return "commuting" if change.kind == "swap" else "no effect"
        if self.same(old, new, dead=True):
            return "dead"
        top = self.ways.straight_before(first)
        if top == first:
            return ""
        old, new = self.run(top, {}, last), self.run(top, other, last)
        return "equal in what is before" if self.same(old, new, dead=True) else ""

    def same(self, old: Run | None, new: Run | None, dead: bool) -> bool:
        """Whether control leaves alike, with the same but for registers that are `dead`."""
        if old is None or new is None:
            return False
        given: list[Any] = []
        mine, its = list(old), list(new)
        while mine and its:
            one, another = mine[0], its[0]
            if self._leaving(one, another, given, dead):
                given.append(z3.Not(one.condition))
                del mine[0], its[0]
            elif not self._solver.possible([*given, one.condition]):
                del mine[0]
            elif not self._solver.possible([*given, another.condition]):
                del its[0]
            else:
                return False
        rest = (leaving.condition for leaving in (*mine, *its))
        return not any(self._solver.possible([*given, one]) for one in rest)

    def _leaving(self, old: Leaving, new: Leaving, given: Sequence[Any], dead: bool) -> bool:
        equal, mine, its = self._solver.equal, old.machine, new.machine
        within = [*given, *self.granted(mine.accesses)]
        if old.settled != new.settled or not equal(old.condition, new.condition, within):
            return False
        within.append(old.condition)
        if old.settled is None and not equal(old.target, new.target, within):
            return False
        if len(mine.seen) != len(its.seen) or not equal(mine.memory, its.memory, within):
            return False
        for (name, values), (called, others) in zip(mine.seen, its.seen, strict=True):
            if name != called or len(values) != len(others):
                return False
            if not all(equal(a, b, within) for a, b in zip(values, others, strict=True)):
                return False
        return all(
            (dead and self.is_dead(old, register)) or equal(a, b, within)
            for register, a, b in _registers(old, new)
        ) and self._no_new_access(mine.accesses, its.accesses, within)

    def _no_new_access(
        self, old: Sequence[Access], new: Sequence[Access], given: Sequence[Any]
    ) -> bool:
        """Whether each access is one of the old code's; stores are as many.

        A load may be of a part of what was loaded where loads may be split.
        """
        if sum(store for store, *_ in old) != sum(store for store, *_ in new):
            return False
        return all(
            any(
                (size == was or (size < was and not stores and self.splits(address)))
                and (was_store or not stores)
                and self._solver.within(its - address, was - size, given)
                for was_store, was, address in old
            )
            for stores, size, its in new
        )


def _registers(old: Leaving, new: Leaving) -> Iterator[tuple[int, Any, Any]]:
    for register in old.machine.registers.keys() | new.machine.registers.keys():
        yield int(register), old.machine.get(register), new.machine.get(register)
