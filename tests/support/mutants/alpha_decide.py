"""Why a change to Alpha code does nothing wrong, decided without the verifier.

Changes are looked at alone and then in the straight code around them, run on unknowns by the
table's meanings, with Z3 for what is not plainly the same.  What is not shown is not explained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import z3

from rewriter.core.isa.instruction import Flow, Insn
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import CONSTANTS
from tests.support.mutants.alpha_copies import Copies, copied
from tests.support.mutants.alpha_run import Leaving, Run, run
from tests.support.mutants.alpha_ways import Ways
from tests.support.mutants.changes import Change
from tests.support.mutants.plain_base import WORD, PlainBase

_EFFORT = 3_000_000
_STEERING = (Flow.CALL, Flow.INDIRECT_CALL, Flow.INDIRECT, Flow.RETURN, Flow.JUMP, Flow.BRANCH)


class Decider:
    """Decides for one base."""

    def __init__(self, base: PlainBase) -> None:
        self.base, self.ways = base, Ways(base)
        self.copies = Copies(self.ways)

    def reason(self, change: Change) -> str:
        """The equivalence that holds; nothing where none is found."""
        words = [change.code[n : n + WORD] for n in range(0, len(change.code), WORD)]
        new = [TABLE.decode(int.from_bytes(word, "little")) for word in words]
        places = [change.address + WORD * n for n in range(len(words))]
        old = [self.base.insn(place) for place in places]
        pairs = [(p, a, b) for p, a, b in zip(places, old, new, strict=True) if a != b]
        if not pairs:
            return "same instruction"
        if any(a is None or b is None for _, a, b in pairs):
            return ""
        known = [(p, a, b) for p, a, b in pairs if a is not None and b is not None]
        if all(_without_hint(a) == _without_hint(b) for _, a, b in known):
            return "hint of a jump"
        if all(self._filled(p, a, b) for p, a, b in known):
            return "nop not reached"
        if all(self._leads_alike(p, a, b) for p, a, b in known):
            return "leads to the same place"
        if all(self._is_there(p, a, b) for p, a, b in known):
            return "copied before"
        return self._by_running(change, {p: b for p, _, b in known})

    def _filled(self, place: int, old: Insn, new: Insn) -> bool:
        """Whether nop that is not reached becomes other nop, or what the original has."""
        idle = self.base.program.target.is_nop
        same = new == self.base.program.listing.insn(self.base.program.listing.index(place))
        return idle(old) and (idle(new) or same) and not self.ways.is_reached(place)

    def _is_there(self, place: int, old: Insn, new: Insn) -> bool:
        """Whether a move that goes found in its result what it moves, on all ways."""
        pair = copied(old)
        nop = self.base.program.target.is_nop(new)
        return pair is not None and nop and self.copies.hold(place, frozenset(pair))

    def _leads_alike(self, place: int, old: Insn, new: Insn) -> bool:
        """The same transfer to another address from where control comes to the same."""
        one, other = old.target(place), new.target(place)
        if old.op is not new.op or old.placeless != new.placeless or one is None or other is None:
            return False
        if old.op.flow is Flow.CALL:
            return False
        return self.ways.settled(one, {}) == self.ways.settled(other, {})

    def _by_running(self, change: Change, other: Mapping[int, Insn]) -> str:
        first, last = min(other), max(other)
        alone = self._compared(first, last, other, dead=False)
        if alone:
            return "commuting" if change.kind == "swap" else "no effect"
        if self._compared(first, last, other, dead=True):
            return "dead"
        top = self.ways.straight_before(first)
        if top != first and self._compared(top, last, other, dead=True):
            return "equal in what is before"
        return ""

    def _compared(self, first: int, last: int, other: Mapping[int, Insn], dead: bool) -> bool:
        old, new = run(self.ways, first, {}, last), run(self.ways, first, other, last)
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
        rest = [leaving for leaving in (*mine, *its) if _possible([*given, leaving.condition])]
        return not rest

    def _leaving(self, old: Leaving, new: Leaving, given: Sequence[Any], dead: bool) -> bool:
        if old.settled != new.settled:
            return False
        within = [*given, *_aligned(old.accesses)]
        if not _equal(old.condition, new.condition, within):
            return False
        within.append(old.condition)
        if len(old.seen) != len(new.seen) or not _equal(old.memory, new.memory, within):
            return False
        for (name, values), (other, others) in zip(old.seen, new.seen, strict=True):
            if name != other or len(values) != len(others):
                return False
            if not all(_equal(a, b, within) for a, b in zip(values, others, strict=True)):
                return False
        return all(
            (dead and not self.ways.may_read(old.to, register)) or _equal(a, b, within)
            for register, a, b in _registers(old, new)
        ) and self._no_new_access(old.accesses, new.accesses, within)

    def _no_new_access(
        self, old: Sequence[Access], new: Sequence[Access], given: Sequence[Any]
    ) -> bool:
        """Whether each access is one of the old code's; stores are as many.

        A load may be of a part of what was loaded, but not where devices may be accessed.
        """
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


def _aligned(accesses: Sequence[Access]) -> list[Any]:
    """What an access that did not trap says of its address."""
    return [address & size - 1 == 0 for _, size, address in accesses if size > 1]


def _within(distance: Any, room: int, given: Sequence[Any]) -> bool:
    distance = z3.simplify(distance)
    if z3.is_bv_value(distance):
        return bool(distance.as_long() <= room)
    return not _possible([*given, z3.UGT(distance, room)])


def _without_hint(insn: Insn) -> Insn:
    return insn.replace(hint=0) if insn.has("hint") else insn


def _registers(old: Leaving, new: Leaving) -> Iterator[tuple[int, Any, Any]]:
    for register in old.registers.keys() | new.registers.keys():
        if register not in CONSTANTS:
            unknown = z3.BitVec(f"r{int(register)}", 64)
            pair = (one.registers.get(register, unknown) for one in (old, new))
            yield int(register), *pair


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
