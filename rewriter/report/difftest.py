"""A differential test, to be looked at; the same form for every kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rewriter.core.errors import VerificationFailed
from rewriter.core.plural import counted
from rewriter.difftest.case import Case, Comparison, Verdict
from rewriter.elf.headers import printable
from rewriter.report.grid import Grid

FEW = 4  # cases that are listed even when nothing is to be said of them
SCHEMA = 1
"""The version of the JSON form: it grows when a key changes its meaning or goes."""


def document(comparison: Comparison) -> dict[str, Any]:
    """A comparison for programs; `seconds` are the host's."""
    counts = comparison.counts
    return {
        "schema": SCHEMA,
        "kind": comparison.kind,
        "old": comparison.old,
        "new": comparison.new,
        "same": comparison.same,
        "counts": {verdict.value: counts.get(verdict, 0) for verdict in Verdict},
        "notes": list(comparison.notes),
        "cases": [_case(case) for case in comparison.cases],
    }


def _case(case: Case) -> dict[str, Any]:
    old, new = case.executed or (None, None)
    return {
        "name": case.name,
        "verdict": case.verdict.value,
        "detail": case.detail,
        "difference": list(case.difference),
        "unstable": list(case.unstable),
        "seconds": {"old": round(case.seconds[0], 3), "new": round(case.seconds[1], 3)},
        "executed": None if case.executed is None else {"old": old, "new": new},
    }


@dataclass(frozen=True)
class Compared:
    """What `retune difftest` found."""

    comparison: Comparison

    @property
    def return_code(self) -> int:
        """0 when both do the same, else 1."""
        return 0 if self.comparison.same else VerificationFailed.exit_code

    @property
    def verdict(self) -> str:
        """What speaks against a new file that does not do the same."""
        first = self.comparison.first
        return "" if first is None else f"{printable(first.name)}: {first.detail}"

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return document(self.comparison)

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """What differs or is unusable, case by case, and how many there are; -v lists all."""
        for case in self._listed(verbosity):
            detail = f": {case.detail}" if case.detail else ""
            more = f"; {self._counted(case)}" if case.executed else ""
            yield f"{case.verdict.value}: {printable(case.name)}{detail}{more}"
            yield from (f"  {line}" for line in case.difference)
            if case.unstable:
                yield f"  varies by itself, not compared: {', '.join(case.unstable)}"
        yield from self._closing()

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same with the cases as a table."""
        rows = tuple(
            (case.verdict.value, printable(case.name), case.detail, self._counted(case))
            for case in self._listed(verbosity)
        )
        if rows:
            yield Grid(f"difftest {self.comparison.kind}", ("", "case", "", "executed"), rows)
        for case in self._listed(verbosity):
            if case.difference:
                yield f"{printable(case.name)}:"
                yield from (f"  {line}" for line in case.difference)
            if case.unstable:
                yield f"{printable(case.name)} varies by itself in: {', '.join(case.unstable)}"
        yield from self._closing()

    def _listed(self, verbosity: int) -> Iterator[Case]:
        for case in self.comparison.cases:
            told = case.verdict is not Verdict.SAME or case.unstable
            if told or verbosity > 0 or len(self.comparison.cases) <= FEW:
                yield case

    def _counted(self, case: Case) -> str:
        if case.executed is None:
            return ""
        old, new = case.executed
        return f"{counted(old, 'instruction')}, {new} = {new / old:.4f}" if old else f"{old}, {new}"

    def _closing(self) -> Iterator[str]:
        found, counts = self.comparison, self.comparison.counts
        yield from found.notes
        executed = [case.executed for case in found.cases if case.executed is not None]
        if len(executed) > 1:
            old, new = (sum(side) for side in zip(*executed, strict=True))
            yield f"executed: {counted(old, 'instruction')}, {new} = {new / old:.4f}"
        said = ", ".join(f"{counts[v]} {v.value}" for v in Verdict if counts.get(v))
        yield f"{printable(found.old)} and {printable(found.new)}: {said or 'no case'}"
