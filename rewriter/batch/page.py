"""The page of a run: every file, what became of it, and what was gained."""

from __future__ import annotations

from rewriter.batch.summary import Line, Summary
from rewriter.elf.headers import printable
from rewriter.elf.manifest import version
from rewriter.report.html.archive import Row, archive


def page(summary: Summary, title: str) -> bytes:
    """One HTML file that needs no network; `title` says what was worked on."""
    return archive(map(_row, summary.each), title, version())


def _row(line: Line) -> Row:
    figures = line.figures
    return Row(
        file=printable(line.path),
        machine=figures.machine,
        cpu=figures.cpu,
        edits=figures.passes,
        grades=figures.grades,
        bytes=figures.size,
        saved=figures.saved,
        status=line.status,
        reason=printable(line.reason),
        seconds=figures.seconds,
    )
