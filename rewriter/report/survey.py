"""What retune knows of a file before it touches it: functions, tables, pins, refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rewriter.analysis.program import Program
from rewriter.core.code.program import Function, JumpTable, Refusal
from rewriter.core.plural import counted
from rewriter.elf.headers import printable
from rewriter.report.grid import Grid, in_order


@dataclass(frozen=True)
class Survey:
    """The figures of `identify`; `pins` counts by reason, with the names in reasons left out."""

    target: str
    instructions: int
    functions: tuple[Function, ...]
    refusals: tuple[Refusal, ...]
    tables: tuple[JumpTable, ...]
    pins: dict[str, int]

    @property
    def return_code(self) -> int:
        """0 when there is any function, else 4: nothing that could be tuned."""
        return 0 if self.functions else 4

    @property
    def sources(self) -> dict[str, int]:
        """Functions by who said that they are there."""
        return in_order(Counter(f.source for f in self.functions))

    @property
    def reasons(self) -> dict[str, int]:
        """Functions left alone, by reason."""
        return in_order(Counter(r.reason for r in self.refusals))

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        refused = {r.function.start: r.reason for r in self.refusals}
        return {
            "target": self.target,
            "instructions": self.instructions,
            "sources": self.sources,
            "refusals": self.reasons,
            "jump_tables": {
                "exact": sum(t.exact for t in self.tables),
                "inexact": sum(not t.exact for t in self.tables),
            },
            "pins": self.pins,
            "functions": [
                {
                    "name": f.name, "start": f.start, "end": f.end, "source": f.source,
                    "refused": refused.get(f.start),
                }
                for f in self.functions
            ],
        }  # fmt: skip

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """The figures; with a verbosity of 1 each function refused, of 2 each function."""
        instructions = counted(self.instructions, "instruction")
        yield f"{self.target}: {counted(len(self.functions), 'function')}, {instructions}"
        for what, number in self._figures():
            yield f"{what}: {number}"
        for f, reason in self._listed(verbosity):
            said = f": left alone: {printable(reason)}" if reason else ""
            yield f"{f.start:#x} {f.end:#x} {printable(f.name)} ({f.source}){said}"

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same as tables."""
        instructions = counted(self.instructions, "instruction")
        title = f"{self.target}: {counted(len(self.functions), 'function')}, {instructions}"
        rows = tuple((what, str(number)) for what, number in self._figures())
        yield Grid(title, ("what", "number"), rows, frozenset({"number"}))
        listed = tuple(
            (f"{f.start:#x}", f"{f.end:#x}", printable(f.name), f.source, printable(reason))
            for f, reason in self._listed(verbosity)
        )
        if listed:
            columns = ("start", "end", "name", "known from", "left alone")
            yield Grid("functions", columns, listed, frozenset({"start", "end"}))

    def _figures(self) -> Iterator[tuple[str, int]]:
        yield from ((f"functions known by {s}", n) for s, n in self.sources.items())
        yield from ((f"left alone, {printable(r)}", n) for r, n in self.reasons.items())
        yield "jump tables of known length", sum(t.exact for t in self.tables)
        yield "jump tables of unknown length", sum(not t.exact for t in self.tables)
        yield from ((f"pins, {printable(reason)}", n) for reason, n in self.pins.items())

    def _listed(self, verbosity: int) -> Iterator[tuple[Function, str]]:
        refused = {r.function.start: r.reason for r in self.refusals}
        for f in self.functions if verbosity > 0 else ():
            if verbosity > 1 or f.start in refused:
                yield f, refused.get(f.start, "")


def survey(program: Program) -> Survey:
    """Return the figures of a program that was read."""
    reasons = ((f, program.not_understood(f)) for f in program.functions)
    refusals = [Refusal(function, reason) for function, reason in reasons if reason]
    return Survey(
        target=program.target.name,
        instructions=len(program.listing),
        functions=program.functions,
        refusals=tuple(refusals),
        tables=program.references.tables,
        pins=in_order(program.kinds_of_pins()),
    )
