"""What a simulation says: cycles, where they went, and when each instruction did what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Delay = tuple[str, int]
"""A cause and its cycles."""


def longest(delays: Sequence[Delay]) -> Delay:
    """The delay of most cycles, the first of those."""
    found = delays[0]
    for delay in delays:
        if delay[1] > found[1]:
            found = delay
    return found


class Moment:
    """One step's way through the pipeline, in cycles from the first fetch.

    `pipe` is empty for what is never issued; `cause` is what held the step up longest and
    `waited` for how many cycles, all causes together.  Nobody changes one.
    """

    __slots__ = ("address", "cause", "complete", "fetch", "issue", "pipe", "retire", "waited")

    def __init__(
        self,
        address: int,
        fetch: int,
        issue: int,
        complete: int,
        retire: int,
        pipe: str,
        cause: str,
        waited: int,
    ) -> None:
        self.address = address
        self.fetch = fetch
        self.issue = issue
        self.complete = complete
        self.retire = retire
        self.pipe = pipe
        self.cause = cause
        self.waited = waited

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moment) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def _fields(self) -> tuple[int | str, ...]:
        times = self.fetch, self.issue, self.complete, self.retire
        return self.address, *times, self.pipe, self.cause, self.waited


@dataclass(frozen=True)
class Result:
    """The cycles of a trace, from the first fetch until the last instruction is done.

    `breakdown` gives each cycle one cause; `timeline` has one moment for each step.
    """

    cycles: int
    breakdown: Mapping[str, int]
    timeline: tuple[Moment, ...]

    def __post_init__(self) -> None:
        assert sum(self.breakdown.values()) == self.cycles, (self.cycles, self.breakdown)

    @property
    def instructions(self) -> int:
        """Steps executed, nops included."""
        return len(self.timeline)

    @property
    def per_cycle(self) -> float:
        """Instructions a cycle."""
        return self.instructions / self.cycles if self.cycles else 0.0

    def share(self, *causes: str) -> int:
        """The cycles of some causes together."""
        return sum(self.breakdown.get(cause, 0) for cause in causes)


class Account:
    """Gives each cycle to a cause as instructions leave the pipeline in order."""

    def __init__(self) -> None:
        self.spent: dict[str, int] = {}

    def charge(self, gap: int, delays: Iterable[Delay], rest: str) -> None:
        """Spends `gap` cycles on delays, first come first served; what is left goes to `rest`."""
        spent = self.spent
        for cause, cycles in delays:
            if gap <= 0:
                return
            part = min(gap, cycles)
            if part > 0:
                spent[cause] = spent.get(cause, 0) + part
                gap -= part
        if gap > 0:
            spent[rest] = spent.get(rest, 0) + gap
