"""The article's suite: what its routines take of system time in each machine, and what is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rewriter.core.target.cpu import System
from rewriter.report.grid import Grid
from rewriter.suites.article import (
    COUNTED,
    MACHINES,
    MEASURED,
    PAGES,
    SOURCE,
    UNSEEN,
    Measurement,
    gain,
)
from rewriter.suites.run import Clocked
from rewriter.suites.weighed import Weighed

_CALLS = ("routine", "call", "calls", "warm", "retuned", "ratio", "cold", "retuned", "ratio")
_ROUTINES = (
    *("routine", "of instructions", "of cycles", "cycles a call", "warm", "cold"),
    *("coldness", "left", "saves"),
)
_TABLES = (
    *("table", "machine", "Linux", "work", "system time", "falls by", "old/new - 1"),
    *("the model: falls by", "old/new - 1"),
)
_TEXT = frozenset({"routine", "call", "machine", "Linux", "work"})


@dataclass(frozen=True)
class OnMachine:
    """The suite in one machine; `share` is what the routines take of system time, where that is
    given and not counted."""

    system: System
    clocked: tuple[Clocked, ...]
    routines: tuple[Weighed, ...]
    share: float | None = None

    @property
    def counted(self) -> float:
        """What the routines take of system time, as counted."""
        return sum(one.share for one in self.routines)

    @property
    def falls(self) -> float:
        """By how much system time falls, of one."""
        saved = sum(one.saved for one in self.routines)
        if self.share is None or not self.counted:
            return saved
        return saved * self.share / self.counted

    @property
    def gains(self) -> float:
        """The same as old / new - 1, as the article has it."""
        return gain(self.falls)

    @property
    def left(self) -> float:
        """What is left of the routines' cycles, of one."""
        return 1 - sum(one.saved for one in self.routines) / self.counted if self.counted else 1.0

    @property
    def pages(self) -> float:
        """What pages that are cleared and copied take of system time, of one."""
        return sum(one.share for one in self.routines if one.routine in PAGES)

    def as_json(self) -> dict[str, Any]:
        """Everything of it, for programs."""
        return {
            "machine": self.system.name,
            "share_of_system_time": self.counted if self.share is None else self.share,
            "left_of_the_routines": self.left,
            "falls_by": self.falls,
            "old_over_new_less_one": self.gains,
            "routines": [
                asdict(one)
                | {"share": one.share, "coldness": one.coldness, "left": one.ratio}
                | {"saves": one.saved}
                for one in self.routines
            ],
            "jobs": [
                {
                    "routine": one.job.routine,
                    "call": one.job.what,
                    "calls": one.job.calls,
                    "warm": list(one.warm),
                    "cold": list(one.cold),
                }
                for one in self.clocked
            ],
        }


@dataclass(frozen=True)
class Article:
    """The suite on a CPU in some machines; `retuned` says whose the retuned routines are, `left`
    which were not timed, with the reason."""

    cpu: str
    machines: tuple[OnMachine, ...]
    retuned: str
    left: tuple[tuple[str, str], ...] = ()

    @property
    def return_code(self) -> int:
        """Always 0."""
        return 0

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "model": self.cpu,
            "retuned": self.retuned,
            "mix_source": COUNTED.source,
            "recorded": COUNTED.recorded,
            "machines": [one.as_json() for one in self.machines],
            "unseen": UNSEEN,
            "not_timed": dict(self.left),
            "in_the_articles_order": self._in_order(),
            "missing": [*self._missing()],
            "measured": [asdict(row) | {"falls": row.falls} for row in MEASURED],
            "measured_source": SOURCE,
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """Tab-separated rows, then what follows."""
        for part in self.grids(verbosity):
            if isinstance(part, str):
                yield part
            else:
                yield "\t".join(part.columns)
                yield from ("\t".join(row) for row in part.rows)

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The rows as tables, and what follows."""
        for one in self.machines:
            yield self._machine(one.system)
            yield _grid(_CALLS, [_job(each) for each in one.clocked])
        yield from (f"not timed: {name}: {why}" for name, why in self.left)
        yield f"retuned: {self.retuned}"
        yield f"the mix, counted: {COUNTED.source}"
        yield f"cycles, recorded: {COUNTED.recorded}"
        for one in self.machines:
            yield f"{one.system.name}: the routines in system time, by cycles as recorded"
            yield _grid(_ROUTINES, [_routine(each) for each in one.routines])
            yield _conclusion(one)
        yield from (f"not seen: {what}" for what in UNSEEN)
        yield f"measured on machines, with inlined code and headers rewritten too: {SOURCE}"
        yield _grid(_TABLES, [self._measured(row) for row in MEASURED])
        yield from self._order()
        yield from self._missing()

    def _machine(self, system: System) -> str:
        return (
            f"cycles by the model of {self.cpu} in a {system.name}: {system.description};"
            f" {system.clock.value} MHz, {system.line_time.value} ns to move a line,"
            f" {system.latency.value} ns to reach memory ({system.latency.source})"
        )

    def _on(self, machine: str) -> OnMachine | None:
        return next((one for one in self.machines if one.system.name == machine), None)

    def _measured(self, row: Measurement) -> tuple[str, ...]:
        one = self._on(row.machine)
        ours = (f"{one.falls:.1%}", f"{one.gains:.1%}") if one is not None else ("-", "-")
        seconds = "{} to {} s".format(*row.seconds) if row.seconds else "-"
        cells = (row.table, row.machine, row.kernel, row.work, seconds)
        return (*cells, _range(row.falls), _range(row.gains), *ours)

    def _in_order(self) -> bool | None:
        """Whether the article's machines come in its order; None unless both were asked for."""
        first, second = (self._on(name) for name in MACHINES)
        return None if first is None or second is None else first.gains > second.gains

    def _order(self) -> Iterator[str]:
        """How the machines of the article come, and why."""
        if (right := self._in_order()) is None:
            return
        told = ", ".join(
            f"{one.system.name} {one.gains:.1%} (a page cleared or copied is {one.pages:.1%} of"
            f" its system time)"
            for one in self.machines
        )
        yield f"old/new - 1 by the model {'' if right else 'not '}in the article's order: {told}"

    def _missing(self) -> Iterator[str]:
        """What the routines would have to take for what was measured."""
        for row in MEASURED:
            one = self._on(row.machine)
            if one is None or row.seconds is None or one.left >= 1:
                continue
            wanted = row.falls[1] / (1 - one.left)
            have = one.counted if one.share is None else one.share
            yield (
                f"{one.system.name}: for a fall by {row.falls[1]:.1%} with {one.left:.3f} of their"
                f" cycles left the routines would have to take {wanted:.1%} of system time; they"
                f" take {have:.1%}, {wanted / have:.2f} times less"
            )


def _grid(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Grid:
    return Grid("", columns, tuple(rows), frozenset(columns) - _TEXT)


def _job(one: Clocked) -> tuple[str, ...]:
    job = one.job
    times = (
        cell for old, new in (one.warm, one.cold) for cell in (f"{old}", f"{new}", _ratio(old, new))
    )
    return (job.routine, job.what, str(job.calls), *times)


def _ratio(old: int, new: int) -> str:
    return f"{new / old:.3f}"


def _routine(one: Weighed) -> tuple[str, ...]:
    executed = COUNTED.executed.get(one.routine, 0) / COUNTED.instructions
    return (
        one.routine,
        f"{executed:.1%}",
        f"{one.share:.1%}",
        f"{one.call:.0f}",
        f"{one.warm[0]:.0f}",
        f"{one.cold[0]:.0f}",
        f"{one.coldness:.2f}",
        f"{one.ratio:.3f}",
        f"{one.saved:.1%}",
    )


def _conclusion(one: OnMachine) -> str:
    share, how = (one.counted, "counted") if one.share is None else (one.share, "--share")
    return (
        f"{one.system.name}: these routines take {share:.1%} of the cycles of system time ({how}),"
        f" {one.left:.3f} of them are left: it falls by {one.falls:.1%}, old/new - 1 ="
        f" {one.gains:.1%}"
    )


def _range(pair: tuple[float, float]) -> str:
    low, high = pair
    return f"{low:.1%}" if low == high else f"{low:.1%} to {high:.1%}"
