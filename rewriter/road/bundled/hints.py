"""Loops of bundled code that walk over memory: hints in the order that the scheduler finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from passes.lib.insert import Declined
from passes.streams.bundled import KIND, BundledStreams, Hinted, Scheduled, WalkingLoop
from passes.streams.bundled_walk import BundledWalked, Reading
from rewriter.core.code.groups import Slot
from rewriter.core.code.ordering import Scheduling
from rewriter.core.code.program import Function
from rewriter.core.code.superblock import Superblock
from rewriter.core.edit import Edit, Evidence
from rewriter.core.target.bundled_cpu import BundledCpu
from rewriter.core.target.bundling import Bundling
from rewriter.road.work import edit_id

PASS = "prefetch"
"""The pass's name."""

BEFORE = 48  # slots before a loop in which its count and its addresses may be set


@dataclass(frozen=True)
class Hinting:
    """Asks for hints in the regions of functions."""

    target: Bundling
    streams: BundledStreams

    def loop(
        self, block: Superblock, plain: bytes | None, read: int, before: Sequence[Slot]
    ) -> Scheduled | Declined | None:
        """What became of a region; None if it is no loop that walks over memory.

        `plain` is its code in a new order without hints, if it has one; registers of the mask
        `read` may be read at its start.
        """
        if not self.streams.is_loop(block.slots):
            return None
        slots = block.slots
        if plain is not None:
            slots = tuple(self.target.straight(plain, slots[0].address))
        dead = self.target.everything & ~read
        return self.streams.hinted(WalkingLoop(block, slots, dead, tuple(before[-BEFORE:])))


def hinting(target: Bundling, cpu: BundledCpu, scheduling: Scheduling) -> Hinting:
    """The pass for a CPU."""
    walked = BundledWalked(cpu, Reading(target.proving, target.prefetching))
    return Hinting(target, BundledStreams(walked, scheduling))


def hint_edit(
    target: Bundling, function: Function, start: int, found: Hinted, evidence: Evidence
) -> Edit:
    """What was put into the loop at `start`; gain and cycles are of a pass."""
    made = target.prefetching.asking(found.asked, start)
    added = [slot.insn for slot in made if not target.is_nop(slot.insn)]
    return Edit(
        id=edit_id(PASS, function, start),
        technique=PASS,
        kind=KIND,
        routine=function.name,
        address=start,
        old="",
        new="; ".join(map(target.table.text, added)),
        evidence=replace(evidence, detail=found.detail),
        gain=-len(added),
        cycles=found.saves,
    )
