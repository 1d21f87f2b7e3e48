"""Straight regions of bundled code get a new order; what stands behind a shorter one moves up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from passes.lib.insert import Declined
from passes.scheduling.bundled import MustStay, Outcome, schedule
from passes.scheduling.bundled_proved import prove
from passes.streams.bundled import Hinted, Scheduled
from rewriter.analysis.bundled_liveness import Beyond, BundledLiveness
from rewriter.core.code.groups import Slot, groups
from rewriter.core.code.ordering import Exact
from rewriter.core.code.superblock import Superblock
from rewriter.core.target.bundling import Bundling, Code, Laid, Region, Routine
from rewriter.core.target.protocol import CannotMove, Memory
from rewriter.road.bundled.boundaries import Boundaries
from rewriter.road.bundled.function import Figures, Placing, Reordered, bounded
from rewriter.road.bundled.hints import Hinting
from rewriter.verify.regions.groups import OpenGroup, open_before

NO_GAIN = "nothing is saved where it stands"


def _none(function: str) -> bool:
    """No function."""
    return False


@dataclass(frozen=True)
class Reordering:
    """Reorders the regions of functions, and lays the functions out.

    `is_exact` says of a function's name whether its regions get the best order that is found.
    """

    target: Bundling
    code: Code
    image: Memory
    scheduling: Exact
    liveness: BundledLiveness
    beyond: Beyond
    block: int  # bytes that the CPU fetches in a cycle
    hinting: Hinting | None = None
    is_exact: Callable[[str], bool] = _none

    def function(self, routine: Routine, wanted: Collection[int], moves: bool) -> Placing:
        """A function with those of the wanted regions in a new order that gain by it."""
        made: dict[int, Reordered] = {}
        left: dict[int, str] = {}
        hints: dict[int, Hinted | Declined] = {}
        before: list[Slot] = []
        group = open_before(self.target, self.image, routine.function.start)
        every = {region: self.slots(region) for region in routine.regions}
        live = self.liveness.live(routine, every.__getitem__, self.beyond)
        for region, slots in every.items():
            outcome: Reordered | str = region.reason or "it was not asked for"
            block = None if region.reason else self.asked(region, slots, bool(group.slots), live)
            if block is not None and region.start in wanted:
                outcome = self._reordered(routine, region, block)
            if block is not None and self.hinting is not None:
                plain = outcome.code if isinstance(outcome, Reordered) else None
                found = self.hinting.loop(block, plain, live[region.start], before)
                if isinstance(found, Declined):
                    hints[region.start] = found
                elif found is not None:
                    hints[region.start] = found[0]
                    outcome = self._with_hints(region, slots, found, outcome)
            if isinstance(outcome, Reordered):
                made[region.start] = outcome
            else:
                left[region.start] = outcome
            before += slots
            group.follow(slots)
            if not region.reason:  # gets a stop at its end where it may change: see `_closings`
                group = OpenGroup(self.target)
        placing = self.placed(routine, made, left, moves and not routine.stays)
        return replace(placing, hints=hints) if hints else placing

    def placed(
        self,
        routine: Routine,
        made: Mapping[int, Reordered],
        left: Mapping[int, str],
        moves: bool,
    ) -> Placing:
        """The function laid out with these regions, with fewer where they cannot stand."""
        if moves and made:
            closed = self._closings(routine, made)
            codes = _codes({**made, **closed})
            try:
                heads = self._heads(routine, codes)
                laid = self.code.laid_out(routine, codes, True, heads)
                return Placing(routine, made, closed, left, laid, True, _standing(laid, heads))
            except CannotMove:
                lost = self._lost(routine, made)
                if lost:
                    rest = {start: one for start, one in made.items() if start not in lost}
                    return self.placed(routine, rest, {**left, **lost}, True)
        made, left = self._in_place(routine, made, dict(left))
        while True:
            closed = self._closings(routine, made)
            try:
                laid = self.code.laid_out(routine, _codes({**made, **closed}), False)
                return Placing(routine, made, closed, left, laid, False)
            except CannotMove as reason:  # each can stand there alone, so most often all can
                if not made:
                    raise
                start, _ = made.popitem()
                left[start] = str(reason)

    def _heads(self, routine: Routine, codes: Mapping[int, bytes]) -> dict[int, int]:
        """The heads of loops that should stand on a boundary when regions have new code."""

        def code_of(region: Region) -> bytes:
            found = codes.get(region.start)
            return found or self.image.read(region.start, region.end - region.start)

        return Boundaries(self.target, self.block, self.scheduling.cycles).heads(routine, code_of)

    def _lost(self, routine: Routine, made: Mapping[int, Reordered]) -> dict[int, str]:
        """The regions that what names their code cannot follow, wherever they stand."""
        lost = {}
        for start, one in made.items():
            try:
                self.code.laid_out(routine, {start: one.code}, False)
            except CannotMove as reason:
                lost[start] = str(reason)
        return lost

    def _closings(self, routine: Routine, made: Mapping[int, Reordered]) -> dict[int, Reordered]:
        """The regions before those, as they are but for a stop at their end."""
        closed: dict[int, Reordered] = {}
        for number, (one, following) in enumerate(pairwise(routine.regions)):
            stays = one.start not in made and not one.reason and following.start in made
            if stays and self._goes_on(routine.regions[: number + 1], made):
                slots = self.slots(one)
                code = self.target.assembled(_closed(slots))
                figures = self._counted(slots, self.scheduling.cycles(slots))
                closed[one.start] = Reordered(one, code, figures, figures)
        return closed

    def _goes_on(self, regions: Sequence[Region], made: Mapping[int, Reordered]) -> bool:
        """Whether a group is open behind the last of these regions, which stays as it is."""
        every: list[Sequence[Slot]] = []
        for one in reversed(regions):
            if one.start in made:
                break
            every.append(self.slots(one))
            if any(slot.stop for slot in every[-1]):
                break
        group = OpenGroup(self.target)
        for slots in reversed(every):
            group.follow(slots)
        return bool(group.slots)

    def _in_place(
        self, routine: Routine, made: Mapping[int, Reordered], left: dict[int, str]
    ) -> tuple[dict[int, Reordered], dict[int, str]]:
        """The regions that gain where they stand and can stand there."""
        kept: dict[int, Reordered] = {}
        for start, one in made.items():
            try:
                laid = self.code.laid_out(routine, {start: one.code}, False)
            except CannotMove as reason:
                left[start] = str(reason)
                continue
            if not self._goes_away(one.code):
                whole = next(place.code for place in laid.places if place.old == start)
                one = replace(one, after=self.figures(whole, start))
            if one.gains:
                kept[start] = one
            else:
                left[start] = NO_GAIN
        return kept, left

    def slots(self, region: Region) -> list[Slot]:
        """A region's slots; none where one that stays holds something else."""
        code = self.image.read(region.start, region.end - region.start)
        if region.reason:
            return _or_none(self.target, code)
        return list(self.target.straight(code, region.start))

    def asked(
        self, region: Region, slots: Sequence[Slot], joined: bool, live: Mapping[int, int]
    ) -> Superblock:
        """A region as a scheduler sees it."""
        exits, behind = self._exits(region, slots, live)
        return Superblock(_closed(slots), behind, joined=joined, exits=exits)

    def _with_hints(
        self, region: Region, slots: Sequence[Slot], found: Scheduled, plain: Reordered | str
    ) -> Reordered:
        """A region with hints."""
        before, after = (
            self._counted(each, self.scheduling.cycles(each)) for each in (slots, found[1])
        )
        without = plain if isinstance(plain, Reordered) else None
        code = self.target.assembled(found[1])
        return Reordered(region, code, before, after, found[0], without)

    def _ordered(self, function: str, asked: Superblock) -> tuple[Outcome, int]:
        """A region of a function in a new order, and the cycles that none beats, 0 if not known."""
        if self.is_exact(function):
            try:
                proved = prove(asked, self.scheduling)
                return proved.outcome, proved.least
            except MustStay:
                pass
        return schedule(asked, self.scheduling), 0

    def _reordered(self, routine: Routine, region: Region, asked: Superblock) -> Reordered | str:
        """A region in a new order, or why it stays."""
        if region.end - region.start == self.target.bundle:
            return "it is one bundle"
        outcome, least = self._ordered(routine.function.name, asked)
        if outcome.reason:
            return outcome.reason + bounded(least)
        code = self.target.assembled(outcome.slots)
        if (
            code == self.image.read(region.start, len(code))
            and len(code) == region.end - region.start
        ):
            return NO_GAIN
        before, after = outcome.cycles
        figures = self._counted(asked.slots, before), self._counted(outcome.slots, after)
        found = Reordered(region, code, *figures, least=least)
        return found if found.gains else NO_GAIN

    def _exits(
        self, region: Region, slots: Sequence[Slot], live: Mapping[int, int]
    ) -> tuple[dict[int, int], int]:
        """What may be read at the exits on the way, and behind the last bundle."""
        exits, behind = {}, live.get(region.end, self.target.everything)
        for slot in slots:
            read = self.liveness.left_with(slot, live, self.beyond)
            if read is None:
                continue
            if slot.address < region.end - self.target.bundle:
                exits[slot.address] = read
            else:
                behind |= read
        return exits, behind

    def _goes_away(self, code: bytes) -> bool:
        """Whether nothing comes to what stands behind code."""
        slots = list(self.target.straight(code[-self.target.bundle :], 0))
        return any(self.target.ends(slot.insn) for slot in slots)

    def figures(self, code: bytes, start: int) -> Figures:
        """Code at `start` in numbers."""
        slots = list(self.target.straight(code, start))
        return self._counted(slots, self.scheduling.cycles(slots))

    def _counted(self, slots: Sequence[Slot], cycles: int) -> Figures:
        bundles = {slot.address // self.target.bundle for slot in slots}
        nops = sum(self.target.is_nop(slot.insn) for slot in slots)
        return Figures(len(bundles), sum(1 for _ in groups(slots)), nops, cycles)


def _closed(slots: Sequence[Slot]) -> tuple[Slot, ...]:
    """Slots with a stop behind the last."""
    last = slots[-1]
    return (*slots[:-1], Slot(last.address, last.insn, True))


def _standing(laid: Laid, boundaries: Mapping[int, int]) -> int:
    """How many regions stand on their boundaries."""
    places = (place for place in laid.places if place.old in boundaries)
    return sum(place.new % boundaries[place.old] == 0 for place in places)


def _codes(made: Mapping[int, Reordered]) -> dict[int, bytes]:
    return {start: one.code for start, one in made.items()}


def _or_none(target: Bundling, code: bytes) -> list[Slot]:
    """The slots of code; none where it holds something else."""
    try:
        return list(target.straight(code, 0))
    except ValueError:
        return []
