"""The Itanium suite: the article's path as measured, ours as modelled, and the bubbles of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rewriter.core.plural import counted
from rewriter.report.grid import Grid
from rewriter.suites.itanium import BROKEN_DOWN, COUNTED, MEASURED, SOURCE, Stage

_VERSIONS = ("version", "cycles", "groups", "bubbles", "of the first")
_RIGHT = frozenset(_VERSIONS[1:])
_ALL = "BACK_END_BUBBLE.ALL"


@dataclass(frozen=True)
class Story:
    """One function of a file through the stages, on one CPU's model."""

    cpu: str
    function: str
    stages: Sequence[Stage]

    @property
    def return_code(self) -> int:
        """Always 0."""
        return 0

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "model": self.cpu,
            "function": self.function,
            "stages": [
                {
                    "stage": stage.name,
                    "instructions": stage.instructions,
                    "nops": stage.nops,
                    "cycles": stage.timing.cycles,
                    "least_cycles": stage.least,
                    "groups": stage.timing.groups,
                    "bubbles": dict(sorted(stage.timing.bubbles.items())),
                    "of_which": dict(sorted(stage.timing.within.items())),
                    "implicit_splits": dict(sorted(stage.timing.splits.items())),
                }
                for stage in self.stages
            ],
            "measured": [asdict(row) for row in MEASURED],
            "measured_bubbles": {"version": BROKEN_DOWN, **COUNTED},
            "measured_source": SOURCE,
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """Tab-separated tables with a line before each."""
        for grid in self._grids():
            yield grid.title
            yield "\t".join(grid.columns)
            yield from ("\t".join(row) for row in grid.rows)
        yield from self._conclusion()

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same as tables."""
        yield from self._grids()
        yield from self._conclusion()

    def _grids(self) -> Iterator[Grid]:
        measured = [(row.version, row.cycles, row.groups, row.bubbles) for row in MEASURED]
        yield Grid(f"measured: {SOURCE}", _VERSIONS, tuple(_versions(measured)), _RIGHT)
        ours = [(s.name, s.timing.cycles, s.timing.groups, s.timing.stalled) for s in self.stages]
        title = f"modelled: {self.function} on {self.cpu}"
        yield Grid(title, _VERSIONS, tuple(_versions(ours)), _RIGHT)
        columns = ("counter", f"article, {BROKEN_DOWN}", *(stage.name for stage in self.stages))
        yield Grid("bubbles", columns, tuple(self._bubbles()), frozenset(columns[1:]))

    def _bubbles(self) -> Iterator[tuple[str, ...]]:
        timings = [stage.timing for stage in self.stages]
        stalled = (sum(COUNTED.values()), *(timing.stalled for timing in timings))
        yield (_ALL, *map(str, stalled))
        for counter in sorted({*COUNTED, *(c for timing in timings for c in timing.bubbles)}):
            counts = (timing.bubbles.get(counter, 0) for timing in timings)
            yield (counter, str(COUNTED.get(counter, 0)), *map(str, counts))
        for counter in sorted({c for timing in timings for c in timing.within}):
            counts = (timing.within.get(counter, 0) for timing in timings)
            yield (f"of these, {counter}", "", *map(str, counts))
        splits = (str(sum(timing.splits.values())) for timing in timings)
        yield ("implicit splits (no bubbles)", "", *splits)

    def _conclusion(self) -> Iterator[str]:
        for stage in self.stages:
            what = f", {stage.what}" if stage.what else ""
            size = counted(stage.instructions, "instruction")
            yield f"{stage.name}{what}: {size}, {counted(stage.nops, 'nop')}"
        first, last = self.stages[0].timing, self.stages[-1].timing
        yield (
            f"modelled from the article's tables of distances, not measured: {first.cycles} cycles"
            f" become {last.cycles} = {last.cycles / first.cycles:.3f}; the article measured"
            f" {MEASURED[1].cycles} become {MEASURED[3].cycles} ="
            f" {MEASURED[3].cycles / MEASURED[1].cycles:.3f} on a path of its own"
        )
        each = self.stages[0].instructions / first.groups
        yield (
            f"the two do not begin alike: ours as written has {each:.1f} instructions a group"
            f" ({first.groups} groups), and the article's path had"
            f" {MEASURED[1].groups} groups for {MEASURED[1].cycles} cycles when its work began"
        )


def _versions(rows: Sequence[tuple[str, int, int, int]]) -> Iterator[tuple[str, ...]]:
    for name, cycles, groups, bubbles in rows:
        share = f"{cycles / rows[0][1]:.3f}"
        yield (name, str(cycles), str(groups), str(bubbles), share)
