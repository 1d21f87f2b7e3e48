"""Where control goes on when an instruction in an exception range throws.

A language's tables name ranges of a function and the landing pad of each (`elf/lsda`).  Beside
calls, an access or an arithmetic instruction may throw too, by a signal (`-fnon-call-exceptions`),
and no table says whether the compiler counted on it: so what a pad reads must be right before each
of them, as before an access that a kernel's exception table names.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.code.listing import FLOW_CODE, Listing, among
from rewriter.core.code.program import Fixup
from rewriter.core.isa.instruction import COMING_BACK, Flow, Insn
from rewriter.core.isa.table import Table
from rewriter.elf.image import Image
from rewriter.elf.unwind.entries import Fde
from rewriter.elf.unwind.lsda import CallSite, lsda_ranges


def throws(insn: Insn, table: Table) -> bool:
    """Whether an instruction that is no call may throw by a signal."""
    effects = table.effects(insn.op)
    return table.accesses(insn) or effects.rounds or bool(effects.events)


@dataclass(frozen=True)
class ExceptionRanges:
    """The exception ranges of a file, by ascending start; none holds another.

    `pads` are the landing pads, ascending; those `abroad` are of another function's ranges.
    """

    sites: tuple[CallSite, ...]
    starts: tuple[int, ...]
    pads: tuple[int, ...] = ()
    abroad: frozenset[int] = frozenset()

    @classmethod
    def of(cls, image: Image, frames: Iterable[Fde]) -> ExceptionRanges:
        """Those of all functions of a file."""
        return cls.together(
            (frame, lsda_ranges(image, frame)) for frame in frames if frame.lsda is not None
        )

    @classmethod
    def together(cls, tables: Iterable[tuple[Fde, Sequence[CallSite]]]) -> ExceptionRanges:
        """Those of some functions."""
        found, pads, abroad = list[CallSite](), set[int](), set[int]()
        for frame, table in tables:
            found += table
            led = {site.landing_pad for site in table if site.landing_pad is not None}
            pads |= led
            abroad.update(pad for pad in led if not frame.start <= pad < frame.end)
        sites = tuple(sorted(found, key=lambda site: site.start))
        starts = tuple(site.start for site in sites)
        return cls(sites, starts, tuple(sorted(pads)), frozenset(abroad))

    def at(self, address: int) -> CallSite | None:
        """The range that an instruction is in."""
        n = bisect_right(self.starts, address) - 1
        return self.sites[n] if n >= 0 and address < self.sites[n].end else None

    def within(self, start: int, end: int) -> bool:
        """Whether a range begins in [start, end)."""
        return bisect_left(self.starts, start) < bisect_left(self.starts, end)

    def pads_in(self, start: int, end: int) -> tuple[int, ...]:
        """The landing pads in [start, end)."""
        return self.pads[bisect_left(self.pads, start) : bisect_left(self.pads, end)]

    def way(self, address: int) -> tuple[int | None, int] | None:
        """What the personality routine finds for an instruction: landing pad and action."""
        site = self.at(address)
        return (site.landing_pad, site.action) if site is not None else None

    def calls(self, listing: Listing, landing: int) -> Iterator[Fixup]:
        """Calls in ranges with a landing pad, as accesses that resume there.

        The unwinder goes there with the pad's address in the register `landing`.
        """
        for pad, first, last in self._padded(listing):
            for at in first + np.flatnonzero(among(listing.flows[first:last], COMING_BACK)):
                yield Fixup(0, int(listing.addresses[at]), pad, ((landing, pad),))

    def accesses(self, listing: Listing, landing: int) -> Iterator[Fixup]:
        """What may throw by a signal, likewise."""
        may = _may_throw(listing)
        for pad, first, last in self._padded(listing):
            for at in first + np.flatnonzero(may[first:last]):
                yield Fixup(0, int(listing.addresses[at]), pad, ((landing, pad),))

    def _padded(self, listing: Listing) -> Iterator[tuple[int, int, int]]:
        for site in self.sites:
            if site.landing_pad is not None and listing.has(site.landing_pad):
                yield (site.landing_pad, *listing.span(site.start, site.end))


def _may_throw(listing: Listing) -> NDArray[np.bool_]:
    """By position, whether an instruction that is no call may throw."""
    table = listing.table
    effects = [table.effects(op) for op in table.rows]
    loads = np.array([e.loads for e in effects] + [False, False])[listing.rows]
    more = [e.stores or e.rounds or bool(e.events) for e in effects]
    straight = listing.flows == FLOW_CODE[Flow.NEXT]
    noticed = np.array([*more, False, False])[listing.rows]
    return np.asarray((loads & listing.defs.some() | noticed) & straight)
