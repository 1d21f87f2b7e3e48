"""What no order of a straight region of IA-64 code can beat."""

from __future__ import annotations

from dataclasses import dataclass, replace

from passes.scheduling.bundled import counted, part_of
from passes.scheduling.bundled_exact import heads
from rewriter.core.code.superblock import Superblock
from targets.ia64.isa.bundles import SLOTS
from targets.ia64.schedule.bundler import Scheduling


@dataclass(frozen=True, slots=True)
class Least:
    """Cycles, bundles and nops, each whatever the others are."""

    cycles: int
    bundles: int
    nops: int


def least(region: Superblock, scheduling: Scheduling) -> Least:
    """What any order takes at least, given ports, units, dependences and exits; what the region
    takes as it is where some of it must stay."""
    try:
        part, _ = part_of(region, scheduling)
    except ValueError:
        nops = sum(scheduling.facts(slot.insn).is_nop for slot in region.slots)
        return Least(scheduling.cycles(region.slots), counted(region.slots, scheduling), nops)
    if not part.slots:
        return Least(1, 1, SLOTS)
    cycles, bundles = scheduling.fewest(replace(part, values=()))
    taken = sum(scheduling.takes(slot.insn) for slot in part.slots)
    return Least(max(cycles, max(heads(part)) + 1), bundles, SLOTS * bundles - taken)


def chain(region: Superblock, scheduling: Scheduling) -> tuple[str, ...]:
    """The names of the instructions of a longest chain; none where nothing waits for anything."""
    try:
        part, _ = part_of(region, scheduling)
    except ValueError:
        return ()
    begins = heads(part)
    if not any(begins):
        return ()
    at: int | None = begins.index(max(begins))
    names: list[str] = []
    while at is not None:
        names.append(part.slots[at].insn.name)
        tight = (e for e in part.before[at] if begins[e.before] + e.cycles == begins[at])
        at = next((edge.before for edge in tight if edge.cycles), None)
    return tuple(reversed(names))
