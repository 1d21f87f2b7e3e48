"""Whether the groups of a reordered region may stand, given those of the original.

What a processor leaves undefined is not allowed in the new code unless the same two instructions
stood so in the old.  Two instructions whose predicates are never both true do not clash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from rewriter.core.groups import Slot, groups
from rewriter.core.isa import Insn
from rewriter.core.transfer import Clash, Grouped, Transfer
from rewriter.verify.regions_run import Region
from rewriter.verify.regions_terms import Term, Terms

Pair = tuple[Enum, int, Insn, Insn]


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, at the slot at `at`."""

    at: int
    why: str


@dataclass
class Legality:
    """The rules of a target, with what they ask about each instruction at hand."""

    target: Grouped
    transfers: Callable[[Insn], Transfer]

    def clashes(self, group: Sequence[Slot]) -> Iterable[Clash]:
        """The pairs that must not share a group; the target is asked only where there may be."""
        written = 0
        for slot in group:
            transfer = self.transfers(slot.insn)
            if (transfer.uses | transfer.defs) & written or (
                transfer.exit is not None and not transfer.exit.certain
            ):
                return self.target.clashes([slot.insn for slot in group])
            written |= transfer.defs
        return ()

    def accepted(self, old: Region) -> set[Pair]:
        """The clashes that the original has."""
        found = set()
        for group in _whole(old):
            for clash in self.clashes(group):
                pair = group[clash.first].insn, group[clash.second].insn
                found.add((clash.hazard, clash.register, *pair))
        return found

    def faults(
        self, new: Region, accepted: set[Pair], terms: Terms, guards: Mapping[int, Term]
    ) -> Iterator[Fault]:
        """Clashes of the new code that the original did not have and that can happen."""
        for group in _whole(new):
            for clash in self.clashes(group):
                first, second = group[clash.first], group[clash.second]
                if (clash.hazard, clash.register, first.insn, second.insn) in accepted:
                    continue
                a, b = guards.get(first.address), guards.get(second.address)
                if clash.certain or a is None or b is None or not terms.exclusive(a, b):
                    name = self.target.register_names[clash.register]
                    yield Fault(
                        second.address,
                        f"{clash.hazard.value} of {name} within an instruction group",
                    )

    def misplaced(self, old: Region, new: Region) -> Iterator[Fault]:
        """Instructions that must not stand where they do, in the new code alone."""
        for slot, why in self.target.misshapen(new.slots):
            yield Fault(slot.address, why)
        same = {(slot.insn, why) for group in _whole(old) for slot, why in self._wrong(group)}
        for group in _whole(new):
            for slot, why in self._wrong(group):
                if (slot.insn, why) not in same:
                    yield Fault(slot.address, why)

    def _wrong(self, group: Sequence[Slot]) -> Iterable[tuple[Slot, str]]:
        return self.target.misplaced(group)


def _whole(region: Region) -> Iterator[tuple[Slot, ...]]:
    """The groups of a region, the first and the last with their slots outside of it."""
    inside = list(groups(region.slots))
    if region.before:
        inside[0] = (*region.before, *inside[0])
    if region.after and not inside[-1][-1].stop:
        inside[-1] = (*inside[-1], *region.after)
    return iter(inside)
