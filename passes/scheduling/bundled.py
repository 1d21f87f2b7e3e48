"""Schedule straight regions of a machine whose code says its groups: fewer cycles, fewer nops.

A region keeps its instructions and gets a new order, new groups and as few bundles as a search
finds.  It stays as it is where nothing better is found, and never gets more bundles.  A bundle
with an instruction that must stay is copied, and what is before it stays before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from passes.scheduling.exits import edges
from passes.scheduling.renaming import Values
from rewriter.core.code.groups import Slot, groups
from rewriter.core.code.ordering import Scheduling
from rewriter.core.code.scheduling import Arranged, Edge, Part
from rewriter.core.code.superblock import Exits, Superblock


@dataclass(frozen=True, slots=True)
class Outcome:
    """A region as it is now: `origins` has the old address of each slot, None for a new nop.

    `reason` says why it is unchanged and is empty where it is not.  `cycles` are those modelled
    before and now, where it changed.
    """

    slots: tuple[Slot, ...]
    origins: tuple[int | None, ...]
    reason: str = ""
    cycles: tuple[int, int] = (0, 0)


def schedule(region: Superblock, target: Scheduling) -> Outcome:
    """The region in fewer cycles, or in fewer bundles and as many cycles; or as it was.

    With exits it is tried as a whole, and again with a cut behind each exit that control would
    come to later than before, in the end in parts between all of them.
    """
    cut: set[int] = set()
    while True:
        exits = {at: read for at, read in region.exits.items() if at not in cut}
        ends = sorted({(at // target.bundle + 1) * target.bundle for at in cut})
        found = _scheduled(replace(region, exits=exits, cuts=tuple(ends)), target)
        late = region.exits.keys() if found.reason else later(region, found, target)
        if not late - cut:
            return found
        cut |= late


def later(region: Superblock, outcome: Outcome, target: Scheduling) -> set[int]:
    """The exits, by address, to which control comes in more cycles than before."""
    new = {was: n for n, was in enumerate(outcome.origins) if was is not None}
    return {
        at
        for at, cycles in reached(region, target).items()
        if target.cycles(_through(outcome.slots, new[at], target)) > cycles
    }


def reached(region: Superblock, target: Scheduling) -> dict[int, int]:
    """In how many cycles control comes through each of the exits, by its address."""
    return {
        slot.address: target.cycles(_through(region.slots, number, target))
        for number, slot in enumerate(region.slots)
        if slot.address in region.exits
    }


def _through(slots: Sequence[Slot], number: int, target: Scheduling) -> Sequence[Slot]:
    """The slots up to the end of the bundle that one is in."""
    bundle = slots[number].address // target.bundle
    return [slot for slot in slots if slot.address // target.bundle <= bundle]


def _scheduled(region: Superblock, target: Scheduling) -> Outcome:
    slots, origins = _rescheduled(region, target)
    same = tuple(slot.address for slot in region.slots)
    if origins == same:
        return Outcome(region.slots, same, "nothing better found")
    old, new = counted(region.slots, target), counted(slots, target)
    before, after = target.cycles(region.slots), target.cycles(slots)
    if new > old or after > before:
        more = "bundles" if new > old else "cycles"
        return Outcome(region.slots, same, f"the best order found takes more {more}")
    return Outcome(slots, origins, cycles=(before, after))


def _rescheduled(
    region: Superblock, target: Scheduling
) -> tuple[tuple[Slot, ...], tuple[int | None, ...]]:
    """All parts, one behind the other, each at the address that it has then."""
    made: list[Slot] = []
    origins: list[int | None] = []
    address = region.slots[0].address // target.bundle * target.bundle
    for is_fixed, slots, joined in _parts(region, target):
        live = region.live if slots[-1] is region.slots[-1] else -1
        found = None if is_fixed else _arranged(slots, joined, (live, region.exits), target)
        shift = address - slots[0].address // target.bundle * target.bundle
        if found is None and not shift:
            made += slots
            origins += [slot.address for slot in slots]
        else:
            found = found or Arranged(slots, tuple(range(len(slots))))
            for slot, origin in _shifted(slots, found, shift, target):
                made.append(slot)
                origins.append(origin)
        address = (made[-1].address // target.bundle + 1) * target.bundle
    return tuple(made), tuple(origins)


def _shifted(
    slots: Sequence[Slot], found: Arranged, shift: int, target: Scheduling
) -> Iterator[tuple[Slot, int | None]]:
    """The slots of an arrangement so much further on, each with its old address."""
    for slot, origin in zip(found.slots, found.origins, strict=True):
        here, insn, was = slot.address + shift, slot.insn, None
        if origin >= 0:
            was = slots[origin].address
            distance = here // target.bundle - was // target.bundle
            insn = target.moved(insn, distance * target.bundle)
        yield Slot(here, insn, slot.stop), was


def _parts(region: Superblock, target: Scheduling) -> Iterator[tuple[bool, tuple[Slot, ...], bool]]:
    """Runs of bundles that may change, and bundles that may not; whether a group is open there."""
    joined = region.joined
    held = region.cuts or region.fixed
    if not held and not any(target.facts(slot.insn).is_fixed for slot in region.slots):
        yield False, region.slots, joined
        return
    for (is_fixed, _), run in groupby(
        _bundles(region.slots, target), partial(_kind, region, target)
    ):
        slots = tuple(slot for bundle in run for slot in bundle)
        yield is_fixed, slots, joined
        joined = not slots[-1].stop


def _bundles(slots: Sequence[Slot], target: Scheduling) -> Iterator[tuple[Slot, ...]]:
    for _, bundle in groupby(slots, lambda slot: slot.address // target.bundle):
        yield tuple(bundle)


def _kind(region: Superblock, target: Scheduling, bundle: Sequence[Slot]) -> tuple[bool, int]:
    """Whether a bundle must stay as it is, and how many cuts are before it."""
    is_fixed = any(
        slot.address in region.fixed or target.facts(slot.insn).is_fixed for slot in bundle
    )
    return is_fixed, bisect_right(region.cuts, bundle[0].address)


def _arranged(
    slots: tuple[Slot, ...], joined: bool, read: tuple[int, Exits], target: Scheduling
) -> Arranged | None:
    """A run of bundles in a new order, with other registers where that helps and can be."""
    facts = [target.facts(slot.insn) for slot in slots]
    numbers = [n for n, each in enumerate(facts) if not each.is_nop]
    if not numbers:
        return None
    part, values = _with_values(slots, numbers, joined, read, target)
    if values.is_crowded:
        found = _settled(part, values, target)
        if found is None:
            kept = values.spread() or part.slots
            plain = [target.facts(slot.insn) for slot in kept]
            before = tuple(edges(kept, target, plain, {}, read[1]))
            found = target.arrange(replace(part, slots=kept, before=before, values=()))
    else:
        found = target.arrange(part)
    if found is None:
        return None
    return Arranged(found.slots, tuple(numbers[n] if n >= 0 else -1 for n in found.origins))


class MustStay(ValueError):
    """Some of a region keeps its place, so that it is no problem for a solver."""


def part_of(region: Superblock, target: Scheduling) -> tuple[Part, Values]:
    """A whole region, to be arranged, and its values, of which as many may live at a time as there
    are registers; raises MustStay."""
    parts = list(_parts(region, target))
    if len(parts) > 1 or parts[0][0]:
        raise MustStay(f"{region.slots[0].address:#x}: some of the region must stay as it is")
    numbers = [n for n, s in enumerate(region.slots) if not target.facts(s.insn).is_nop]
    read = region.live, region.exits
    part, values = _with_values(region.slots, numbers, region.joined, read, target)
    return replace(part, values=values.spans, most=values.room, pinned=values.pinned), values


def _with_values(
    slots: tuple[Slot, ...],
    numbers: Sequence[int],
    joined: bool,
    read: tuple[int, Exits],
    target: Scheduling,
) -> tuple[Part, Values]:
    """A run of bundles, without nops, with its values told apart where that may help.

    `read` are the registers that may be read behind it, and those at its exits.
    """
    kept = _without(slots, set(numbers))
    live, exits = read
    values = Values(kept, live, target, exits)
    facts, stands = values.apart() if values.is_crowded else (values.facts, {})
    before = edges(kept, target, facts, stands, exits)
    return _part(slots, numbers, joined, before), values


def _without(slots: Sequence[Slot], numbers: Container[int]) -> tuple[Slot, ...]:
    """The slots with these numbers; a stop behind another one ends the group of those before."""
    kept: list[Slot] = []
    for number, slot in enumerate(slots):
        if number in numbers:
            kept.append(slot)
        elif slot.stop and kept:
            kept[-1] = Slot(kept[-1].address, kept[-1].insn, True)
    return tuple(kept)


_LEAST = 4  # values at a time, below which a search is not worth while


def _settled(part: Part, values: Values, target: Scheduling) -> Arranged | None:
    """An arrangement for which there are registers enough; if need be with fewer values at a time:
    half as many until it has them, then as many more as it still has them with."""
    best, fits = _tried(part, values, target)
    most = too_many = values.room
    while not fits and most >= _LEAST:
        best, fits = _tried(replace(part, values=values.spans, most=most), values, target)
        if not fits:
            too_many, most = most, most // 2
    while best is not None and too_many - most > 1 + most // 8:
        between = (most + too_many) // 2
        found, fits = _tried(replace(part, values=values.spans, most=between), values, target)
        if fits:
            most = between
            if found is not None and _cost(found, target) < _cost(best, target):
                best = found
        else:
            too_many = between
    return best


def _cost(found: Arranged, target: Scheduling) -> tuple[int, int]:
    """Modelled cycles and bundles."""
    return target.cycles(found.slots), counted(found.slots, target)


def _tried(part: Part, values: Values, target: Scheduling) -> tuple[Arranged | None, bool]:
    """An arrangement with its registers, if a better one is found, and whether there are enough."""
    found = target.arrange(part)
    if found is None:
        return None, True
    settled = values.settled(found.slots, found.origins)
    return (replace(found, slots=settled), True) if settled else (None, False)


def _part(
    slots: tuple[Slot, ...],
    numbers: Sequence[int],
    joined: bool,
    before: Sequence[tuple[Edge, ...]],
) -> Part:
    every = list(groups(slots))
    first = {slot.address for slot in (every[0] if joined else slots)}
    last = {slot.address for slot in every[-1]} if not slots[-1].stop else set()
    return Part(
        tuple(slots[n] for n in numbers),
        tuple(before),
        frozenset(at for at, n in enumerate(numbers) if slots[n].address in first),
        frozenset(at for at, n in enumerate(numbers) if slots[n].address in last),
        Arranged(slots, tuple(_places(len(slots), numbers))),
    )


def _places(count: int, numbers: Sequence[int]) -> Iterator[int]:
    """For each of the slots its number among those of `numbers`, -1 for the others."""
    place = {number: at for at, number in enumerate(numbers)}
    return (place.get(number, -1) for number in range(count))


def counted(slots: Sequence[Slot], target: Scheduling) -> int:
    """The bundles that the slots are in."""
    first, last = slots[0].address, slots[-1].address
    return last // target.bundle - first // target.bundle + 1
