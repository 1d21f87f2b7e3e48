"""Who waits for whom: results not there yet, and pairs that must keep a distance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from rewriter.core.target.bundled_cpu import Bundled, BundledTraits, Pair, Waits
from rewriter.timing.bundled.latencies import between
from rewriter.timing.bundled.result import Wait

_KEPT = 1 << 14  # answers
_LONG_AGO = -1000  # cycles


class _Result(NamedTuple):
    """A value on its way: written in the role, `late` cycles later than usual."""

    cycle: int
    address: int
    sched: str
    role: str
    late: int


def as_named(register: int) -> int:
    """Registers as the code names them: nothing rotates."""
    return register


@dataclass
class Scoreboard:
    """The state of the registers and of the tables of pairs.

    `renamed` gives the register behind a name.  `blocked` are cycles in which nothing issues, with
    the counter.
    """

    issue: Bundled
    renamed: Callable[[int], int] = as_named
    blocked: dict[int, str] = field(default_factory=dict)
    _results: dict[int, list[_Result]] = field(default_factory=dict)
    _last: dict[int, tuple[int, int]] = field(default_factory=dict)

    def waits(self, traits: BundledTraits, on: bool = True) -> Iterator[Wait]:
        """All that holds the instruction; when it is predicated off, its predicate alone."""
        for role in traits.reads:
            if role.name != "state" and (on or role.name == "qp"):
                for result in self._results.get(self.renamed(role.register), ()):
                    cycles = between(self.issue, result.sched, traits.sched, result.role, role.name)
                    if cycles + result.late:
                        yield self._for_register(role.register, result, cycles)
        if on:
            yield from self._for_pairs(traits.kinds)

    def ready(self, traits: BundledTraits) -> int:
        """The cycle up to which something holds the instruction, if that is late enough to."""
        until, results = 0, self._results
        for role in traits.reads if results else ():
            if role.name != "state":
                for result in results.get(self.renamed(role.register), ()):
                    cycles = between(self.issue, result.sched, traits.sched, result.role, role.name)
                    until = max(until, result.cycle + cycles + result.late)
        if self._last:
            later = _pairs(self.issue, traits.kinds)[1]
            for number, (cycle, _) in self._last.items():
                if number in later:
                    until = max(until, cycle + self.issue.pairs[number].cycles.value)
        return until

    def _for_register(self, register: int, result: _Result, cycles: int) -> Wait:
        waits = _waits(self.issue, register)
        within = "" if result.sched.partition(" ")[0] in waits.except_for else waits.within
        until = result.cycle + cycles + result.late
        return Wait(until, waits.counter, within, result.address)

    def _for_pairs(self, kinds: frozenset[str]) -> Iterator[Wait]:
        _, later = _pairs(self.issue, kinds)
        for number, (cycle, address) in self._last.items():
            if number in later:
                pair = self.issue.pairs[number]
                until = cycle + pair.cycles.value
                yield Wait(until, pair.counter, "", address, _shares(pair, cycle))

    def written(self, traits: BundledTraits) -> int:
        """The cycle in which the last of the values that the instruction reads was computed.

        Its predicate aside; long before the start for values from before it.
        """
        registers = [self.renamed(role.register) for role in traits.reads if role.name == "value"]
        cycles = [each.cycle for n in registers for each in self._results.get(n, ())]
        return max(cycles, default=_LONG_AGO)

    def issued(self, traits: BundledTraits, address: int, cycle: int, late: int = 0) -> None:
        """The instruction was issued; its results come `late` cycles later than usual."""
        for role in traits.writes:
            if role.name == "state":
                continue
            extra = 0 if role.name == "base" else late
            result = _Result(cycle, address, traits.sched, role.name, extra)
            register = self.renamed(role.register)
            if traits.is_predicated:
                kept = self._results.get(register, [])
                self._results[register] = [*kept[-1:], result]
            else:
                self._results[register] = [result]
        for number in _pairs(self.issue, traits.kinds)[0]:
            self._last[number] = (cycle, address)
        for echo in self.issue.echoes:
            if echo.kind in traits.kinds:
                start = cycle + echo.after.value
                self.blocked.update(
                    dict.fromkeys(range(start, start + echo.bubbles.value), echo.counter)
                )


@lru_cache(maxsize=_KEPT)
def _pairs(issue: Bundled, kinds: frozenset[str]) -> tuple[frozenset[int], frozenset[int]]:
    """The pairs in which the kinds come first, and those in which they come second."""
    earlier = (n for n, pair in enumerate(issue.pairs) if pair.earlier & kinds)
    later = (n for n, pair in enumerate(issue.pairs) if pair.later & kinds)
    return frozenset(earlier), frozenset(later)


def _shares(pair: Pair, cycle: int) -> tuple[tuple[int, str], ...]:
    ends = []
    end = cycle + 1
    for counter, bubbles in pair.shares:
        end += bubbles.value
        ends.append((end, counter))
    return tuple(ends)


@lru_cache(maxsize=_KEPT)
def _waits(issue: Bundled, register: int) -> Waits:
    return next(each for each in issue.waits if each.first <= register <= each.last)
