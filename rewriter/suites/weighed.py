"""What a routine's calls take of system time, and what is left of it where they are retuned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewriter.contracts.calls import Counted
from rewriter.suites.run import Clocked


@dataclass(frozen=True)
class Weighed:
    """One routine in one machine.

    Of the recorded part of system time, `cycles` of `whole` are its `calls`.  `warm` and `cold`
    are the means of the mix, as it is and retuned, by whether the caches know the call.
    """

    routine: str
    calls: int
    cycles: int
    whole: int
    warm: tuple[float, float]
    cold: tuple[float, float]

    @property
    def share(self) -> float:
        """What it takes of system time, of one."""
        return self.cycles / self.whole

    @property
    def call(self) -> float:
        """Cycles of a call, as it was recorded."""
        return self.cycles / self.calls if self.calls else 0.0

    @property
    def coldness(self) -> float:
        """How much of the way from warm to cold its calls were, of one."""
        (warm, _), (cold, _) = self.warm, self.cold
        away = (self.call - warm) / (cold - warm) if cold > warm else 0.0
        return min(max(away, 0.0), 1.0)

    @property
    def ratio(self) -> float:
        """What is left of a call's cycles, of one, as cold as it was."""
        old, new = (
            warm + self.coldness * (cold - warm)
            for warm, cold in zip(self.warm, self.cold, strict=True)
        )
        return new / old

    @property
    def saved(self) -> float:
        """By how much system time falls, of one."""
        return self.share * (1 - self.ratio)


def weighed(timed: Sequence[Clocked], counted: Counted, machine: str) -> Iterator[Weighed]:
    """Each routine of the mix that was recorded, in the order of the mix."""
    spent = counted.machines[machine]
    for name in dict.fromkeys(one.job.routine for one in timed):
        every = [one for one in timed if one.job.routine == name and one.job.calls]
        if every and spent.routines.get(name):
            yield Weighed(
                name,
                counted.called.get(name, 0),
                spent.routines[name],
                spent.cycles,
                _mean(every, [one.warm for one in every]),
                _mean(every, [one.cold for one in every]),
            )


def _mean(timed: Sequence[Clocked], times: Sequence[tuple[int, int]]) -> tuple[float, float]:
    calls = sum(one.job.calls for one in timed)
    old, new = (
        sum(one.job.calls * pair[side] for one, pair in zip(timed, times, strict=True)) / calls
        for side in (0, 1)
    )
    return old, new
