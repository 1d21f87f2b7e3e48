"""The best order of a straight region, with a bound that no order can beat.

The bound is that of the exact scheduler with registers for any number of values.  Then it is asked
for cycles, from the bound upwards, that need no more registers than there are and come to no exit
later than the region as it is.  What it finds is made into bundles; instructions that do not issue
together after all are kept apart the next time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from passes.scheduling.bundled import Outcome, counted, later, part_of, reached, schedule
from passes.scheduling.bundled_exact import EFFORT, least, within
from passes.scheduling.renaming import Values
from rewriter.core import plural
from rewriter.core.code.groups import Slot
from rewriter.core.code.ordering import Exact
from rewriter.core.code.scheduling import Arranged, Part
from rewriter.core.code.superblock import Superblock

_QUESTIONS = 16  # about one region, at most


@dataclass(frozen=True, slots=True)
class Proved:
    """An order and its modelled cycles; none takes fewer than `least`."""

    outcome: Outcome
    cycles: int
    least: int

    def __str__(self) -> str:
        if self.cycles == self.least:
            return f"{plural.counted(self.cycles, 'cycle')}, proved optimal"
        return f"between {self.least} and {self.cycles} cycles"


def prove(region: Superblock, target: Exact, effort: float = EFFORT) -> Proved:
    """The region in as few cycles as are found, and the bound.

    MustStay if an instruction of it must stay where it is.
    """
    outcome = schedule(region, target)
    best = Proved(outcome, target.cycles(outcome.slots), 0)
    part, values = part_of(region, target)
    bound = least(part, target, best.cycles, effort)
    best = replace(best, least=min(bound.least, best.cycles))
    if bound.cycles is None:
        return best
    apart: list[tuple[int, ...]] = []
    latest, most = _latest(part, region, target), best.least
    for _ in range(_QUESTIONS):
        if most >= best.cycles:
            break
        cycles = within(part, target, most, bound.cycles, apart, latest, effort)
        found = target.in_cycles(part, cycles) if cycles is not None else None
        if isinstance(found, list):
            apart += found
            continue
        most += 1
        if found is not None:
            best = _better(best, _settled(part, values, found), region, target)
    return best


def _latest(part: Part, region: Superblock, target: Exact) -> dict[int, int]:
    """The cycle in which each exit issues at the latest, so that control comes to none later."""
    cycles = reached(region, target)
    numbers = {slot.address: number for number, slot in enumerate(part.slots)}
    return {numbers[address]: count - 1 for address, count in cycles.items()}


Code = tuple[tuple[Slot, ...], tuple[int | None, ...]]


def _settled(part: Part, values: Values, found: Arranged) -> Code | None:
    slots = values.settled(found.slots, found.origins)
    if slots is None:
        return None
    addresses = [slot.address for slot in part.slots]
    return slots, tuple(addresses[n] if n >= 0 else None for n in found.origins)


def _better(best: Proved, code: Code | None, region: Superblock, target: Exact) -> Proved:
    if code is None or counted(code[0], target) > counted(region.slots, target):
        return best
    before, cycles = target.cycles(region.slots), target.cycles(code[0])
    outcome = Outcome(_retargeted(code, target), code[1], cycles=(before, cycles))
    if cycles >= best.cycles or later(region, outcome, target):
        return best
    return Proved(outcome, cycles, best.least)


def _retargeted(code: Code, target: Exact) -> tuple[Slot, ...]:
    """Instructions with the targets that they had where they stood."""
    made = []
    for slot, origin in zip(*code, strict=True):
        insn = slot.insn
        if origin is not None:
            distance = slot.address // target.bundle - origin // target.bundle
            insn = target.moved(insn, distance * target.bundle)
        made.append(Slot(slot.address, insn, slot.stop))
    return tuple(made)
