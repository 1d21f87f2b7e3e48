"""Where the regions of a function stand in another file, found from its bytes alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Flow
from rewriter.core.isa.operands import Kind
from rewriter.core.target.bundling import Bundling, Region, Routine


class Lost(Exception):
    """Why the regions are not found."""


Code = Mapping[int, Sequence[Slot]]
"""The slots of each bundle of a function, by its address."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The range [start, end) of a region in the new file."""

    old: Region
    start: int
    end: int


def bundles_of(target: Bundling, code: bytes, start: int) -> Code:
    """The slots of code by bundle; ValueError where it holds no instructions."""
    found: dict[int, list[Slot]] = {}
    for slot in target.straight(code, start):
        found.setdefault(slot.address - slot.address % target.bundle, []).append(slot)
    return found


def within(code: Code, start: int, end: int, bundle: int) -> list[Slot]:
    """The slots of a range."""
    return [slot for at in range(start, end, bundle) for slot in code[at]]


def leads_to(slot: Slot, bundle: int) -> int | None:
    """The code address that a transfer of control names, if it does."""
    if slot.insn.op.flow is Flow.NEXT:
        return None
    for operand, value in zip(slot.insn.op.format.operands, slot.insn.operands, strict=True):
        if operand.kind is Kind.TARGET:
            return (slot.address - slot.address % bundle + value) % (1 << 64)
    return None


def in_place(routine: Routine) -> list[Placed]:
    """Every region where it was."""
    return [Placed(region, region.start, region.end) for region in routine.regions]


def _sort(slot: Slot) -> Hashable:
    """What a transfer of control is found by again: its row.

    Whatever else it says, as its predicate, is compared with the region that it is in.
    """
    return slot.insn.op.match, slot.insn.op.mask


def keeps_transfers(target: Bundling, routine: Routine, old: Code, new: Code) -> bool:
    """Whether every region has its transfers of control within the range that it had."""

    def kept(code: Code, region: Region) -> list[Hashable]:
        slots = within(code, region.start, region.end, target.bundle)
        return [_sort(slot) for slot in _transfers(slots)]

    return all(kept(old, region) == kept(new, region) for region in routine.regions)


def one_behind_another(
    target: Bundling, routine: Routine, old: Code, new: Code, led: Callable[[int], int]
) -> list[Placed]:
    """The regions from the function's start on without room between them; raises Lost.

    `led` says where the word of a jump table leads now.
    """
    function, size = routine.function, target.bundle
    before = _transfers(within(old, function.start, function.end, size))
    after = _transfers(within(new, function.start, function.end, size))
    if [_sort(slot) for slot in before] != [_sort(slot) for slot in after]:
        raise Lost("its transfers of control are others, or in another order")
    heads = _heads(routine, before, after, size, led)
    ends = {
        b.address - b.address % size: a.address - a.address % size + size
        for b, a in zip(before, after, strict=True)
    }
    placed: list[Placed] = []
    for region, following in zip(routine.regions, (*routine.regions[1:], None), strict=True):
        start = placed[-1].end if placed else function.start
        end = ends.get(region.end - size) or (heads.get(following.start) if following else None)
        if end is None:
            end = _rest(target, new, start, function.end)
        elif following is not None:
            end = _idle_up_to(target, new, end, heads.get(following.start, end))
        if not start < end <= function.end or heads.get(region.start, start) != start:
            raise Lost(f"the code from {region.start:#x} on is not found")
        placed.append(Placed(region, start, end))
    return placed


def _idle_up_to(target: Bundling, new: Code, end: int, head: int) -> int:
    """Where a region ends behind which nops stand up to the head of the next one."""
    between = range(end, head, target.bundle)
    nops = all(target.is_nop(slot.insn) for at in between for slot in new[at])
    return max(end, head) if nops else end


def _transfers(slots: Sequence[Slot]) -> list[Slot]:
    return [slot for slot in slots if slot.insn.op.flow is not Flow.NEXT]


def _heads(
    routine: Routine,
    before: Sequence[Slot],
    after: Sequence[Slot],
    size: int,
    led: Callable[[int], int],
) -> dict[int, int]:
    """Where regions begin now, by where they began, as far as branches and tables lead to them.

    A table counts where no branch leads: its words are compared with what is found here.
    """
    heads: dict[int, int] = {}
    for mine, its in zip(before, after, strict=True):
        old, new = leads_to(mine, size), leads_to(its, size)
        if old is None or new is None or old not in routine.function:
            continue
        if heads.setdefault(old, new) != new:
            raise Lost(f"branches to {old:#x} lead to different places")
    for place, target in routine.words:
        if target in routine.function:
            heads.setdefault(target, led(place))
    return heads


def _rest(target: Bundling, new: Code, start: int, end: int) -> int:
    """Where the last region ends that control leaves at the function's end: before the nops."""
    while end > start + target.bundle:
        if not all(target.is_nop(slot.insn) for slot in new[end - target.bundle]):
            break
        end -= target.bundle
    return end
