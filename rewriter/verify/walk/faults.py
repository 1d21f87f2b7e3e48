"""Accesses that may fault and go on elsewhere: new ones resume as the old ones that they stand for.

A kernel's exception table says of an access where control goes on when it faults (`Fixup`).  New
code may do with one access what took several: each old access with an entry must have a new one
with an entry, to the same cell, before which all that may be read after the fault is the same;
each new access must stand for old ones so, and one without an entry for old ones without.

Traps, barriers, cache instructions and nops have entries too, for traps that report and go on, and
for machine checks of an access before them.  Each is the same instruction in the new code, of the
same operands, and resumes as it did.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewriter.core.code.dataflow import Run
from rewriter.core.code.program import Fixup
from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.target.protocol import Sequential
from rewriter.core.terms.term import Term
from rewriter.verify.walk.equivalence import Comparison, Different
from rewriter.verify.walk.stack import address_at

READABLE = "a page that can be written can be read"
"""Assumed where a store stands for a load and a store: its faults are then those of both."""


@dataclass(frozen=True)
class Access:
    """A load or a store of a run; `places` say what it touches, `fixup` where it resumes.

    What else has an entry is `itself`, its row and constants, and its `places` are what it reads.
    """

    slot: int
    places: tuple[Term, ...]
    stores: bool
    fixup: Fixup | None
    itself: tuple[Op, tuple[int, ...]] | None = None


def access_slots(
    insns: Sequence[Insn], fixups: Mapping[int, Fixup], target: Sequential
) -> list[int]:
    """The slots of loads and stores, and of what else has an entry."""
    table = target.table
    return [slot for slot, insn in enumerate(insns) if slot in fixups or table.accesses(insn)]


def accesses(
    run: Run, insns: Sequence[Insn], fixups: Mapping[int, Fixup], target: Sequential
) -> list[Access]:
    """The accesses of a run that has the state before each of them."""
    found = []
    for slot in access_slots(insns, fixups, target):
        state, insn = run.exits[slot - 1], insns[slot]
        if not target.table.accesses(insn):
            read = tuple(run.operand[slot])
            found.append(Access(slot, read, False, fixups[slot], _itself(insn)))
            continue
        address = address_at(state.get, insn, run.addresses[slot], target, state.terms)
        places = state.places(address, target.table.accessed(insn))
        stores = target.table.effects(insn.op).stores
        found.append(Access(slot, places, stores, fixups.get(slot)))
    return found


def _itself(insn: Insn) -> tuple[Op, tuple[int, ...]]:
    """An instruction's row, and its operands that are no registers."""
    operands = zip(insn.op.format.operands, insn.operands, strict=True)
    return insn.op, tuple(value for operand, value in operands if operand.kind is not Kind.REGISTER)


@dataclass
class Matching:
    """Which new access each old one with an entry is; `pairs` grows as old ones are matched."""

    comparison: Comparison
    old: Sequence[Access]
    new: Sequence[Access]

    def __post_init__(self) -> None:
        self.pairs: list[tuple[Access, Access]] = []

    def match(self, access: Access) -> Access:
        """The new access with an entry that an old one with an entry became; raises Different."""
        assert access.fixup is not None
        reached = self.pairs[-1][1].slot if self.pairs else -1
        for other in self.new:
            if other.fixup is None or other.slot < reached:
                continue
            if other.itself is not None and other.slot == reached:
                continue  # it is itself alone
            if other.fixup.sets == access.fixup.sets and self._same(access, other):
                self.pairs.append((access, other))
                return other
        raise Different(f"nothing resumes as what is at {access.fixup.access:#x}")

    def finish(self) -> tuple[str, ...]:
        """Looks at what was not matched; preconditions that the matches rest on."""
        for other in self.new:
            stood_for = [a for a, b in self.pairs if b is other]
            if other.fixup is None:
                stood_for = [a for a in self.old if a.fixup is None and self._same(a, other)]
            if not any(a.stores or not other.stores for a in stood_for):
                raise Different("an access faults otherwise")
        weaker = any(b.stores and not a.stores for a, b in self.pairs)
        lost = any(a.stores and not b.stores for a, b in self.pairs)
        if lost:
            raise Different("a store that may fault became a load")
        return (READABLE,) if weaker else ()

    def _same(self, old: Access, new: Access) -> bool:
        if old.itself != new.itself:
            return False
        try:
            self.comparison.same_places(old.places, new.places)
        except Different:
            return False
        return True


def numbered(proper: Sequence[int], fixups: Mapping[int, Fixup]) -> Iterator[object]:
    """For each entry, how many instructions that are no nops stand before what it names, whether
    that is one of these, and what is set.  `proper` are their slots."""
    for slot in sorted(fixups):
        count = bisect_left(proper, slot)
        yield count, slot in proper[count : count + 1], fixups[slot].sets
