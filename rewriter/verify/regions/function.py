"""A function in both files: its regions pair by pair, and what must follow them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rewriter.analysis.bundled_liveness import NOTHING_KNOWN, Beyond, BundledLiveness, Ways
from rewriter.core.code.groups import Slot
from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence, Grade
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.bundling import Bundling, Code, Routine
from rewriter.elf.image import Image
from rewriter.verify.regions.groups import OpenGroup, OpenGroups, bundle_at, free, open_at_end
from rewriter.verify.regions.landmarks import unwound
from rewriter.verify.regions.placement import Code as Bundles
from rewriter.verify.regions.placement import (
    Lost,
    Placed,
    in_place,
    keeps_transfers,
    leads_to,
    one_behind_another,
    within,
)
from rewriter.verify.regions.proof import Regions, Straight, Verdict


@dataclass(frozen=True)
class Files:
    """The two files, what is known of the code of each, and who proves."""

    target: Bundling
    old: Image
    new: Image
    before: Code
    after: Code
    prover: Regions
    liveness: BundledLiveness
    beyond: Beyond


@dataclass(frozen=True, slots=True)
class Finding:
    """What speaks against a function; `region` is the start of the old one, None for the whole."""

    function: Function
    region: int | None
    reason: str

    def __str__(self) -> str:
        where = "" if self.region is None else f" at {self.region:#x}"
        return f"{self.function.name}{where}: {self.reason}"


Compared = tuple[list[Finding], dict[int, Evidence]]
"""What speaks against a function, and the evidence by the start of each region shown equal."""


class Comparison:
    """One function in both files."""

    def __init__(self, files: Files, routine: Routine, old: Bundles, new: Bundles) -> None:
        self.files, self.routine, self.old, self.new = files, routine, old, new
        self.target, self.size = files.target, files.target.bundle

    @cached_property
    def ways(self) -> Ways:
        """The ways through the old function."""
        return self.files.liveness.ways(
            self.routine, lambda region: within(self.old, region.start, region.end, self.size)
        )

    @cached_property
    def live(self) -> Mapping[int, int]:
        """By old address what may be read where a region begins, with nothing assumed."""
        return self.ways.live(NOTHING_KNOWN)

    @cached_property
    def standard(self) -> Mapping[int, int]:
        """The same where other files' code and pointers keep to the calling standard."""
        return self.ways.live(self.files.beyond)

    def findings(self) -> Compared:
        """What speaks against it, and the regions that were shown equal."""
        stays = keeps_transfers(self.target, self.routine, self.old, self.new)
        wrong, shown = self._with(in_place(self.routine)) if stays else ([], {})
        if stays and not wrong:
            return wrong, shown
        if self.routine.stays:
            return wrong or [self._whole(f"code moved, although {self.routine.stays}")], shown
        try:
            led = self.files.after.led
            placed = one_behind_another(self.target, self.routine, self.old, self.new, led)
        except Lost as error:
            return [*wrong, self._whole(str(error))], shown
        others, moved = self._with(placed)
        return (wrong, shown) if wrong and len(wrong) <= len(others) else (others, moved)

    def _whole(self, reason: str) -> Finding:
        return Finding(self.routine.function, None, reason)

    def _with(self, placed: Sequence[Placed]) -> Compared:
        """The same when regions stand in these places."""
        self.heads = {one.start: one.old.start for one in reversed(placed)}
        self.heads[self.routine.function.end] = self.routine.function.end
        for one in reversed(placed):
            self._idle(one)
        wrong: list[Finding] = []
        shown: dict[int, Evidence] = {}
        start = self.routine.function.start
        before = OpenGroups(self.target, self.files.old, self.files.new, start)
        for one in placed:
            old = within(self.old, one.old.start, one.old.end, self.size)
            new = within(self.new, one.start, one.end, self.size)
            if before.matter_to(new) or not self._same(old, new, one):
                outcome = self._compare(one, old, new, before)
                if isinstance(outcome, Evidence):
                    shown[one.old.start] = outcome
                else:
                    wrong.append(Finding(self.routine.function, one.old.start, outcome))
            before.follow(old, new)
        wrong += self._end(placed, before)
        said = unwound(
            self.target,
            self.routine,
            placed,
            (self.files.before, self.old),
            (self.files.after, self.new),
        )
        return [*wrong, *map(self._whole, (*self._misled(), *said))], shown

    def _misled(self) -> Iterator[str]:
        """The words of jump tables that lead elsewhere than where they led."""
        for place, target in self.routine.words:
            found = self.files.after.led(place)
            if self._place(found) != target:
                yield f"the jump table's word at {place:#x} leads to {found:#x}"

    def _idle(self, one: Placed) -> None:
        """Control that comes to the nops at a region's end comes to what follows.

        It may not come to those behind an instruction that it leaves for ever.
        """
        end, nops = one.end, list[int]()
        while end > one.start and end in self.heads:
            slots, end = self.new[end - self.size], end - self.size
            if not all(self.target.is_nop(slot.insn) for slot in slots):
                if any(self.target.ends(slot.insn) for slot in slots):
                    return
                break
            nops.append(end)
        for at in nops:
            self.heads.setdefault(at, self.heads[one.end])

    def _same(self, old: Sequence[Slot], new: Sequence[Slot], one: Placed) -> bool:
        """Whether a region is plainly what it was: the same slots lead to the same places."""
        if len(old) != len(new):
            return False
        moved = one.start - one.old.start
        for mine, its in zip(old, new, strict=True):
            is_alike = mine.insn is its.insn or mine.insn == its.insn
            along = its.address - mine.address == moved
            # What leads nowhere is the same at any place.
            stays = not moved or (along and its.insn.op.flow is Flow.NEXT)
            if is_alike and stays and mine.stop == its.stop:
                continue
            alike = (
                along
                and mine.stop == its.stop
                and self.target.place_free(mine.insn) == self.target.place_free(its.insn)
            )
            to = leads_to(its, self.size)
            if not alike or (to is not None and self._place(to) != leads_to(mine, self.size)):
                return False
        return True

    def _place(self, address: int) -> int:
        """The address in the old file that one in the new file stands for."""
        if address not in self.routine.function:
            return address
        return self.heads.get(address, address if address in self.heads.values() else _NOWHERE)

    def _compare(
        self, one: Placed, old: Sequence[Slot], new: Sequence[Slot], before: OpenGroups
    ) -> Evidence | str:
        """The evidence that a region does the same, or why it is not shown."""
        if one.old.reason:
            return f"changed, although {one.old.reason}"
        left, was = (free(self.target, open_at_end(self.target, each)) for each in (new, old))
        if left and left != was:
            return "the group at its end is open"
        regions = _straight(old, before.old), _straight(new, before.new)
        verdict = self._proved(regions, self.live, NOTHING_KNOWN)
        assumed: tuple[str, ...] = ()
        if not verdict.is_equal and self.files.beyond:
            assumed = (STANDARD,)
            verdict = self._proved(regions, self.standard, self._left(old))
        if not verdict.is_equal:
            return f"not shown equal: {verdict.reason}"
        return Evidence(Grade.PROVED, (*assumed, *((_EXCLUSIVE,) if verdict.assumed else ())))

    def _proved(
        self, regions: tuple[Straight, Straight], live: Mapping[int, int], left: Beyond
    ) -> Verdict:
        """Whether regions are equal when this may be read where they are left."""
        return self.files.prover.compare(
            *regions,
            self.target.everything,
            self._place,
            live,
            not self.target.prefetching.may_be_device(self.routine.function.start),
            left,
        )

    def _left(self, old: Sequence[Slot]) -> Beyond:
        """What may be read where calls and returns leave a region, by their slots."""
        liveness, beyond = self.files.liveness, self.files.beyond
        known = ((slot.address, slot) for slot in old if slot.address in beyond)
        found = ((at, liveness.left_with(slot, self.standard, beyond)) for at, slot in known)
        return {at: read for at, read in found if read is not None}

    def _end(self, placed: Sequence[Placed], group: OpenGroups) -> list[Finding]:
        """What is wrong behind the last region: there is nothing but nops, and they leave what
        follows the function the first of its group."""
        end = self.routine.function.end
        rest = within(self.new, placed[-1].end, end, self.size) if placed else []
        if not all(self.target.is_nop(slot.insn) for slot in rest):
            return [self._whole("what stands behind its last region is no nop")]
        group.rest(rest)
        following = bundle_at(self.target, self.files.new, end)
        return [self._whole(f"behind its end {why}") for why in group.displaced(following)]


def _straight(slots: Sequence[Slot], before: OpenGroup) -> Straight:
    """Slots behind the group that is open in front of them."""
    return Straight(tuple(slots), tuple(before.slots), idle=tuple(before.idle))


STANDARD = "calls and returns between files or through pointers keep to the calling standard"
_NOWHERE = -1
_EXCLUSIVE = "predicates that the original's groups need exclusive are never both true"
