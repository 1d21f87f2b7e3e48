"""What lies between fetch and issue: blocks that wait, and stores that are still on their way."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

_STORES = 8  # more than issue in the cycles that are asked about


class Ahead:
    """How far fetch is ahead: up to `blocks` wait to issue, and what it loses then costs nothing.

    Without any, all that is lost is lost behind the issue of the branch.  The first block is there
    in cycle `first`.
    """

    def __init__(self, blocks: int, first: int = 0) -> None:
        self._blocks = blocks
        self._fetched = first - 1  # when the last block could have issued, had it waited for none
        self._begun: deque[int] = deque(maxlen=blocks)
        self._bubbles = self._restart = 0

    def taken(self, bubbles: int) -> None:
        """The next block is the target of a branch, and is fetched so much later."""
        self._bubbles = bubbles

    def wrong(self, cycle: int) -> None:
        """What was fetched is given up; the next block is there in this cycle."""
        self._restart = cycle

    def late(self, cycle: int) -> None:
        """The block that has just entered came in this cycle."""
        self._fetched = max(self._fetched, cycle)

    def reach(self, free: int) -> int:
        """When the next block can issue; from `free` on nothing stands before it."""
        if not self._blocks:
            return max(free + self._bubbles, self._restart)
        return max(free, self._next())

    def enter(self, free: int) -> int:
        """It does; the cycle is the same."""
        cycle = self.reach(free)
        if self._blocks:
            self._fetched = self._next()
            self._begun.append(cycle)
        self._bubbles = self._restart = 0
        return cycle

    def _next(self) -> int:
        room = self._begun[0] if len(self._begun) == self._blocks else 0
        return max(self._fetched + 1 + self._bubbles, self._restart, room)


class Stores:
    """When stores issued, for the loads that keep their distance."""

    def __init__(self, barred: Sequence[int]) -> None:
        self._barred = barred
        self._issued: deque[int] = deque(maxlen=_STORES)

    def issue(self, cycle: int) -> None:
        """A store does."""
        self._issued.append(cycle)

    def clear(self, cycle: int) -> int:
        """The first cycle from this one that is no barred distance from a store."""
        while self._is_barred(cycle, self._issued):
            cycle += 1
        return cycle

    def _is_barred(self, cycle: int, issued: Collection[int]) -> bool:
        return any(cycle - distance in issued for distance in self._barred)
