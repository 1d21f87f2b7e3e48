"""Results on stdout, progress on stderr: for people on a terminal, for programs elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from rewriter.core.errors import OutOfResources

if TYPE_CHECKING:
    from rewriter.cli.options import View
    from rewriter.report.grid import Reported

Progress = Callable[[str, int, int], None]
"""Called with a stage, how much of it is done, and how much there is."""


def result(report: Reported, view: View) -> None:
    """Print a report: one JSON document, tables, or plain lines.

    OutOfResources where standard output does not take it.
    """
    if view.verbosity < 0:
        return
    if sys.stdout is None:
        raise OutOfResources("standard output is closed")
    with printing():
        if view.json:
            # Piece by piece: the whole of a kernel's edits would take hundreds of megabytes.
            sys.stdout.writelines(json.JSONEncoder(indent=2).iterencode(report.as_json()))
            sys.stdout.write("\n")
        elif sys.stdout.isatty():
            from rewriter.report.tables import render

            render(report.grids(view.verbosity))
        else:
            click.echo("\n".join(report.lines(view.verbosity)))


@contextmanager
def printing() -> Iterator[None]:
    """What is printed meanwhile arrives, or the error names standard output."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutOfResources(f"standard output: {error.strerror or error}") from error


@contextmanager
def progress() -> Iterator[Progress]:
    """What to call with a stage, how much of it is done and how much there is."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress, TaskID

    with Progress(console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage)
            bars.update(tasks[stage], completed=done, total=total)

        yield update
