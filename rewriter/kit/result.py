"""What the text file of a kit's run says, beside the model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import correlation, median
from typing import Any

from rewriter.core.errors import BadInput
from rewriter.kit.folder import FORM
from rewriter.report.grid import Grid

_CLOCKS = {"clock": 1e6, "cycle frequency [hz]": 1.0, "cpu mhz": 1e6}
"""How /proc/cpuinfo calls the clock, and in what."""
_COLUMNS = ("routine", "side", "calls", "measured", "modelled", "error", "of old", "by the model")
_RIGHT = frozenset(_COLUMNS[2:])
_LEAST = 0.25
"""Cycles: what is left of a call at least when the empty one is taken off."""
_LARGEST = 4 << 20


@dataclass(frozen=True)
class Row:
    """A routine on one side: cycles of all its calls, measured and by the model, and the mean of
    the calls' own errors; the same as parts of what the old side takes."""

    routine: str
    side: str
    calls: int
    measured: float
    modelled: int
    error: float
    ratio: float
    expected: float

    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        figures = f"{self.measured:.0f}", str(self.modelled), f"{self.error:.0%}"
        return (
            *(self.routine, self.side, str(self.calls), *figures),
            *(f"{self.ratio:.3f}", f"{self.expected:.3f}"),
        )


@dataclass(frozen=True)
class Measured:
    """One run of a kit, parsed.

    `points` are routines by the number of a call; `cycles` and `times` (nanoseconds) are by side
    and number.  `hertz` is the clock that the machine names, 0 where it names none.  `unlike` is
    what the old library does and no contract says, `wrong` what another does and the old does not.
    """

    name: str
    size: int
    target: str
    model: str
    system: str
    hertz: float
    empty: float
    points: Mapping[int, str]
    cycles: Mapping[tuple[str, int], int]
    times: Mapping[tuple[str, int], float]
    checked: int
    programs: int
    unlike: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def return_code(self) -> int:
        """1 where a library did not do what it must."""
        return int(bool(self.wrong))

    @cached_property
    def both(self) -> tuple[tuple[str, int], ...]:
        """The calls that were timed and that the model ran."""
        return tuple(sorted(self.cycles.keys() & self.times.keys()))

    @cached_property
    def per_cycle(self) -> float:
        """Nanoseconds of a cycle: by the clock, or as makes the median of all errors nothing."""
        if self.hertz:
            return 1e9 / self.hertz
        parts = [self._spent(key) / self.cycles[key] for key in self.both]
        return median(parts) if parts else 1.0

    def measured(self, key: tuple[str, int]) -> float:
        """Cycles of a call beyond those of an empty one."""
        return max(_LEAST, self._spent(key) / self.per_cycle)

    def _spent(self, key: tuple[str, int]) -> float:
        return max(0.01, self.times[key] - self.empty)

    @cached_property
    def correlation(self) -> float | None:
        """Of the logarithms of measured and modelled cycles; None where too little was measured."""
        measured = [math.log(self.measured(key)) for key in self.both]
        modelled = [math.log(max(1, self.cycles[key])) for key in self.both]
        if len(set(measured)) < 2 or len(set(modelled)) < 2:
            return None
        return correlation(measured, modelled)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Each routine on each side."""
        groups: dict[tuple[str, str], list[tuple[str, int]]] = {}
        for side, number in self.both:
            groups.setdefault((self.points[number], side), []).append((side, number))
        return tuple(self._row(*of, keys) for of, keys in sorted(groups.items()))

    def _row(self, routine: str, side: str, keys: Sequence[tuple[str, int]]) -> Row:
        measured, modelled = self._sums(keys)
        before = [("old", number) for _, number in keys if ("old", number) in self.both]
        was, expected = self._sums(before)
        errors = [abs(self.measured(key) / self.cycles[key] - 1) for key in keys]
        parts = (measured / was, modelled / expected) if before else (math.nan, math.nan)
        error = sum(errors) / len(errors)
        return Row(routine, side, len(keys), measured, int(modelled), error, *parts)

    def _sums(self, keys: Sequence[tuple[str, int]]) -> tuple[float, float]:
        return sum(map(self.measured, keys)), float(sum(self.cycles[key] for key in keys))

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "target": self.target,
            "model": self.model,
            "system": self.system,
            "clock_hz": self.hertz or None,
            "nanoseconds_of_a_cycle": self.per_cycle,
            "checked": self.checked,
            "programs": self.programs,
            "unlike": list(self.unlike),
            "wrong": list(self.wrong),
            "correlation": self.correlation,
            "routines": [
                {
                    "routine": row.routine,
                    "side": row.side,
                    "calls": row.calls,
                    "cycles": row.measured,
                    "modelled": row.modelled,
                    "error": row.error,
                    "ratio": row.ratio,
                    "modelled_ratio": row.expected,
                }
                for row in self.rows
            ],
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """Tab-separated rows, and what they say."""
        yield self._where()
        yield "\t".join(_COLUMNS)
        yield from ("\t".join(row.cells()) for row in self.rows)
        yield from self._conclusion()

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same with the rows as a table."""
        yield self._where()
        yield Grid("", _COLUMNS, tuple(row.cells() for row in self.rows), _RIGHT)
        yield from self._conclusion()

    def _where(self) -> str:
        clock = f"{self.hertz / 1e6:.0f} MHz as it says" if self.hertz else "a clock that fits"
        return f"{self.target} {self.model} on {self.system}: {clock}"

    def _conclusion(self) -> Iterator[str]:
        yield f"checksums: {self.checked} routines, programs: {self.programs}"
        yield from (f"not as its contract says: {what}" for what in self.unlike)
        yield from (f"wrong: {what}" for what in self.wrong)
        if self.correlation is None:
            yield "correlation of measured and modelled cycles: too little was measured"
        else:
            yield (
                f"correlation of measured and modelled cycles: {self.correlation:.3f}"
                f" over {len(self.both)} calls"
            )
        yield f"to send: {self.name} ({self.size} bytes of text) and the output of this command"


def read(data: bytes, name: str) -> Measured:
    """A run's text file; BadInput where it is none, or ends early."""
    if len(data) > _LARGEST:
        raise BadInput(f"{name}: is too large for the result of a kit")
    lines = data.decode("utf-8", "replace").splitlines()
    if lines[:1] != [FORM]:
        raise BadInput(f"{name}: is not the result of a kit", hint=f"it begins with {FORM!r}")
    if lines[-1] != "end":
        raise BadInput(f"{name}: ends early", hint="send what there is, and run it again")
    by: dict[str, list[list[str]]] = {}
    for line in lines[1:-1]:
        word, *rest = line.split() or [""]
        by.setdefault(word, []).append(rest)
    try:
        return _measured(name, len(data), by)
    except (IndexError, ValueError) as error:
        raise BadInput(f"{name}: a line is damaged: {error}") from error


def _measured(name: str, size: int, by: Mapping[str, list[list[str]]]) -> Measured:
    points = {int(number): routine for number, routine, *_ in by.get("point", ())}
    cycles = {(side, int(n)): int(count) for side, n, count in by.get("cycles", ())}
    if any(count < 1 for count in cycles.values()):
        raise ValueError("a call takes no cycles")
    empty, times = _times(by.get("round", ()))
    return Measured(
        name=name,
        size=size,
        target=" ".join(by["target"][0]) if "target" in by else "",
        model=" ".join(by["model"][0]) if "model" in by else "",
        system=" ".join(by["system"][0]) if "system" in by else "",
        hertz=_hertz(by.get("cpuinfo", ())),
        empty=empty,
        points=points,
        cycles={key: count for key, count in cycles.items() if key[1] in points},
        times=times,
        checked=len({one[1] for one in by.get("got", ()) if one[2] == "check"}),
        programs=len({one[1] for one in by.get("program", ())}),
        unlike=_said(by, "unlike"),
        wrong=_said(by, "wrong"),
    )


def _said(by: Mapping[str, list[list[str]]], word: str) -> tuple[str, ...]:
    return tuple(" ".join(one) for one in by.get(word, ()))


def _times(
    lines: Sequence[Sequence[str]],
) -> tuple[float, dict[tuple[str, int], float]]:
    """Nanoseconds of an empty call, and of each call: the least of all rounds."""
    empty, times = list[float](), dict[tuple[str, int], float]()
    for _, side, what, *rest in lines:
        if what == "empty":
            empty.append(_finite(rest[0]))
        elif what == "time":
            key, time = (side, int(rest[0])), _finite(rest[1])
            times[key] = min(time, times.get(key, time))
    return min(empty, default=0.0), times


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{text} is no time")
    return number


def _hertz(lines: Sequence[Sequence[str]]) -> float:
    """The clock that /proc/cpuinfo names, the highest; 0 where it names none."""
    found = [0.0]
    for words in lines:
        field, colon, value = " ".join(words).partition(":")
        unit = _CLOCKS.get(field.strip().lower())
        if colon and unit is not None:
            digits = value.strip().lower().removesuffix("mhz").split(" ")[0]
            found.append(_finite(digits) * unit)
    return max(found)
