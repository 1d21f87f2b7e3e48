"""Branches that may lead to moves and back, or over some, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewriter.core.code.listing import FLOW_CODE, Listing
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow

MOST = 4
"""Moves of one branch."""

Key = tuple[int, ...]
"""The branch's word, without how far it goes, and those of its moves."""


class Detour(NamedTuple):
    """Positions of a branch, of the moves that it leads to or over, and of the way back, if any."""

    branch: int
    moves: tuple[int, ...]
    back: int | None


def detours(
    listing: Listing, function: Function, nops: NDArray[np.bool_] | None = None
) -> Iterator[Detour]:
    """Branches of a function's code that may lead to moves, and back, or over some.

    Without the `nops` of the listing, if they are given: as the code would stand without them,
    which is how it is read, old or new.  Behind a branch there may be some before a loop.
    """
    first, last = listing.span(function.start, function.end)
    kept = np.arange(first, last)
    kept = kept if nops is None else kept[~nops[first:last]]
    flows = listing.flows[kept]
    goals = np.searchsorted(listing.addresses[kept], listing.targets[kept]).tolist()
    inside = (listing.targets[kept] >= function.start) & (listing.targets[kept] < function.end)
    branches = (flows == FLOW_CODE[Flow.BRANCH]) & inside
    for at in np.flatnonzero((flows == FLOW_CODE[Flow.JUMP]) & inside).tolist():
        branch = goals[at] - 1
        if branch < 0 or not branches[branch]:
            continue
        goal = goals[branch]
        if 1 <= at - goal <= MOST and not goal <= branch <= at:
            yield Detour(int(kept[branch]), tuple(kept[goal:at].tolist()), int(kept[at]))
    for at in np.flatnonzero(branches).tolist():
        if 2 <= goals[at] - at <= MOST + 1:
            yield Detour(int(kept[at]), tuple(kept[at + 1 : goals[at]].tolist()), None)


def key(listing: Listing, one: Detour) -> Key:
    """What a detour is, wherever it stands."""
    words = listing.words[[*one.moves]].tolist()
    return (int(listing.placeless(one.branch)), int(one.back is None), *words)
