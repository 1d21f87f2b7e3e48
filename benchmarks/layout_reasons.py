"""Which functions take most branches above the best order in chains, and why they do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.layout_bound import Bound, Executed
from passes.align import Align
from passes.layout import ByProfile
from rewriter.core.code.program import Function

HEAD = ("function", "before", "after", "at best", "why")
UNCOUNTED = "the profile counted no branch there"


@dataclass(frozen=True)
class Reasons:
    """What a patch said of the order of functions, by where they start."""

    said: Mapping[int, str]

    @classmethod
    def read(cls, path: Path) -> Reasons:
        """From the document that `retune patch --json` printed."""
        document, said = json.loads(path.read_text(encoding="utf-8")), dict[int, str]()
        for skip in document["skips"]:
            if skip["pass"] in (Align.name, ByProfile.name):
                said[skip["address"]] = skip["reason"]
        for edit in document["edits"]:
            if edit["pass"] == ByProfile.name:
                said[edit["address"]] = f"ordered: {edit['old']}: {edit['new']}"
        return cls(said)

    def lines(self, bound: Bound, after: Executed, most: int) -> Iterator[str]:
        """So many functions as lines of Markdown, those with most above the bound first.

        What they take is a part of all that was taken before.  Of a function that is not understood
        no bound is known, and all that it takes counts.
        """
        yield f"| {' | '.join(HEAD)} |\n|" + "---|" * len(HEAD)
        found = sorted(self._found(bound, after), key=lambda row: row[0], reverse=True)
        for _, cells in found[:most]:
            yield f"| {' | '.join(cells)} |"

    def _found(self, bound: Bound, after: Executed) -> Iterator[tuple[int, Sequence[str]]]:
        """Functions where something was taken: how much above the bound, and the cells."""
        run, program = bound.run, bound.run.program
        for function in program.functions:
            before, now = run.taken_in(function), after.taken_in(function)
            if before or now:
                fewer = bound.fewer.get(function)
                best = None if fewer is None else before - fewer
                shares = (
                    "-" if many is None else f"{many / run.taken:.4f}"
                    for many in (before, now, best)
                )
                name = f"{function.name} ({function.start:#x})"
                yield now - (best or 0), (name, *shares, self._why(bound, function))

    def _why(self, bound: Bound, function: Function) -> str:
        said = self.said.get(function.start) or UNCOUNTED
        return bound.run.program.not_understood(function) or said
