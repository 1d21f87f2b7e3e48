"""What a function's regions become: new code in numbers, and where each stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from passes.lib.insert import Declined
from passes.streams.bundled import Hinted
from rewriter.core import plural
from rewriter.core.run.portable import Portable
from rewriter.core.target.bundling import Laid, Region, Routine


@dataclass(frozen=True, slots=True)
class Figures(Portable):
    """A region in numbers; cycles as the CPU's model counts them."""

    bundles: int
    groups: int
    nops: int
    cycles: int

    def __str__(self) -> str:
        parts = ((self.bundles, "bundle"), (self.groups, "group"), (self.cycles, "cycle"))
        return ", ".join(f"{n} {what}{'s' * (n != 1)}" for n, what in parts)


@dataclass(frozen=True, slots=True)
class Reordered(Portable):
    """A region with new code, as it must be at the region's start.

    With hints in it `hinted` says which, and `plain` is the region without them, if that gains.
    No order takes fewer cycles than `least`, where it is not 0.
    """

    region: Region
    code: bytes
    before: Figures
    after: Figures
    hinted: Hinted | None = None
    plain: Reordered | None = None
    least: int = 0

    @property
    def gains(self) -> bool:
        """Whether anything got better and nothing worse."""
        old, new = ((f.cycles, f.nops) for f in (self.before, self.after))
        return new < old and new[0] <= old[0]


@dataclass(frozen=True)
class Placing:
    """A function with regions in a new order, by their start; `left` has the reasons for others.

    `closed` got nothing but the end of a group, for the sake of the region behind them; `moved`
    says that regions left their places, `dense` how many loops that need one got a boundary.
    `hints` has what became of loops that walk over memory, when they were first looked at.
    """

    routine: Routine
    made: Mapping[int, Reordered]
    closed: Mapping[int, Reordered]
    left: Mapping[int, str]
    laid: Laid
    moved: bool
    dense: int = 0
    hints: Mapping[int, Hinted | Declined] = field(default_factory=dict)


def bounded(least: int) -> str:
    """What is said behind an order's figures of the cycles that none beats; 0 is not known."""
    return f"; no order takes fewer than {plural.counted(least, 'cycle')}" if least else ""


def edits_of(made: Mapping[int, Reordered]) -> int:
    """How many edits new regions are: an order and hints are two."""
    return sum(one.hinted is None or 1 + (one.plain is not None) for one in made.values())


def behind(placing: Placing, found: Mapping[int | None, str]) -> dict[int, str]:
    """The regions for whose sake others were closed that were not shown equal."""
    return {
        following.start: found[one.start]
        for one, following in pairwise(placing.routine.regions)
        if one.start in placing.closed and one.start in found and following.start in placing.made
    }
