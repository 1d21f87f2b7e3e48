"""The edits that make a command fail, to be looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rewriter.bisect.road import Culprit
from rewriter.core.plural import counted
from rewriter.elf.headers import printable
from rewriter.report.edits import edit_json
from rewriter.report.grid import Grid

SCHEMA = 1
"""The version of the JSON form."""


@dataclass(frozen=True)
class Told:
    """What `retune bisect` found."""

    culprit: Culprit

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        found = self.culprit
        return {
            "schema": SCHEMA,
            "old": found.old,
            "cpu": found.cpu,
            "runs": found.runs,
            "known": found.known,
            "units": found.choices,
            "edits": found.edits,
            "culprit": [
                {
                    "name": unit.name,
                    "function": unit.function.name,
                    "start": unit.function.start,
                    "end": unit.function.end,
                    "edits": [edit_json(edit) for edit in unit.edits],
                }
                for unit in found.units
            ],
            "functions": [explained.as_json() for explained in found.explained],
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """The listing of each function with its edits and their evidence, and a summary."""
        for explained in self.culprit.explained:
            yield from explained.lines(verbosity)
        yield from self._closing()

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same with listings as tables."""
        for explained in self.culprit.explained:
            yield from explained.grids(verbosity)
        yield from self._closing()

    def _closing(self) -> Iterator[str]:
        found = self.culprit
        if len(found.units) > 1:
            yield "these fail together, and no fewer of them:"
        for unit in found.units:
            ids = ", ".join(printable(edit.id) for edit in unit.edits) or "no edit is recorded"
            yield f"culprit: {printable(unit.name)}: {ids}"
        runs = counted(found.runs, "run")
        known = f", {found.known} more known before" if found.known else ""
        several = f"{counted(found.choices, 'function')} with {counted(found.edits, 'edit')}"
        yield f"found among {several} in {runs} of the command{known}"
