"""The smallest set of units that makes a test fail, in few tests.

Binary search over prefixes finds the last unit of a failing set in log2(n) tests; what else it
needs is looked for in the same way below it.  At the end each unit that was found is left out once
(delta debugging's last step), so that none is there that the failure does not need.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

Units = frozenset[int]


class Outcome(enum.Enum):
    """What a test says of a candidate."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"  # it cannot be tested


Test = Callable[[Units], Outcome]

_NEAR = 4  # candidates that are tried where one cannot be tested


@dataclass
class Search:
    """Looks for units by number, of [0, count).

    A unit `needs` others, without which it makes no sense: they come with it.  All of them
    together must be bad, none good.
    """

    count: int
    test: Test
    needs: Mapping[int, Units] = field(default_factory=dict)
    known: dict[Units, Outcome] = field(default_factory=dict)

    def run(self) -> Units:
        """The smallest set found: without any unit of it, it is good or cannot be tested."""
        found: Units = frozenset()
        high = self.count
        while self.outcome(found) is not Outcome.BAD:
            low, high = self._last(found, high)
            found = self.whole(found | frozenset(range(low, high)))
            high = low
        return self._needed(found)

    def outcome(self, units: Units) -> Outcome:
        """What the test says of some units and what they need; asked once."""
        units = self.whole(units)
        if units not in self.known:
            self.known[units] = self.test(units)
        return self.known[units]

    def whole(self, units: Units) -> Units:
        """Units with all that they need."""
        found, left = set[int](), list(units)
        while left:
            unit = left.pop()
            if unit not in found:
                found.add(unit)
                left += self.needs.get(unit, ())
        return frozenset(found)

    def _last(self, found: Units, high: int) -> tuple[int, int]:
        """The units [low, high) of which one at least is needed: one, where all can be tested.

        What was found with all units below `high` is bad, with those below `low` good.
        """
        low = 0
        while high - low > 1:
            for middle in _middles(low, high):
                outcome = self.outcome(found | frozenset(range(middle)))
                if outcome is Outcome.BAD:
                    high = middle
                    break
                if outcome is Outcome.GOOD:
                    low = middle
                    break
            else:
                break
        return low, high

    def _needed(self, found: Units) -> Units:
        """Leaves out what is not needed, in halves as long as that goes, then one by one."""
        size = (len(found) + 1) // 2
        while size:
            for first in range(0, len(found), size):
                part = frozenset(sorted(found)[first : first + size])
                rest = self.whole(found - part)
                if len(found) > 1 and rest != found and self.outcome(rest) is Outcome.BAD:
                    return self._needed(rest)
            size //= 2
        return found


def _middles(low: int, high: int) -> Iterator[int]:
    """Places between two, those in the middle first."""
    middle = (low + high) // 2
    places = sorted(range(low + 1, high), key=lambda n: (abs(n - middle), n))
    yield from places[:_NEAR]
