"""Options that several commands share, each declared once."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import click

from rewriter.api.choose import Wanted
from rewriter.cli.pages import completion

Body = Callable[..., Any]
_Gathered = TypeVar("_Gathered")


class _Named(click.Path):
    """A path that is not looked at: a missing file is bad input (3), not bad usage (2)."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: Any
    ) -> Any:
        """The path; a name that no file can have is refused."""
        if not os.fspath(value):
            self.fail("the name of the file is empty", param, ctx)
        if os.fspath(value).endswith("/") and param is not None and param.name in _WRITTEN:
            self.fail(f"{value} names a folder, not a file", param, ctx)
        return super().convert(value, param, ctx)


_WRITTEN = ("output", "beside")  # parameters that name what is written
PATH = _Named(path_type=Path)


@dataclass(frozen=True)
class View:
    """How to show the result: `verbosity` is -1 for nothing, 0 for a summary, 1 and 2 for more."""

    json: bool
    verbosity: int


_TUNING = (
    click.option(
        "--cpu",
        metavar="NAME",
        shell_complete=completion.cpus,
        help="The CPU that will run it: as `retune cpus` or /proc/cpuinfo name it, or native.",
    ),
    click.option(
        "--tune",
        metavar="NAME",
        shell_complete=completion.cpus,
        help="Decide what pays by this CPU instead of --cpu.",
    ),
    click.option(
        "--passes",
        metavar="LIST",
        shell_complete=completion.passes,
        help="Passes to run: a,b,... or none or all.  [default: all that the CPU supports]",
    ),
)
MIN_GAIN = click.option(
    "--min-gain",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Keep a file as it is that is expected to execute fewer instructions by less than that.",
)
_SELECTING = (
    click.option("--funcs", multiple=True, metavar="RE", help="Only functions whose name matches."),
    click.option("--skip-funcs", multiple=True, metavar="RE", help="No function that matches."),
    click.option(
        "--exact",
        multiple=True,
        metavar="RE",
        help="Search the best order of functions whose name matches, and say what bounds it; slow.",
    ),
    click.option("--only", multiple=True, metavar="ID", help="Only this edit; may be repeated."),
    click.option("--skip", multiple=True, metavar="ID", help="Not this edit; may be repeated."),
    click.option(
        "--max-edits",
        type=click.IntRange(min=0),
        metavar="N",
        help="The first N edits by address (or heat), to find a bad one by halving.",
    ),
    click.option(
        "--debug",
        type=click.Choice(("keep", "lines")),
        default="keep",
        show_default=True,
        help="Functions with debug information in IN keep their places, or .debug_line follows.",
    ),
)
ASSUME = click.option(
    "--assume",
    metavar="LIST",
    shell_complete=completion.assumptions,
    default="all",
    show_default=True,
    help="What proofs may rest on: a,b,... or none or all (docs/assumptions.md).",
)
TIMED = click.option(
    "--cycles", "timed", is_flag=True, help="Also time each edit on the CPU's model; slower."
)
TIMINGS = click.option(
    "--timings", is_flag=True, help="Also say what the run itself cost, by step and pass."
)
SYMBOLS = click.option(
    "--symbols", type=PATH, metavar="FILE", help="Also the symbols of this System.map."
)
PROFILE = click.option(
    "--profile",
    type=PATH,
    metavar="FILE",
    help="Hot functions first: readprofile, perf script, opreport -l, BOLT, or retune profile.",
)
JOBS = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: len(os.sched_getaffinity(0)),
    envvar="RETUNE_JOBS",
    show_envvar=True,
    metavar="N",
    show_default="all processors",
    help="Share the work among N processes; the result is the same for any N.",
)
_VIEW = (
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
    click.option("-v", "--verbose", count=True, help="Say more; -vv says all."),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors."),
)


def tuning(body: Body) -> Body:
    """`--cpu --tune --passes`, as one argument `wanted`."""
    return _all(_TUNING, _gather(body))


def selecting(body: Body) -> Body:
    """The options of `tuning` and those that choose functions and edits, as `wanted`."""
    return _all((*_TUNING, *_SELECTING, MIN_GAIN, ASSUME), _gather(body))


def viewing(body: Body) -> Body:
    """`--json -v -q`, as one argument `view`; `-q` goes with neither of the others."""

    @functools.wraps(body)
    def call(*args: Any, as_json: bool, verbose: int, quiet: bool, **others: Any) -> Any:
        if quiet and (as_json or verbose):
            other = "--json" if as_json else "-v"
            raise click.UsageError(
                f"-q and {other} exclude each other", click.get_current_context()
            )
        return body(*args, view=View(as_json, -1 if quiet else verbose), **others)

    return _all(_VIEW, call)


def _gather(body: Body) -> Body:
    names = {field.name for field in fields(Wanted)}

    @functools.wraps(body)
    def call(*args: Any, **given: Any) -> Any:
        wanted = Wanted(**{name: given.pop(name) for name in names & given.keys()})
        return body(*args, wanted=wanted, **given)

    return call


def _all(options: Sequence[Callable[[Body], Body]], body: Body) -> Body:
    # Click lists options in the order of decorators, the innermost last.
    for option in reversed(options):
        body = option(body)
    return body
