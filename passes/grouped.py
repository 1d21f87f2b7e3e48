"""Schedule straight regions of a machine whose code says its groups: fewer cycles, fewer nops.

A region keeps its instructions and gets a new order, new groups and as few bundles as a search
finds.  It stays as it is where nothing better is found, and never gets more bundles.  A bundle
with an instruction that must stay is copied, and what is before it stays before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Protocol

from passes.grouped_graph import Rules, edges
from rewriter.core.groups import Slot, groups
from rewriter.core.isa import Insn
from rewriter.core.regions import Arranged, Part


@dataclass(frozen=True, slots=True)
class Region:
    """Straight code: whole bundles, entered at the first slot, left only at the end.

    Registers of the mask `live` may be read afterwards.  Slots of `fixed`, by address, stay in
    their place in their bundle.  `joined` says that a group is open where control comes from the
    code before.
    """

    slots: tuple[Slot, ...]
    live: int = -1
    fixed: frozenset[int] = field(default_factory=frozenset)
    joined: bool = False


class Target(Rules, Protocol):
    """What an architecture and a CPU's model answer."""

    @property
    def bundle(self) -> int:
        """Bytes of a bundle."""
        ...

    def moved(self, insn: Insn, distance: int) -> Insn:
        """The instruction that many bytes further on, with the targets that it has here."""
        ...

    def arrange(self, part: Part, most: int) -> Arranged | None:
        """An arrangement in at most `most` bundles; None if none better than as it stands is found."""
        ...

    def cycles(self, slots: Sequence[Slot]) -> int:
        """Modelled cycles of straight code."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """A region as it is now: `origins` has the old address of each slot, None for a new nop.

    `reason` says why it is unchanged and is empty where it is not.
    """

    slots: tuple[Slot, ...]
    origins: tuple[int | None, ...]
    reason: str = ""


def schedule(region: Region, target: Target) -> Outcome:
    """The region in fewer cycles, or in fewer bundles and as many cycles; or as it was."""
    slots, origins = _rescheduled(region, target)
    same = tuple(slot.address for slot in region.slots)
    if origins == same:
        return Outcome(region.slots, same, "nothing better found")
    old, new = _count(region.slots, target), _count(slots, target)
    before, after = target.cycles(region.slots), target.cycles(slots)
    if new > old or after > before:
        reason = f"takes {new} bundles and {after} cycles, {old} and {before} as it is"
        return Outcome(region.slots, same, reason)
    return Outcome(slots, origins)


def _rescheduled(region: Region, target: Target) -> tuple[tuple[Slot, ...], tuple[int | None, ...]]:
    """All parts, one behind the other, each at the address that it has then."""
    made: list[Slot] = []
    origins: list[int | None] = []
    address = region.slots[0].address // target.bundle * target.bundle
    for is_fixed, slots, joined in _parts(region, target):
        found = None if is_fixed else _arranged(slots, joined, target)
        if found is None:
            found = Arranged(slots, tuple(range(len(slots))))
        shift = address - slots[0].address // target.bundle * target.bundle
        for slot, origin in zip(found.slots, found.origins, strict=True):
            here, insn = slot.address + shift, slot.insn
            if origin >= 0:
                was = slots[origin].address
                distance = here // target.bundle - was // target.bundle
                insn = target.moved(insn, distance * target.bundle)
            made.append(Slot(here, insn, slot.stop))
            origins.append(slots[origin].address if origin >= 0 else None)
        address = (made[-1].address // target.bundle + 1) * target.bundle
    return tuple(made), tuple(origins)


def _parts(region: Region, target: Target) -> Iterator[tuple[bool, tuple[Slot, ...], bool]]:
    """Runs of bundles that may change, and bundles that may not; whether a group is open there."""
    joined = region.joined
    for is_fixed, run in groupby(
        _bundles(region.slots, target), partial(_is_fixed, region, target)
    ):
        slots = tuple(slot for bundle in run for slot in bundle)
        yield is_fixed, slots, joined
        joined = not slots[-1].stop


def _bundles(slots: Sequence[Slot], target: Target) -> Iterator[tuple[Slot, ...]]:
    for _, bundle in groupby(slots, lambda slot: slot.address // target.bundle):
        yield tuple(bundle)


def _is_fixed(region: Region, target: Target, bundle: Sequence[Slot]) -> bool:
    return any(slot.address in region.fixed or target.facts(slot.insn).is_fixed for slot in bundle)


def _arranged(slots: tuple[Slot, ...], joined: bool, target: Target) -> Arranged | None:
    every = list(groups(slots))
    numbers = [n for n, slot in enumerate(slots) if not target.facts(slot.insn).is_nop]
    kept = tuple(slots[n] for n in numbers)
    if not kept:
        return None
    first = {slot.address for slot in (every[0] if joined else slots)}
    last = {slot.address for slot in every[-1]} if not slots[-1].stop else set()
    part = Part(
        kept,
        tuple(edges(kept, target)),
        frozenset(n for n, slot in enumerate(kept) if slot.address in first),
        frozenset(n for n, slot in enumerate(kept) if slot.address in last),
        Arranged(slots, tuple(_places(len(slots), numbers))),
    )
    found = target.arrange(part, _count(slots, target))
    if found is None:
        return None
    return Arranged(found.slots, tuple(numbers[n] if n >= 0 else -1 for n in found.origins))


def _places(count: int, numbers: Sequence[int]) -> Iterator[int]:
    """For each of the slots its number among those of `numbers`, -1 for the others."""
    place = {number: at for at, number in enumerate(numbers)}
    return (place.get(number, -1) for number in range(count))


def _count(slots: Sequence[Slot], target: Target) -> int:
    first, last = slots[0].address, slots[-1].address
    return last // target.bundle - first // target.bundle + 1
