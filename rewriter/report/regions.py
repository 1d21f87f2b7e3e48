"""Bundled code to look at: what retune knows of a file, and one function before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rewriter.core.code.program import Function
from rewriter.core.plural import counted
from rewriter.core.target.bundling import Bundling, Code, Routine
from rewriter.elf.headers import printable
from rewriter.elf.image import Image
from rewriter.report.grid import Grid, in_order
from rewriter.report.listing import Explanation, Line, matched
from rewriter.report.summary.report import Outcome


@dataclass(frozen=True)
class RegionSurvey:
    """The figures of `identify`; regions are counted by why they stay, "" for those that do not."""

    target: str
    bundles: int
    routines: tuple[Routine, ...]

    @property
    def return_code(self) -> int:
        """0 when there is any function, else 4: nothing that could be tuned."""
        return 0 if self.routines else 4

    @property
    def sources(self) -> dict[str, int]:
        """Functions by who said that they are there."""
        return in_order(Counter(r.function.source for r in self.routines))

    @property
    def refusals(self) -> dict[str, int]:
        """Functions left alone, by reason."""
        return in_order(Counter(r.reason for r in self.routines if r.reason))

    @property
    def stays(self) -> dict[str, int]:
        """Functions whose regions keep their places, by reason."""
        return in_order(Counter(r.stays for r in self.routines if r.stays and not r.reason))

    @property
    def regions(self) -> dict[str, int]:
        """Regions of the other functions that stay as they are, by reason."""
        every = (g.reason for r in self.routines if not r.reason for g in r.regions)
        return in_order(Counter(reason for reason in every if reason))

    @property
    def free(self) -> int:
        """Regions that may change."""
        return sum(not g.reason for r in self.routines if not r.reason for g in r.regions)

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "target": self.target,
            "bundles": self.bundles,
            "sources": self.sources,
            "refusals": self.refusals,
            "stays": self.stays,
            "regions": {"free": self.free, "left": self.regions},
            "functions": [
                {
                    "name": r.function.name, "start": r.function.start, "end": r.function.end,
                    "source": r.function.source, "refused": r.reason or None,
                    "stays": r.stays or None, "regions": len(r.regions),
                }
                for r in self.routines
            ],
        }  # fmt: skip

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """The figures; with a verbosity of 1 each function refused, of 2 each function."""
        yield self._title()
        for what, number in self._figures():
            yield f"{what}: {number}"
        for function, regions, said in self._listed(verbosity):
            where = f"{function.start:#x} {function.end:#x} {printable(function.name)}"
            yield f"{where} ({function.source}): {counted(regions, 'region')}{said}"

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same as tables."""
        rows = tuple((what, str(number)) for what, number in self._figures())
        yield Grid(self._title(), ("what", "number"), rows, frozenset({"number"}))
        listed = tuple(
            (f"{f.start:#x}", f"{f.end:#x}", printable(f.name), f.source, str(n), said)
            for f, n, said in self._listed(verbosity)
        )
        if listed:
            columns = ("start", "end", "name", "known from", "regions", "left alone")
            yield Grid("functions", columns, listed, frozenset({"start", "end", "regions"}))

    def _title(self) -> str:
        bundles = counted(self.bundles, "bundle")
        return f"{self.target}: {counted(len(self.routines), 'function')}, {bundles}"

    def _figures(self) -> Iterator[tuple[str, int]]:
        yield from ((f"functions known by {s}", n) for s, n in self.sources.items())
        yield from ((f"left alone, {printable(r)}", n) for r, n in self.refusals.items())
        yield from ((f"keep their places, {printable(r)}", n) for r, n in self.stays.items())
        yield "straight regions that may change", self.free
        yield from ((f"straight regions left alone, {r}", n) for r, n in self.regions.items())

    def _listed(self, verbosity: int) -> Iterator[tuple[Function, int, str]]:
        for r in self.routines if verbosity > 0 else ():
            if verbosity > 1 or r.reason:
                reason = r.reason and f": left alone: {r.reason}"
                yield r.function, len(r.regions), printable(reason)


def survey(target: Bundling, code: Code) -> RegionSurvey:
    """The figures of code that was read."""
    return RegionSurvey(target.name, code.bundles, tuple(map(code.routine, code.functions)))


def explain(
    function: Function, target: Bundling, before: Image, after: Image, outcome: Outcome
) -> Explanation:
    """A function in both files, and what was done to it."""
    old, new = (slots(target, image, function) for image in (before, after))
    edits = tuple(e for e in outcome.edits if e.routine == function.name)
    skips = tuple(s for s in outcome.skips if s.routine == function.name)
    refusals = (r.reason for r in outcome.refusals if r.function == function)
    rows = tuple(matched(old, new, edits))
    return Explanation(function, outcome.cpu.name, rows, edits, skips, next(refusals, ""))


def slots(target: Bundling, image: Image, function: Function) -> list[tuple[object, Line]]:
    """(what it is, how it looks) of each slot; two semicolons are a stop."""
    code = image.read(function.start, function.end - function.start)
    found: list[tuple[object, Line]] = []
    for at in range(0, len(code), target.bundle):
        found += _bundle(target, code[at : at + target.bundle], function.start + at)
    return found


def _bundle(target: Bundling, code: bytes, address: int) -> list[tuple[object, Line]]:
    """The slots of a bundle; one line for bytes that are none."""
    try:
        if len(code) < target.bundle:
            raise ValueError("a part of a bundle")
        slots = list(target.straight(code, address))
    except ValueError:
        return [(code, Line(address, code.hex(), "no instructions"))]
    found: list[tuple[object, Line]] = []
    for slot in slots:
        text = target.table.text(slot.insn, address) + (";;" if slot.stop else "")
        line = Line(slot.address, f"{target.table.encode(slot.insn):011x}", text)
        found.append(((target.place_free(slot.insn), slot.stop), line))
    return found
