"""What a profile says is hot, and what was done there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rewriter.core.code.program import Refusal
from rewriter.core.edit import Edit
from rewriter.core.plural import counted
from rewriter.elf.headers import printable
from rewriter.identify.profiles import Heat
from rewriter.report.grid import Grid

SHOWN = 10
"""Functions that a summary shows."""


@dataclass(frozen=True)
class Hot:
    """A profile, and the functions that it found with their shares, the hottest first.

    A row is (function, share of 1, number of edits, why it was left alone or "").
    """

    heat: Heat
    rows: tuple[tuple[str, float, int, str], ...]

    @classmethod
    def of(cls, heat: Heat, edits: Iterable[Edit], refusals: Iterable[Refusal]) -> Hot:
        """The profile's functions with what was done to each."""
        made = Counter(edit.routine for edit in edits)
        reasons = {refusal.function.name: refusal.reason for refusal in refusals}
        rows = ((n, part, made[n], reasons.get(n, "")) for n, part in heat.share.items())
        return cls(heat, tuple(rows))

    @property
    def edited(self) -> float:
        """The share of the functions with an edit."""
        return sum(part for _, part, edits, _ in self.rows if edits)

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs; shares of 1."""
        return {
            "format": self.heat.format, "unit": self.heat.unit, "total": self.heat.total,
            "inside": self.heat.inside, "edited": self.edited,
            "functions": [
                {"function": name, "share": part, "edits": edits, "left_alone": reason}
                for name, part, edits, reason in self.rows
            ],
        }  # fmt: skip

    def lines(self) -> Iterator[str]:
        """The profile in one line, then its hottest functions."""
        yield self.first()
        for name, part, edits, reason in self.rows[:SHOWN]:
            done = f"left alone: {printable(reason)}" if reason else counted(edits, "edit")
            yield f"hot: {part:.1%} {printable(name)}, {done}"

    def grids(self) -> Iterator[Grid | str]:
        """The same as a table."""
        rows = tuple(
            (printable(name), f"{part:.1%}", str(edits), printable(reason))
            for name, part, edits, reason in self.rows[:SHOWN]
        )
        columns = ("function", "share", "edits", "left alone")
        yield Grid("hot functions", columns, rows, frozenset({"share", "edits"}))
        yield self.first()

    def first(self) -> str:
        """The profile in one line."""
        heat = self.heat
        inside = f"{heat.inside:.1%} in {counted(len(self.rows), 'function')}"
        what = f"{heat.total} {heat.unit} of {heat.format}"
        return f"profile: {what}: {inside}, {self.edited:.1%} in functions with an edit"
