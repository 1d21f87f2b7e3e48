"""A file's functions as regions of straight code, and what must stay as it is.

A region begins where control may come from elsewhere: at what a branch or a jump table leads to,
what data, a symbol or an instruction may mean, and behind a transfer of control.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import NOWHERE, addresses
from rewriter.core.grouped import (
    Laid,
    Landmark,
    Linked,
    Region,
    Routine,
    Stretch,
    Stretches,
)
from rewriter.core.program import Function
from rewriter.core.target import CannotMove
from targets.ia64 import jumps, layout, tables, unwind
from targets.ia64.bundles import SLOTS
from targets.ia64.fields import BUNDLE
from targets.ia64.isa import TABLE
from targets.ia64.text import Text, read

_NO_CODE = "it holds no instruction"
_OWN_ADDRESS = "it reads its own address"
_FORETOLD = "a branch prediction names a bundle"
_READS_IP = tuple({op.name for op in TABLE.rows if op.sched == "FRIP"})


@dataclass(frozen=True)
class Code:
    """What is known of a file's code."""

    image: Linked
    functions: Sequence[Function]

    @cached_property
    def text(self) -> Text:
        """All slots."""
        return read(self.image)

    @cached_property
    def gp(self) -> int | None:
        """What gp holds."""
        return tables.shared_pointer(self.image)

    @cached_property
    def described(self) -> dict[int, unwind.Entry]:
        """The rows of the unwind table by where their code starts."""
        return {entry.start: entry for entry in unwind_entries(self.image)}

    @cached_property
    def pointed(self) -> NDArray[np.int64]:
        """The bundles that data, symbols or constants in the text may mean."""
        found = (tables.pointed(self.image, self.text), self.text.constants(self.gp))
        return self.text.indices(np.concatenate(found))

    @cached_property
    def entered(self) -> NDArray[np.bool_]:
        """Whether control may come to a bundle from elsewhere than the bundle before it."""
        text = self.text
        flags = np.zeros(text.bundles + 1, dtype=np.bool_)
        flags[text.indices(text.targets[text.targets != NOWHERE])] = True
        flags[self.pointed] = True
        flags[1:] |= text.transfers
        flags[1:-1] |= np.diff(text.starts) != BUNDLE
        return flags

    @cached_property
    def crossed(self) -> NDArray[np.int64]:
        """The bundles inside functions that code of another function branches to."""
        text = self.text
        starts = addresses(function.start for function in self.functions)
        at = np.flatnonzero(text.targets != NOWHERE)
        to = text.targets[at]
        source = np.searchsorted(starts, text.addresses[at], side="right")
        owner = np.searchsorted(starts, to, side="right")
        inside = (owner > 0) & (starts[np.maximum(owner, 1) - 1] != to)
        return text.indices(to[inside & (source != owner)])

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """The reasons that `held` numbers."""
        return ("", *dict.fromkeys((_NO_CODE, _OWN_ADDRESS, _FORETOLD, *_texts(self.image))))

    @cached_property
    def held(self) -> NDArray[np.uint8]:
        """For each bundle the number of the reason why it stays as it is; 0 if it may change."""
        text = self.text
        number = {reason: n for n, reason in enumerate(self.reasons)}
        flags = np.zeros(text.bundles, dtype=np.uint8)
        foretold = text.targets[text.named("brp", "brp.ret", "mov.ret")]
        flags[text.indices(foretold[foretold != NOWHERE])] = number[_FORETOLD]
        ip = [at for at in text.named("mov") if TABLE.rows[text.rows[at]].name in _READS_IP]
        reads = [at for at in ip if TABLE.rows[text.rows[at]].sched == "FRIP"]
        flags[np.array(reads, dtype=np.int64) // SLOTS] = number[_OWN_ADDRESS]
        for one in tables.held(self.image):
            low, high = np.searchsorted(text.starts, np.array([one.start, one.end], np.uint64))
            flags[low:high] = number[one.reason]
        flags[text.bad] = number[_NO_CODE]
        return flags

    @cached_property
    def computed(self) -> list[int]:
        """The positions of computed branches."""
        return jumps.indirect(self.text)

    @cached_property
    def slots(self) -> dict[int, int]:
        """What the loader makes of words of data."""
        return tables.relocated(self.image)

    def routines(self) -> Iterator[Routine]:
        """Every function, in order."""
        for function in self.functions:
            yield self.routine(function)

    def routine(self, function: Function) -> Routine:
        """One function, with the reasons why some of it stays as it is."""
        text = self.text
        first, last = text.index(function.start), text.index(function.end - 1)
        if first is None or last is None or function.start % BUNDLE or function.end % BUNDLE:
            return Routine(function, (), "it is no whole number of bundles", "")
        last += 1
        if int(text.starts[last - 1]) - function.start != BUNDLE * (last - 1 - first):
            return Routine(function, (), "it has a hole", "")
        reason, found = self._computed(first, last)
        described, strange = self._unwinding(function)
        extra = [to for table in found for to in table]
        regions = self._regions(first, last, extra)
        if described is not None:
            regions = tuple(_agreeing(regions, described, function.start))
        stays = self._stays(first, last, bool(found), described, regions)
        return Routine(function, regions, reason or strange, stays)

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

    def laid_out(self, routine: Routine, codes: Mapping[int, bytes], moves: bool) -> Laid:
        """The function when regions have new code; raises CannotMove."""
        if moves and not routine.stays:
            places, starts = layout.compact(routine, self.image.read, codes)
        else:
            places, starts = layout.in_place(routine, codes)
        return Laid(tuple(places), tuple(self._followed(routine, codes, starts)))

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

    def stretches(self, function: Function) -> Stretches | None:
        """The unwind regions of a function."""
        described = self.unwinding(function)
        if described is None:
            return None
        parts = described.parts
        found = (
            Stretch(
                start=_address(function, part.start),
                end=_address(function, part.end),
                is_body=part.body,
                is_prologue_before_body=following is not None and following.body and not part.body,
                named=tuple(_address(function, moment.slot) for moment in part.moments),
            )
            for part, following in zip(parts, (*parts[1:], None), strict=True)
        )
        return Stretches(tuple(found), unwind.blank(described))

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
        if insn is None:
            return None
        return layout.place_free(insn), int(self.text.targets[position])

    def unwinding(self, function: Function) -> unwind.Unwinding | None:
        """What is said of a function in the unwind table; Malformed where it is not understood."""
        entry = self.described.get(function.start)
        if entry is None or entry.end != function.end:
            return None
        return unwind.unwinding(self.image, entry)

    def _unwinding(self, function: Function) -> tuple[unwind.Unwinding | None, str]:
        try:
            found = self.unwinding(function)
        except unwind.Malformed as error:
            return None, f"its unwind information is not understood: {error}"
        if found is None:
            return None, ""
        if found.handled:
            return None, "it has a table of exception ranges"
        return found, ""

    def _computed(self, first: int, last: int) -> tuple[str, list[tuple[int, ...]]]:
        """Why computed branches are not understood, and where the tables found lead."""
        low, high = np.searchsorted(self.computed, [SLOTS * first, SLOTS * last]).tolist()
        if low == high:
            return "", []
        if self.gp is None:
            return "a computed branch, and what gp holds is not known", []
        found = jumps.tables(self.image, self.text, first, last, self.gp, self.slots)
        reason = jumps.unread(self.text, first, last, self.computed, len(found))
        return reason, list(found.values())

    def _regions(self, first: int, last: int, extra: Sequence[int]) -> tuple[Region, ...]:
        flags = self.entered[first:last].copy()
        flags[0] = True
        for address in extra:
            at = self.text.index(address)
            if at is not None and first <= at < last:
                flags[at - first] = True
        starts = np.flatnonzero(flags)
        held = np.maximum.reduceat(self.held[first:last], starts).tolist()
        base = int(self.text.starts[first])
        places = [base + BUNDLE * n for n in (*starts.tolist(), last - first)]
        return tuple(
            Region(start, end, self.reasons[code])
            for start, end, code in zip(places, places[1:], held, strict=False)
        )

    def _stays(
        self,
        first: int,
        last: int,
        jumps_by_table: bool,
        described: unwind.Unwinding | None,
        regions: Sequence[Region],
    ) -> str:
        """Why regions keep their places."""
        if jumps_by_table:
            return "it has a jump table"
        if _between(self.pointed, first + 1, last):
            return "something outside names a place in it"
        if _between(self.crossed, first + 1, last):
            return "another function branches into it"
        if (
            described is not None
            and self._shared[self.described[int(self.text.starts[first])].info] > 1
        ):
            return "its unwind information is another function's, too"
        if any(region.reason for region in regions):
            return "a part of it stays"
        return ""


def _address(function: Function, slot: int) -> int:
    return function.start + slot // SLOTS * BUNDLE + slot % SLOTS


def _between(ascending: NDArray[np.int64], first: int, last: int) -> bool:
    low, high = np.searchsorted(ascending, [first, last]).tolist()
    return bool(low < high)


def unwind_entries(image: Linked) -> tuple[unwind.Entry, ...]:
    """The rows of the unwind table."""
    table = image.table(".IA_64.unwind")
    segment = image.segment_of(table.start)
    if segment is None:
        return ()
    return unwind.entries(image, table, segment.p_vaddr)


def _texts(image: Linked) -> list[str]:
    return [one.reason for one in tables.held(image)]


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
    for region in regions:
        low, high = ((at - start) // BUNDLE * SLOTS for at in (region.start, region.end))
        reason = region.reason
        if any(a < high and low < b for a, b in fixed):
            reason = reason or "unwind information in it cannot follow"
        elif any(low < cut < high for cut in cuts):
            reason = reason or "an unwind region begins in it"
        yield Region(region.start, region.end, reason)
