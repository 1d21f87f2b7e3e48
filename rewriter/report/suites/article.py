"""The article's suite: each routine's cycles as it is and retuned, and what follows for a mix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rewriter.core.target.cpu import System
from rewriter.report.grid import Grid
from rewriter.suites.article import COUNTED, MEASURED, SOURCE, UNSEEN, Job

_COLUMNS = ("routine", "call", "calls", "caches", "cycles", "retuned", "ratio")
_RIGHT = frozenset({"calls", "cycles", "retuned", "ratio"})


@dataclass(frozen=True, slots=True)
class Timing:
    """Modelled cycles of one job: the file's routine and the tuned one."""

    job: Job
    before: int
    after: int

    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        job = self.job
        caches = "warm" if job.warm else "cold"
        figures = (str(self.before), str(self.after), f"{self.after / self.before:.3f}")
        return (job.routine, job.what, str(job.calls), caches, *figures)


@dataclass(frozen=True)
class Suite:
    """All jobs on one machine; `share` is what the routines take of system time, and `basis` says
    from where that is known.

    `left` are routines that were not timed, with the reason.
    """

    cpu: str
    system: System | None
    share: float
    basis: str
    timings: tuple[Timing, ...]
    left: tuple[tuple[str, str], ...] = ()

    @property
    def return_code(self) -> int:
        """Always 0."""
        return 0

    @property
    def before(self) -> int:
        """Cycles of the whole mix, as it is."""
        return sum(t.job.calls * t.before for t in self.timings)

    @property
    def after(self) -> int:
        """Cycles of the whole mix with the tuned routines."""
        return sum(t.job.calls * t.after for t in self.timings)

    @property
    def gain(self) -> float:
        """By how much system time falls, of one."""
        return self.share * (1 - self.after / self.before) if self.before else 0.0

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "model": self.cpu,
            "machine": self.system.name if self.system is not None else None,
            "share_of_system_time": self.share,
            "share_source": self.basis,
            "mix_source": COUNTED.source,
            "unseen": UNSEEN,
            "jobs": [
                {
                    "routine": t.job.routine,
                    "call": t.job.what,
                    "calls": t.job.calls,
                    "warm": t.job.warm,
                    "cycles": t.before,
                    "retuned": t.after,
                }
                for t in self.timings
            ],
            "not_timed": dict(self.left),
            "cycles": self.before,
            "retuned": self.after,
            "system_time_saved": self.gain,
            "measured": [asdict(row) for row in MEASURED],
            "measured_source": SOURCE,
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """Tab-separated rows, then what follows."""
        yield self._machine()
        yield "\t".join(_COLUMNS)
        yield from ("\t".join(timing.cells()) for timing in self.timings)
        yield from self._conclusion()

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same with the rows as a table."""
        yield self._machine()
        yield Grid("", _COLUMNS, tuple(t.cells() for t in self.timings), _RIGHT)
        yield from self._conclusion()

    def _machine(self) -> str:
        system = self.system
        if system is None:
            return f"cycles by the model of {self.cpu}, with the caches of its description"
        return (
            f"cycles by the model of {self.cpu} in a {system.name}: {system.description};"
            f" {system.clock.value} MHz, {system.line_time.value} ns to move a line,"
            f" {system.latency.value} ns to reach memory"
        )

    def _conclusion(self) -> Iterator[str]:
        yield from (f"not timed: {name}: {why}" for name, why in self.left)
        if not self.before:
            return
        ratio = self.after / self.before
        yield f"the mix, counted: {COUNTED.source}"
        yield f"its cycles: {self.before}, retuned {self.after} = {ratio:.3f}"
        yield (
            f"if these routines take {self.share:.1%} of system time ({self.basis}), it falls by"
            f" {self.gain:.1%}"
        )
        yield from (f"not seen: {what}" for what in UNSEEN)
        yield f"measured on machines, with inlined code and headers rewritten too: {SOURCE}"
        for row in MEASURED:
            yield f"{row.machine}, Linux {row.kernel}, {row.work}: {row.gain}"
