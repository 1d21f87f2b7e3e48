"""The best order of a straight region, with a bound that no order can beat.

The bound is that of the exact scheduler with registers for any number of values.  Then it is asked
for cycles within the bound that need no more registers than there are, and what it finds is made
into bundles; instructions that do not issue together after all are kept apart the next time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from passes.grouped import Outcome, Region, Target, counted, part_of, schedule
from passes.grouped_exact import EFFORT, Limits, least, within
from passes.grouped_rename import Values
from rewriter.core.groups import Slot
from rewriter.core.regions import Arranged, Part

_QUESTIONS = 16  # about one region, at most


class Exact(Target, Limits, Protocol):
    """A target that places each instruction in a given cycle, too."""

    def in_cycles(self, part: Part, cycles: Sequence[int]) -> Arranged | list[tuple[int, ...]]:
        """The arrangement with a group for each cycle; or sets of instructions that do not go
        together."""
        ...


@dataclass(frozen=True, slots=True)
class Proved:
    """An order and its modelled cycles; none takes fewer than `least`."""

    outcome: Outcome
    cycles: int
    least: int

    def __str__(self) -> str:
        if self.cycles == self.least:
            return f"{self.cycles} cycles, proved optimal"
        return f"between {self.least} and {self.cycles} cycles"


def prove(region: Region, target: Exact, effort: float = EFFORT) -> Proved:
    """The region in as few cycles as are found, and the bound.

    ValueError if an instruction of it must stay where it is.
    """
    outcome = schedule(region, target)
    best = Proved(outcome, target.cycles(outcome.slots), 0)
    part, values = part_of(region, target)
    bound = least(part, target, best.cycles, effort)
    best = replace(best, least=min(bound.least, best.cycles))
    if bound.cycles is not None and best.least < best.cycles:
        for slots, origins in _found(part, values, target, best, bound.cycles, effort):
            cycles = target.cycles(slots)
            if cycles < best.cycles and counted(slots, target) <= counted(region.slots, target):
                best = Proved(Outcome(slots, origins), cycles, best.least)
            if cycles == best.least:
                break
    return best


def _found(
    part: Part, values: Values, target: Exact, known: Proved, near: Sequence[int], effort: float
) -> Iterator[tuple[tuple[Slot, ...], tuple[int | None, ...]]]:
    """Codes within the bound, or within a bound further up when there are none."""
    apart: list[tuple[int, ...]] = []
    most = known.least
    for _ in range(_QUESTIONS):
        if most >= known.cycles:
            return
        cycles = within(part, target, most, near, apart, effort)
        if cycles is None:
            most += 1
            continue
        near, found = cycles, target.in_cycles(part, cycles)
        if not isinstance(found, Arranged):
            apart += found
            continue
        settled = values.settled(found.slots, found.origins)
        if settled is not None:
            addresses = [slot.address for slot in part.slots]
            yield settled, tuple(addresses[n] if n >= 0 else None for n in found.origins)
        most += 1
