"""What a run over bundles says: cycles, bubbles by counter, when each slot issued."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rewriter.core.code.groups import Slot


@dataclass(frozen=True, slots=True)
class Wait:
    """Why an instruction cannot issue before cycle `until`.

    `behind` is the address of what it waits for.  `shares` are cycles with the counter that holds
    up to them, where not all of the wait goes to `counter`; `within` is counted beside it.
    """

    until: int
    counter: str
    within: str = ""
    behind: int | None = None
    shares: tuple[tuple[int, str], ...] = ()

    def counter_at(self, cycle: int) -> str:
        """The counter of a bubble in that cycle."""
        for end, counter in self.shares:
            if cycle < end:
                return counter
        return self.counter


@dataclass(frozen=True, slots=True)
class Issued:
    """A slot, the cycle of its issue (from 0), its port, and what of its own held it.

    `waited` are the bubbles that its own wait alone would have cost after the cycle before.
    """

    slot: Slot
    cycle: int
    port: str
    waited: int = 0
    cause: str = ""
    behind: int | None = None


@dataclass(frozen=True)
class Timing:
    """Cycles from the first issue to the last, both counted.

    `groups` are cycles in which something issued; every other is a bubble of one counter of
    `bubbles`.  `within` counts bubbles again, of which kind they are; `splits` the ends of a cycle
    that the code does not ask for, by reason.
    """

    cycles: int
    groups: int
    bubbles: Mapping[str, int]
    within: Mapping[str, int]
    splits: Mapping[str, int]
    timeline: tuple[Issued, ...]

    def __post_init__(self) -> None:
        assert self.groups + sum(self.bubbles.values()) == self.cycles, self

    @property
    def stalled(self) -> int:
        """All bubbles: BACK_END_BUBBLE.ALL."""
        return sum(self.bubbles.values())

    def family(self, name: str) -> int:
        """The bubbles of a group of counters, as in `BE_EXE_BUBBLE`."""
        return sum(n for counter, n in self.bubbles.items() if family(counter) == name)


def family(counter: str) -> str:
    """The group that a counter belongs to."""
    return counter.partition(".")[0]


@dataclass
class Account:
    """Moves on from cycle to cycle of issue, and gives every bubble to one counter."""

    priority: Sequence[str]
    now: int = -1
    groups: int = 0
    bubbles: Counter[str] = field(default_factory=Counter)
    within: Counter[str] = field(default_factory=Counter)

    def issue(self, waits: Iterable[Wait], blocked: Mapping[int, str]) -> int:
        """The cycle in which a group with these waits issues."""
        first = self.now + 1
        held = [wait for wait in waits if wait.until > first]
        cycle = max((wait.until for wait in held), default=first)
        while cycle in blocked:
            cycle += 1
        for idle in range(first, cycle):
            self._charge(idle, held, blocked)
        self.now = cycle
        self.groups += 1
        return cycle

    def _charge(self, cycle: int, held: Iterable[Wait], blocked: Mapping[int, str]) -> None:
        reasons = [wait for wait in held if wait.until > cycle]
        if cycle in blocked:
            reasons.append(Wait(cycle + 1, blocked[cycle]))
        reason = min(reasons, key=lambda wait: (self._rank(wait.counter_at(cycle)), -wait.until))
        self.bubbles[reason.counter_at(cycle)] += 1
        if reason.within:
            self.within[reason.within] += 1

    def _rank(self, counter: str) -> int:
        return self.priority.index(family(counter))

    def timing(self, splits: Mapping[str, int], timeline: Iterable[Issued]) -> Timing:
        """What came of it."""
        return Timing(self.now + 1, self.groups, self.bubbles, self.within, splits, tuple(timeline))
