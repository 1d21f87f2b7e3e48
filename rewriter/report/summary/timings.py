"""Where a run's time went: processor time by step, what one process did alone, and what it gave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rewriter.core.run.ledger import Ledger
from rewriter.report.edits import gain
from rewriter.report.grid import Grid
from rewriter.report.summary.tallies import Tally

_MANY = 8
"""Processes of a larger machine, which a run is laid out for."""


@dataclass(frozen=True)
class Spent:
    """One step: `processor` and `alone` are seconds, the second of one process working alone.

    A step that is a pass has its sites, and what the rewritten ones gain.
    """

    step: str
    processor: float
    alone: float
    sites: int | None = None
    saved: int = 0
    cycles: Fraction | None = None

    @property
    def gain(self) -> str:
        """What the sites gave, in words; nothing for what is no pass."""
        return "" if self.sites is None else gain(self.saved, self.cycles)


@dataclass(frozen=True)
class Timings:
    """The cost of a run that was shared by `processes`.

    `processor` is all that the process and its copies took, with their start; `serial` what of it
    could not be shared; `several` are seconds by number of processes, laid out from the lengths of
    the tasks; `counts` are what was done how often.
    """

    processes: int
    seconds: float
    processor: float
    serial: float
    steps: tuple[Spent, ...]
    several: Mapping[int, float]
    counts: Mapping[str, int]

    @classmethod
    def of(cls, ledger: Ledger, tallies: Iterable[Tally], processes: int) -> Timings:
        """What was kept of a run."""
        by_pass: dict[str, list[Tally]] = {}
        for tally in tallies:
            by_pass.setdefault(tally.technique, []).append(tally)
        alone = ledger.alone(processes)
        seconds = dict.fromkeys(by_pass, 0.0) | ledger.seconds
        names = sorted(seconds, key=lambda name: (-seconds[name], name))
        return cls(
            processes=processes,
            seconds=ledger.clocked,
            processor=ledger.processor,
            serial=ledger.processor - ledger.shareable,
            steps=tuple(
                _spent(name, seconds[name], alone.get(name, 0.0), by_pass.get(name))
                for name in names
            ),
            several={n: ledger.simulated(n) for n in (1, 2, _MANY)},
            counts=dict(sorted(ledger.counts.items())),
        )

    @property
    def share(self) -> float:
        """What of the processor time is serial."""
        return self.serial / self.processor if self.processor else 0.0

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs: seconds differ from run to run."""
        return {
            "processes": self.processes,
            "seconds": round(self.seconds, 3),
            "processor": round(self.processor, 3),
            "serial": round(self.serial, 3),
            "steps": [
                {
                    "step": one.step, "processor": round(one.processor, 3),
                    "alone": round(one.alone, 3), "sites": one.sites, "saved": one.saved,
                    "cycles": None if one.cycles is None else float(one.cycles),
                }
                for one in self.steps
            ],
            "laid_out": {str(n): round(seconds, 3) for n, seconds in self.several.items()},
            "counts": dict(self.counts),
        }  # fmt: skip

    def lines(self) -> Iterator[str]:
        """The report as plain lines."""
        for one in self.steps:
            said = f"{one.processor:.2f} s of processor, {one.alone:.2f} s alone"
            sites = "" if one.sites is None else f", {one.sites} sites, {one.gain}"
            yield f"time, {one.step}: {said}{sites}"
        yield from self._closing()

    def grids(self) -> Iterator[Grid | str]:
        """The steps as a table, and what holds for the whole run."""
        rows = tuple(
            (
                one.step, f"{one.processor:.2f} s", f"{one.alone:.2f} s",
                "" if one.sites is None else str(one.sites), one.gain,
            )
            for one in self.steps
        )  # fmt: skip
        columns = ("step", "processor", "alone", "sites", "gain")
        yield Grid("time by step", columns, rows, frozenset(columns[1:4]))
        yield from self._closing()

    def _closing(self) -> Iterator[str]:
        """What holds for the whole run."""
        yield (
            f"time: {self.seconds:.2f} s, {self.processor:.2f} s of processor,"
            f" {100 * self.share:.0f} % of it serial"
        )
        one = self.several[1]
        faster = (f"{n} processes {one / s:.2f} times" for n, s in self.several.items() if n > 1)
        yield f"laid out by the lengths of tasks: {', '.join(faster)} as fast as one"
        yield from (f"counted: {number} {what}" for what, number in self.counts.items())


def _spent(step: str, processor: float, alone: float, tallies: list[Tally] | None) -> Spent:
    if tallies is None:
        return Spent(step, processor, alone)
    cycles = [tally.cycles for tally in tallies if tally.cycles is not None]
    return Spent(
        *(step, processor, alone, sum(tally.sites for tally in tallies)),
        saved=sum(tally.saved for tally in tallies),
        cycles=sum(cycles, Fraction(0)) if cycles else None,
    )
