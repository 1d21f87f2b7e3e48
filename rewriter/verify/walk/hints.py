"""Loads without a result that new code has and old code has not.

Such a load changes no register and no memory and signals nothing, so it may stand anywhere but near
a load-locked, where it can make the store-conditional succeed wrongly; and in a kernel it must ask
for memory, not for what a device has.  What the old code asks for itself stays: someone wanted it
there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rewriter.analysis.program import Program
from rewriter.analysis.values.memory import Held, followed
from rewriter.core.assumptions import LOCKS
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.protocol import Sequential, is_hint
from rewriter.verify.walk.equivalence import Different
from rewriter.verify.walk.segments import Segment


def added(old: Sequence[Insn], new: Sequence[Insn], target: Sequential) -> list[int]:
    """Slots of the new code with hints that the old code does not have, in its order."""
    waiting = [insn for insn in reversed(old) if is_hint(insn, target)]
    found = []
    for slot, insn in enumerate(new):
        if is_hint(insn, target):
            if waiting and waiting[-1] == insn:
                waiting.pop()
            else:
                found.append(slot)
    return found


def allow(program: Program, places: Collection[int]) -> None:
    """Raises Different if there may be no hint where this old code stood."""
    if LOCKS not in program.assume:
        raise Different("a hint was added, which --assume does not allow")
    if program.is_near_lock(places):
        raise Different("a hint was added near a load-locked")


def allow_in_kernel(
    program: Program,
    function: Function,
    start: int,
    sides: tuple[Segment, Segment],
    gone: Iterable[int],
) -> None:
    """Raises Different if an added hint of a kernel may ask a device for a line.

    `gone` are the slots of the new segment that have hints, `start` is the place of the old one.
    What is known there of a register holds in the new code too where anything that is seen comes of
    it, for then it is compared on the way there; what is known of the frame, because all stores on
    the way there are.
    """
    target, found, (old, new) = program.target, program.in_memory(function), sides
    known, spelled = target.known_memory, target.spelling.address
    if found is None or known is None or old.fixups or new.fixups:
        raise Different(_DEVICE)
    memory, blocks = found
    held, block = blocks.get(start, memory.nothing), program.graph.block_holding(start)
    same = program.needed(function).into[block] if start in blocks else 0
    kept = held.memory & (same | known.ALWAYS), held.narrow & same
    before = followed(Held(*kept, held.spilled), enumerate(new.insns), memory)
    for slot in gone:
        place = spelled(new.insns[slot])
        if place is None or not before[slot].memory >> place[0] & 1:
            raise Different(_DEVICE)
        if abs(place[1]) > known.AROUND:
            raise Different(_DEVICE)


def fills_memory(program: Program, function: Function, head: int) -> bool:
    """Whether all that a loop from a head to its first transfer accesses is memory."""
    found, listing = program.in_memory(function), program.listing
    if found is None:
        return False
    memory, blocks = found
    held, at = blocks.get(head, memory.nothing), listing.index(head)
    while (insn := listing.insn(at)) is not None and insn.op.flow is Flow.NEXT:
        if int(listing.addresses[at]) in program.fixups:
            return False
        if program.target.table.accesses(insn):
            place = program.target.spelling.address(insn)
            if place is None or not held.memory >> place[0] & 1:
                return False
        held, at = memory.behind(held, insn, int(listing.addresses[at])), at + 1
    return insn is not None


_DEVICE = "a hint was added that may ask a device"
