"""Accesses that may fault and go on elsewhere: new ones resume as the old ones that they stand for.

A kernel's exception table says of an access where control goes on when it faults (`Fixup`).  New
code may do with one access what took several: each old access with an entry must have a new one
with an entry, to the same cell, before which all that may be read after the fault is the same;
each new access must stand for old ones so, and one without an entry for old ones without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewriter.core.code.dataflow import Run
from rewriter.core.code.program import Fixup
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.protocol import Sequential
from rewriter.core.terms.term import Term
from rewriter.verify.walk.equivalence import Comparison, Different
from rewriter.verify.walk.stack import address_at

READABLE = "a page that can be written can be read"
"""Assumed where a store stands for a load and a store: its faults are then those of both."""


@dataclass(frozen=True)
class Access:
    """A load or a store of a run; `places` say what it touches, `fixup` where it resumes."""

    slot: int
    places: tuple[Term, ...]
    stores: bool
    fixup: Fixup | None


def access_slots(insns: Sequence[Insn], target: Sequential) -> list[int]:
    """The slots of loads and stores."""
    return [slot for slot, insn in enumerate(insns) if target.table.accesses(insn)]


def accesses(
    run: Run, insns: Sequence[Insn], fixups: Mapping[int, Fixup], target: Sequential
) -> list[Access]:
    """The accesses of a run that has the state before each of them."""
    found = []
    for slot in access_slots(insns, target):
        state, insn = run.exits[slot - 1], insns[slot]
        address = address_at(state.get, insn, run.addresses[slot], target, state.terms)
        effects = target.table.effects(insn.op)
        places = state.places(address, effects.size)
        found.append(Access(slot, places, effects.stores, fixups.get(slot)))
    return found


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
            if other.fixup.sets == access.fixup.sets and self._same(access, other):
                self.pairs.append((access, other))
                return other
        raise Different(f"no access resumes as that at {access.fixup.access:#x}")

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
        try:
            self.comparison.same_places(old.places, new.places)
        except Different:
            return False
        return True


def numbered(
    insns: Sequence[Insn], fixups: Mapping[int, Fixup], target: Sequential
) -> Iterator[object]:
    """For each access with an entry, how many instructions stand before it, and what is set."""
    count = 0
    for slot, insn in enumerate(insns):
        if slot in fixups:
            yield count, fixups[slot].sets
        count += not target.is_nop(insn)
