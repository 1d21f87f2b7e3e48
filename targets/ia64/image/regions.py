"""A file's functions as regions of straight code, and what must stay as it is.

A region begins where control may come from elsewhere: at what a branch or a jump table leads to,
what data, a symbol or an instruction may mean, and behind a transfer of control.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rewriter.core.code.program import Function
from rewriter.core.run.guard import guarded
from rewriter.core.target.bundling import (
    NO_BOUNDARIES,
    Laid,
    Landmark,
    Region,
    Routine,
    UnwindRegion,
    UnwindRegions,
)
from rewriter.core.target.protocol import CannotMove
from targets.ia64.calls import StandardCalls, standard_calls
from targets.ia64.image import jumps, layout, superblocks, tables, unwind
from targets.ia64.image.facts import PROBED, Facts
from targets.ia64.isa.bundles import SLOTS
from targets.ia64.isa.fields import BUNDLE

_NAMED = "unwind information names slots in it that must stay as far apart"
_UNSEEN = "nothing is seen to come to it"
_CUT = "an unwind region begins in it"


@dataclass(frozen=True)
class Code(Facts):
    """The functions of a file."""

    _routines: dict[int, Routine] = field(default_factory=dict, repr=False, compare=False)
    _unwindings: dict[int, unwind.Unwinding] = field(
        default_factory=dict, repr=False, compare=False
    )

    def routine(self, function: Function) -> Routine:
        """One function, with the reasons why some of it stays as it is."""
        found = self._routines.get(function.start)
        if found is None:
            found = self._routines[function.start] = guarded(
                "regions",
                partial(self._routine, function),
                lambda reason: Routine(function, (), reason, ""),
            )
        return found

    def _routine(self, function: Function) -> Routine:
        text = self.text
        first, last = text.index(function.start), text.index(function.end - 1)
        if first is None or last is None or function.start % BUNDLE or function.end % BUNDLE:
            return Routine(function, (), "it is no whole number of bundles", "")
        if self.is_probed(function):
            return Routine(function, (), PROBED, "")
        last += 1
        if int(text.starts[last - 1]) - function.start != BUNDLE * (last - 1 - first):
            return Routine(function, (), "it has a hole", "")
        reason, found = self._computed(first, last)
        described, strange = self._unwinding(function)
        regions = self._regions(first, last)
        if described is not None:
            regions = tuple(_agreeing(regions, described, function.start))
        words = tuple(_words(found, function))
        seen = self._coming(regions, first, frozenset(dict(words).values()))
        parts = () if described is None else described.parts
        regions = tuple(superblocks.joined(seen, self, parts, first))
        stays = self._stays(first, last, frozenset(dict(words)), described, regions)
        kept = 0 if described is None else described.kept
        return Routine(function, regions, reason or strange, stays, words, kept)

    @cached_property
    def calls(self) -> StandardCalls | None:
        """Its calls and returns, if it is a library."""
        return standard_calls(self)

    def led(self, place: int) -> int:
        """Where the word of a jump table leads."""
        return tables.led(self.image, place)

    @cached_property
    def _shared(self) -> Counter[int]:
        """How many rows of the unwind table each description has."""
        return Counter(entry.info for entry in self.described.values())

    def _is_shared(self, start: int) -> bool:
        """Whether what describes the function there describes another one, too."""
        return self._shared[self.described[start].info] > 1

    @property
    def bundles(self) -> int:
        """How many bundles there are."""
        return self.text.bundles

    def laid_out(
        self,
        routine: Routine,
        codes: Mapping[int, bytes],
        moves: bool,
        boundaries: Mapping[int, int] = NO_BOUNDARIES,
    ) -> Laid:
        """The function when regions have new code; raises CannotMove."""
        if moves and not routine.stays:
            places, starts = layout.compact(routine, self.image.read, codes, boundaries)
        else:
            places, starts = layout.in_place(routine, self.image.read, codes)
        words = (
            (place, tables.word(place, starts[target]))
            for place, target in routine.words
            if target in starts and starts[target] != target
        )
        return Laid(tuple(places), (*words, *self._followed(routine, codes, starts)))

    def _followed(
        self, routine: Routine, codes: Mapping[int, bytes], starts: Mapping[int, int]
    ) -> Iterator[tuple[int, bytes]]:
        """The unwind information, where it changes."""
        described = self.unwinding(routine.function)
        if described is not None and self._is_shared(routine.function.start):
            raise CannotMove("its unwind information is another function's, too")
        if described is not None:
            raw = layout.retimed(described, routine, self.image.read, codes, starts)
            if raw != described.raw:
                yield self.described[routine.function.start].info + unwind.HEADER, raw

    def unwind_bytes(self, function: Function) -> range:
        """The addresses of a function's descriptors."""
        described = self.unwinding(function)
        start = self.described[function.start].info + unwind.HEADER if described else 0
        return range(start, start + len(described.raw) if described else 0)

    def unwind_regions(self, function: Function) -> UnwindRegions | None:
        """The unwind regions of a function."""
        described = self.unwinding(function)
        if described is None:
            return None
        parts = described.parts
        found = (
            UnwindRegion(
                start=_address(function, part.start),
                end=_address(function, part.end),
                is_body=part.body,
                is_free=_is_free(part, following),
                named=tuple(_address(function, moment.slot) for moment in part.moments),
            )
            for part, following in pairwise((*parts, None))
            if part is not None
        )
        return UnwindRegions(tuple(found), unwind.blank(described), described.stacked)

    def landmarks(self) -> tuple[Landmark, ...]:
        """Every slot that a kernel's tables name."""
        named = tables.named(self.image)
        return tuple(Landmark(table, address, self._at(address)) for table, address in named)

    def _at(self, address: int) -> Hashable:
        """What stands in a slot: the instruction, and where it leads to."""
        bundle = self.text.index(address)
        if bundle is None or address % BUNDLE >= SLOTS:
            return None
        position = bundle * SLOTS + address % BUNDLE
        insn = self.text.insn(position)
        if insn is None and address % BUNDLE == 1:  # a long one counts as slot 1
            position += 1
            insn = self.text.insn(position)
        if insn is None:
            return None
        return layout.place_free(insn), int(self.text.targets[position])

    def unwinding(self, function: Function) -> unwind.Unwinding | None:
        """What is said of a function in the unwind table; Malformed where it is not understood."""
        entry = self.described.get(function.start)
        if entry is None or entry.end != function.end:
            return None
        found = self._unwindings.get(function.start)
        if found is None:
            found = self._unwindings[function.start] = unwind.unwinding(self.image, entry)
        return found

    def _unwinding(self, function: Function) -> tuple[unwind.Unwinding | None, str]:
        try:
            found = self.unwinding(function)
        except unwind.Malformed as error:
            return None, f"its unwind information is not understood: {error}"
        if found is None:
            return None, ""
        if found.handled:
            return None, "it has a table of exception ranges"
        slots = (function.end - function.start) // BUNDLE * SLOTS
        if found.parts and found.parts[-1].end != slots:
            return None, "its unwind information does not end where it does"
        return found, ""

    def _computed(self, first: int, last: int) -> tuple[str, Mapping[int, tuple[int, ...]]]:
        """Why computed branches are not understood, and where the tables found lead."""
        after = bisect_left(self.computed, SLOTS * first)
        if after == len(self.computed) or self.computed[after] >= SLOTS * last:
            return "", {}
        if self.gp is None:
            return "a computed branch, and what gp holds is not known", {}
        found = jumps.tables(self.image, self.text, first, last, self.gp, self.slots)
        reason = jumps.unread(self.text, first, last, self.computed, len(found))
        return reason, found

    def _regions(self, first: int, last: int) -> tuple[Region, ...]:
        flags = self.entered[first:last].copy()
        flags[0] = True
        starts = np.flatnonzero(flags)
        held = np.maximum.reduceat(self.held[first:last], starts).tolist()
        base = int(self.text.starts[first])
        places = [base + BUNDLE * n for n in (*starts.tolist(), last - first)]
        return tuple(
            Region(start, end, self.reasons[code])
            for start, end, code in zip(places, places[1:], held, strict=False)
        )

    def _coming(
        self, regions: Sequence[Region], first: int, by_table: frozenset[int]
    ) -> Iterator[Region]:
        """Regions, those held that may be data, since nothing is seen to come to them.

        The first of them begins at the bundle of the number `first`, and no hole is among them.
        """
        start, reached = regions[0].start, self.reached
        for region in regions:
            seen = region.reason or region.start == start or region.start in by_table
            if seen or reached[first + (region.start - start) // BUNDLE]:
                yield region
            else:
                yield Region(region.start, region.end, _UNSEEN)

    def _stays(
        self,
        first: int,
        last: int,
        words: frozenset[int],
        described: unwind.Unwinding | None,
        regions: Sequence[Region],
    ) -> str:
        """Why regions keep their places."""
        places, targets = self.distances
        low, high = np.searchsorted(targets, self.text.starts[[first, last - 1]], side="right")
        if not words.issuperset(places[low:high].tolist()):
            return "a word of data that no jump of it reads may lead into it"
        if _between(self.pointed, first + 1, last):
            return "something outside names a place in it"
        if _between(self.crossed, first + 1, last):
            return "another function branches into it"
        if (
            described is not None
            and self._shared[self.described[int(self.text.starts[first])].info] > 1
        ):
            return "its unwind information is another function's, too"
        if any(region.reason not in ("", _NAMED, _CUT, _UNSEEN) for region in regions):
            return "a part of it stays"
        return ""


def _words(found: Mapping[int, tuple[int, ...]], function: Function) -> Iterator[tuple[int, int]]:
    """The words of tables, as far as each leads into the function: where, and where to."""
    for table, targets in found.items():
        for number, target in enumerate(targets):
            if target not in function:
                break  # what another function's table has, or one that this one falls into
            yield table + tables.WORD * number, target


def _address(function: Function, slot: int) -> int:
    return function.start + slot // SLOTS * BUNDLE + slot % SLOTS


def _between(ascending: NDArray[np.int64], first: int, last: int) -> bool:
    low, high = np.searchsorted(ascending, [first, last]).tolist()
    return bool(low < high)


def _is_free(part: unwind.Part, following: unwind.Part | None) -> bool:
    """Whether the end of a part is a prologue's before a body, and no descriptor counts by it."""
    if following is None or part.body or not following.body:
        return False
    return not (part.fixed or following.fixed)


def _agreeing(
    regions: Sequence[Region], described: unwind.Unwinding, start: int
) -> Iterator[Region]:
    """Regions, those held that unwind information names in a way that cannot follow them."""
    fixed = [(part.start, part.end) for part in described.parts if part.fixed]
    cuts = [
        before.end
        for before, after in zip(described.parts, described.parts[1:], strict=False)
        if after.start < after.end and not (after.body and not before.body)
    ]
    if not fixed and not cuts:
        yield from regions
        return
    for region in regions:
        low, high = ((at - start) // BUNDLE * SLOTS for at in (region.start, region.end))
        reason = region.reason
        if any(a < high and low < b for a, b in fixed):
            reason = reason or _NAMED
        elif any(low < cut < high for cut in cuts):
            reason = reason or _CUT
        yield region if reason == region.reason else Region(region.start, region.end, reason)
