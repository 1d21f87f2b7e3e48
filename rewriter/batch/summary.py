"""What became of all files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rewriter.batch.outcome import (
    ALREADY,
    BELOW,
    DENIED,
    FAILED,
    LOST,
    NOTHING,
    REFUSED,
    STATUSES,
    TUNED,
    Figures,
)
from rewriter.core.errors import BadInput, EveryFileRefused, NothingToDo, VerificationFailed
from rewriter.core.plural import counted
from rewriter.elf.headers import printable
from rewriter.report.grid import Grid, in_order, joined
from rewriter.report.summary.expected import fewer
from rewriter.road.source_lines import NO_LONGER_FITS, REFUSED_BY_ID

_TOLD = (REFUSED, FAILED, LOST)


@dataclass(frozen=True)
class Line:
    """One file: `how` is empty where work was done, else where the result was known from."""

    path: str
    status: str
    reason: str
    figures: Figures
    how: str = ""


@dataclass(frozen=True)
class Summary:
    """What became of all files; `strict` says that a refused file is a failure.

    `foreign` counts files of other kinds; `faults` are names that lead to no file to work on, each
    with the reason.
    """

    each: tuple[Line, ...] = ()
    foreign: int = 0
    faults: tuple[tuple[str, str], ...] = ()
    strict: bool = False

    @property
    def files(self) -> Summary:
        """What became of the files: all of it, where no packages were around them."""
        return self

    @property
    def counts(self) -> dict[str, int]:
        """Files by what became of them."""
        found = Counter(line.status for line in self.each)
        return {status: found[status] for status in STATUSES if found[status]}

    @property
    def return_code(self) -> int:
        """The exit status.

        | status | meaning |
        |---|---|
        | 0 | every file is tuned, was before, or is left alone as the policy says |
        | 1 | a file failed or was lost, or was refused where the policy makes that a failure |
        | 3 | a name leads to no file that retune can work on |
        | 4 | nothing to do, or less than is wanted: no file was changed, now or before |
        | 5 | every file that the policy wants was refused |
        """
        counts = self.counts
        if counts.get(FAILED) or counts.get(LOST) or (self.strict and counts.get(REFUSED)):
            return VerificationFailed.exit_code
        if self.faults:
            return BadInput.exit_code
        if counts.get(TUNED) or counts.get(ALREADY):
            return 0
        every = counts.get(REFUSED) and not (counts.get(NOTHING) or counts.get(BELOW))
        return EveryFileRefused.exit_code if every else NothingToDo.exit_code

    @property
    def figures(self) -> Figures:
        """The sums of all tuned files, and the text of all that were worked on."""
        passes, grades, left = Counter[str](), Counter[str](), Counter[str]()
        for line in self.each:
            passes.update(line.figures.passes)
            grades.update(line.figures.grades)
            left.update(line.figures.left)
        every = [line.figures for line in self.each]
        return Figures(
            size=sum(one.size for one in every),
            text=sum(one.text for one in every),
            functions=sum(one.functions for one in every),
            instructions=sum(one.instructions for one in every),
            edits=sum(one.edits for one in every),
            saved=sum(one.saved for one in every),
            changed=sum(one.changed for one in every),
            apart=sum(one.apart for one in every),
            seconds=sum(one.seconds for one in every),
            passes=in_order(passes),
            grades=in_order(grades),
            left=in_order(left),
        )

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs; times are in the journal alone."""
        return {
            "return_code": self.return_code,
            "files": self.counts,
            "foreign": self.foreign,
            "total": _of_all(self.figures),
            "faults": [{"path": path, "reason": reason} for path, reason in self.faults],
            "each": [
                {"path": one.path, "status": one.status, "reason": one.reason, "known": one.how}
                | _timeless(one.figures)
                for one in self.each
            ],
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """The summary as plain lines."""
        for line in self._shown(verbosity):
            yield ": ".join(filter(None, (line.status, printable(line.path), _said(line))))
        yield from self._closing()

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The summary as tables."""
        shown = self._shown(verbosity)
        if shown:
            rows = tuple((printable(one.path), one.status, _said(one)) for one in shown)
            yield Grid("files", ("file", "status", "what"), rows)
        yield from self._closing()

    def _shown(self, verbosity: int) -> list[Line]:
        """Files to be told of: those that want a look, or all."""
        return [one for one in self.each if verbosity > 0 or one.status in _TOLD]

    def _closing(self) -> Iterator[str]:
        yield from (f"{printable(path)}: {printable(reason)}" for path, reason in self.faults)
        reasons = Counter(one.reason for one in self.each if one.status == DENIED)
        for reason, number in in_order(reasons).items():
            yield f"left alone: {counted(number, 'file')}: {printable(reason)}"
        total = self.figures
        if total.functions:
            read = counted(total.instructions, "instruction")
            found = counted(total.functions, "function")
            yield f"read: {found}, {read}, {counted(total.text, 'byte')} of text"
        if total.edits:
            yield f"edits by pass: {joined(total.passes)}"
            yield f"evidence: {joined(total.grades)}"
            yield (
                f"{counted(total.edits, 'edit')}, {counted(total.changed, 'byte')} changed,"
                f" {counted(total.saved, 'instruction')} saved"
            )
        if total.apart:
            files = counted(total.apart, "file")
            yield f"debug information: {NO_LONGER_FITS} {files}; {REFUSED_BY_ID}"
        if total.seconds:
            yield f"processor time: {total.seconds:.1f} s"
        every = ", ".join(f"{number} {status}" for status, number in self.counts.items())
        others = f"; {self.foreign} of other kinds" if self.foreign else ""
        yield f"{counted(len(self.each), 'file')}: {every or 'none'}{others}"


def _timeless(figures: Figures) -> dict[str, Any]:
    document = figures.as_json()
    del document["seconds"]
    return document


def _of_all(figures: Figures) -> dict[str, Any]:
    document = _timeless(figures)
    del document["machine"], document["cpu"], document["expected"], document["basis"]
    return document


def _said(line: Line) -> str:
    if line.status == TUNED and not line.reason:
        edits, saved = line.figures.edits, line.figures.saved
        text = f"{counted(edits, 'edit')}, {counted(saved, 'instruction')} saved"
        if line.figures.expected is not None:
            text += f", {fewer(line.figures.expected)} expected"
        return f"{text} ({line.how})" if line.how else text
    return printable(line.reason)
