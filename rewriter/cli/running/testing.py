"""What the differential tests share: how programs are run, and where reports go."""

from __future__ import annotations

import functools
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rewriter.cli import show
from rewriter.cli.options import PATH
from rewriter.core.errors import BadInput, BadUsage, VerificationFailed

if TYPE_CHECKING:
    from rewriter.cli.options import View
    from rewriter.difftest.case import Comparison
    from rewriter.difftest.setting import Wishes

Body = Callable[..., Any]

JUNIT = click.option("--junit", type=PATH, metavar="FILE", help="Also write JUnit XML here.")
MASK = click.option(
    "--mask",
    "masks",
    multiple=True,
    metavar="RE",
    help="Do not compare what matches in a line; of a pattern with groups, the groups.",
)
TIMEOUT = click.option(
    "--timeout",
    "limit",
    metavar="S",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds for a run with OLD; NEW gets five times what OLD took, or 30.",
)
_RUNNING = (
    click.option(
        "--with",
        "libraries",
        multiple=True,
        metavar="NAME=FILE",
        help="Also this library for NEW's runs; NAME=OLD,NEW: one for each. May be repeated.",
    ),
    click.option("--sysroot", type=PATH, metavar="DIR", help="Where the other libraries are."),
    click.option("--emulator", metavar="COMMAND", help="Run programs by this, not the usual one."),
    click.option("--native", is_flag=True, help="Run programs on this machine itself."),
    click.option("--cpu", metavar="NAME", help="The CPU to emulate."),
    click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="Set a variable."),
    click.option("--files", type=PATH, metavar="DIR", help="What the scratch folder has at first."),
)


@dataclass(frozen=True)
class Running:
    """How programs are run, as the command line says it."""

    libraries: tuple[str, ...]
    sysroot: Path | None
    emulator: str | None
    native: bool
    cpu: str | None
    variables: tuple[str, ...]
    files: Path | None

    def wishes(self, *, count: bool = False) -> Wishes:
        """The same for the runner; BadUsage for what cannot be read."""
        from rewriter.difftest.setting import Wishes

        if self.native and self.emulator is not None:
            raise BadUsage("--native and --emulator exclude each other")
        words: tuple[str, ...] | None = () if self.native else None
        if self.emulator is not None:
            words = _split("--emulator", self.emulator)
        if self.files is not None and not self.files.is_dir():
            raise BadInput(f"{self.files}: no such folder")
        return Wishes(
            libraries=dict(_library(text) for text in self.libraries),
            sysroot=self.sysroot.absolute() if self.sysroot else None,
            emulator=words,
            cpu=self.cpu,
            environment=dict(_pair("--env", text) for text in self.variables),
            template=self.files.absolute() if self.files else None,
            count=count,
        )


def running(body: Body) -> Body:
    """The options on how programs are run, as one argument `how`."""

    @functools.wraps(body)
    def call(*args: Any, **given: Any) -> Any:
        names = Running.__dataclass_fields__
        how = Running(**{name: given.pop(name) for name in names})
        return body(*args, how=how, **given)

    for option in reversed(_RUNNING):
        call = option(call)
    return call


def masks_of(texts: Sequence[str]) -> list[re.Pattern[bytes]]:
    """The masks that a user gives; BadUsage for one that is no regular expression."""
    found = []
    for text in texts:
        try:
            found.append(re.compile(text.encode()))
        except (re.error, RecursionError, OverflowError) as error:
            raise BadUsage(f"--mask {text}: not a regular expression: {error}") from error
    return found


def pattern(text: str | None) -> str | None:
    """A pattern for names; BadUsage where it is no regular expression."""
    try:
        re.compile(text or "")
    except (re.error, RecursionError, OverflowError) as error:
        raise BadUsage(f"--match {text}: not a regular expression: {error}") from error
    return text


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for everything that runs write, taken away afterwards."""
    with tempfile.TemporaryDirectory(prefix="retune-difftest-") as name:
        yield Path(name)


def end(comparison: Comparison, junit: Path | None, like: Path, view: View) -> None:
    """Print a comparison, write it as JUnit XML, and fail where the files differ."""
    from rewriter.report.difftest import Compared

    report = Compared(comparison)
    written(junit, comparison, like)
    show.result(report, view)
    if not comparison.same:
        raise VerificationFailed(f"{comparison.new}: {report.verdict}")
    if comparison.cases and all(c.verdict.name == "UNUSABLE" for c in comparison.cases):
        first = comparison.cases[0]
        raise BadInput(f"{comparison.old}: nothing could be compared: {first.name}: {first.detail}")


def written(junit: Path | None, comparison: Comparison, like: Path) -> None:
    """Write a comparison as JUnit XML, in one step; whom `like` may be read by may read it."""
    from rewriter.api import files
    from rewriter.report.junit import junit as as_xml

    if junit is not None:
        files.write_beside(junit, as_xml(comparison), like)


def _library(text: str) -> tuple[str, tuple[Path | None, Path]]:
    name, value = _pair("--with", text)
    if "/" in name:
        raise BadUsage(f"--with {text}: {name} is a path", hint="name it as programs load it")
    old, comma, new = value.rpartition(",")
    paths = [Path(path) for path in (old, new) if path or comma]
    for path in paths:
        if not path.is_file():
            raise BadInput(f"{path}: cannot be read: no such file")
    return name, (paths[0].absolute() if comma else None, paths[-1].absolute())


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise BadUsage(f"{option} {text}: is not NAME=VALUE")
    return name, value


def _split(option: str, text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise BadUsage(f"{option} {text}: {error}") from error
    if not words:
        raise BadUsage(f"{option}: names no command")
    return words
