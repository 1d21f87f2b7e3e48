"""Straight regions joined where control leaves by a branch ahead, or falls through.

Hwu and others, The superblock, Journal of Supercomputing 7 (1993): one entry, exits on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rewriter.core.target.bundling import Region
from targets.ia64.image.facts import Facts
from targets.ia64.image.unwind import Part
from targets.ia64.isa.bundles import SLOTS
from targets.ia64.isa.fields import BUNDLE

MOST = 100
"""Bundles of a superblock at most: three hundred instructions."""


def joined(
    regions: Iterable[Region], facts: Facts, parts: Sequence[Part], first: int
) -> Iterator[Region]:
    """The regions, one for those that follow each other; `parts` are those of the unwind
    information for the function, which begins at the bundle of the number `first`."""
    whole: Region | None = None
    start = int(facts.text.starts[first])
    for region in regions:
        at = first + (region.start - start) // BUNDLE
        if whole is not None and _follows(whole, region, facts, at, parts, start):
            whole = Region(whole.start, region.end, "")
            continue
        if whole is not None:
            yield whole
        whole = region
    if whole is not None:
        yield whole


def _follows(
    whole: Region, region: Region, facts: Facts, at: int, parts: Sequence[Part], start: int
) -> bool:
    """Whether control comes to a region, at a bundle, from the end of that before it alone."""
    if whole.reason or region.reason or facts.labelled[at]:
        return False
    if region.end - whole.start > MOST * BUNDLE or not facts.text.goes_on[at - 1]:
        return False
    return not any(_meets(part, whole.start - start, region.end - start) for part in parts)


def _meets(part: Part, low: int, high: int) -> bool:
    """Whether unwind information names an instruction or ends within an offset's range."""
    first, last = low // BUNDLE * SLOTS, high // BUNDLE * SLOTS
    return first < part.end < last or any(first <= m.slot < last for m in part.moments)
