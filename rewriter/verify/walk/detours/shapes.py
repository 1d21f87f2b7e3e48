"""Branches that may lead to moves and back, or over some, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import holders
from rewriter.core.code.listing import FLOW_CODE, Listing
from rewriter.core.code.program import Function, extents
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
    listing: Listing, functions: Iterable[Function], nops: NDArray[np.bool_] | None = None
) -> dict[Function, list[Detour]]:
    """Branches of functions' code that may lead to moves, and back, or over some; by function, of
    those that have some.

    Without the `nops` of the listing, if they are given: as the code would stand without them,
    which is how it is read, old or new.  Behind a branch there may be some before a loop.
    """
    known = sorted(functions, key=lambda function: function.start)
    kept = _Kept.of(listing, known, nops)
    found: dict[Function, list[Detour]] = {}
    for branch, moves, back in (*kept.aside(), *kept.over()):
        parts = int(kept.at[branch]), tuple(kept.at[moves.start : moves.stop].tolist())
        one = Detour(*parts, None if back is None else int(kept.at[back]))
        found.setdefault(known[kept.owner[branch]], []).append(one)
    return found


_Shape = tuple[int, range, int | None]
"""A detour by places among those that are kept."""


class _Kept(NamedTuple):
    """The instructions of functions: positions, numbers of their functions, whether they are
    branches or jumps inside these, and at which place one stands that they lead to."""

    at: NDArray[np.int64]
    owner: NDArray[np.int64]
    branches: NDArray[np.bool_]
    jumps: NDArray[np.bool_]
    goals: NDArray[np.int64]

    @classmethod
    def of(
        cls, listing: Listing, functions: Sequence[Function], nops: NDArray[np.bool_] | None
    ) -> _Kept:
        """Those of functions that ascend, but for some nops."""
        ranges = extents(functions)
        first, last = listing.span(functions[0].start, functions[-1].end) if functions else (0, 0)
        owner = holders(ranges, listing.addresses[first:last])
        kept = np.flatnonzero(owner >= 0 if nops is None else (owner >= 0) & ~nops[first:last])
        owner, at = owner[kept], kept + first
        flows, targets = listing.flows[at], listing.targets[at]
        starts, ends = (side[owner] for side in ranges)
        inside = (targets >= starts) & (targets < ends)
        branches, jumps = (inside & (flows == FLOW_CODE[f]) for f in (Flow.BRANCH, Flow.JUMP))
        return cls(at, owner, branches, jumps, listing.addresses[at].searchsorted(targets))

    def aside(self) -> Iterator[_Shape]:
        """Branches to moves, and jumps back from there to right behind them."""
        jumps = np.flatnonzero(self.jumps)
        before = self.goals[jumps] - 1
        coming = (before >= 0) & self.branches[before] & (self.owner[before] == self.owner[jumps])
        jumps, before = jumps[coming], before[coming]
        goals = self.goals[before]
        near = (jumps - goals >= 1) & (jumps - goals <= MOST)
        near &= (goals > before) | (before > jumps)
        found = (some[near].tolist() for some in (before, goals, jumps))
        for branch, goal, back in zip(*found, strict=True):
            yield branch, range(goal, back), back

    def over(self) -> Iterator[_Shape]:
        """Branches over moves."""
        branches = np.flatnonzero(self.branches)
        length = self.goals[branches] - branches - 1
        near = (length >= 1) & (length <= MOST)
        for branch, count in zip(branches[near].tolist(), length[near].tolist(), strict=True):
            yield branch, range(branch + 1, branch + 1 + count), None


def key(listing: Listing, one: Detour) -> Key:
    """What a detour is, wherever it stands."""
    words = listing.words[[*one.moves]].tolist()
    return (int(listing.placeless(one.branch)), int(one.back is None), *words)
