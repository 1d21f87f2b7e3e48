"""`retune batch`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rewriter.api import files
from rewriter.cli import show
from rewriter.cli.options import JOBS, MIN_GAIN, PATH, View, viewing

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from rewriter.batch.find import Root
    from rewriter.batch.policy import Policy
    from rewriter.batch.pool.watch import Watch
    from rewriter.batch.summary import Line, Summary
    from rewriter.packages.retuned import PackageSummary


@click.command()
@click.argument("given", metavar="TREE|FILE|@LIST|PACKAGE.deb...", nargs=-1, required=True)
@click.option("--in-place", is_flag=True, help="Replace the files themselves.")
@click.option(
    "-o", "--output", metavar="DIR", type=PATH, help="Copy everything here and tune the copies."
)
@click.option("--policy", "policy_file", metavar="FILE", type=PATH, help="What to do: a TOML file.")
@click.option(
    "--cpu", "cpus", multiple=True, metavar="NAME", help="The CPU; one for each kind of machine."
)
@click.option("--tune", metavar="NAME", help="Decide what pays by this CPU instead.")
@click.option("--passes", metavar="LIST", help="Passes to run: a,b,... or all.")
@click.option("--assume", metavar="LIST", help="What proofs may rest on: a,b,... or none or all.")
@click.option("--debug", type=click.Choice(("keep", "lines")), help="As for `retune patch`.")
@MIN_GAIN
@click.option(
    "--refused",
    type=click.Choice(("keep", "fail")),
    help="A file that cannot be worked on stays as it is, or fails the run.  [default: keep]",
)
@click.option("--exclude", multiple=True, metavar="TEXT", help="No file with TEXT in its path.")
@click.option(
    "--debug-root",
    "debug_roots",
    multiple=True,
    metavar="DIR",
    type=PATH,
    help="Debug files are here, too: what they describe keeps its place.",
)
@click.option(
    "--debuginfo",
    type=click.Choice(("refuse", "ignore")),
    help="What if a debug file is not found.  [default: refuse with --debug-root, else ignore]",
)
@click.option(
    "--version-suffix", metavar="TEXT", default="", help="For packages: behind the version, +ev67."
)
@click.option("--package", metavar="NAME", help="The package that all files belong to.")
@click.option(
    "--journal", metavar="FILE", type=PATH, help="Write what is done here; go on from it."
)
@click.option("--cache", metavar="DIR", type=PATH, help="Keep results here, and use them.")
@click.option(
    "--report", "shown", metavar="FILE", type=PATH, help="Also write a page of all files (HTML)."
)
@click.option("--keep-times", is_flag=True, help="Keep times of modification.")
@click.option(
    "--memory",
    type=click.IntRange(min=1),
    metavar="MB",
    help="Memory of all processes together.  [default: most of what the machine has free]",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Give a file up that takes longer; it stays as it is.  [default: none]",
)
@click.option("--scheduler", metavar="ADDRESS", help="Do the work on this Dask cluster.")
@JOBS
@viewing
@click.pass_context
def batch(
    ctx: click.Context,
    given: tuple[str, ...],
    in_place: bool,
    output: Path | None,
    policy_file: Path | None,
    cpus: tuple[str, ...],
    tune: str | None,
    passes: str | None,
    assume: str | None,
    debug: str | None,
    min_gain: float | None,
    refused: str | None,
    exclude: tuple[str, ...],
    debug_roots: tuple[Path, ...],
    debuginfo: str | None,
    version_suffix: str,
    package: str | None,
    journal: Path | None,
    cache: Path | None,
    shown: Path | None,
    keep_times: bool,
    memory: int | None,
    timeout: float | None,
    scheduler: str | None,
    jobs: int,
    view: View,
) -> None:
    """Tune every file of a TREE, a FILE, or those that a LIST names.

    Files of other kinds and for other machines are left alone and counted. Each output is verified
    before it takes its place, in one step; owner, mode, links and extended attributes stay. What
    goes wrong with one file stops no other. LIST is a text file with one path a line.

    Of packages, the files in them are tuned, and all else is as it was; a package without a file to
    tune is copied. Give -dbgsym packages with the others: what they describe keeps its place.

    \b
    Examples:
      retune batch debian/tmp --in-place --cpu ev67
      retune batch root -o tuned --policy policy.toml --journal tuned.journal
      retune batch @changed-files --in-place --cpu ev6 --cache ~/.cache/retune
      retune batch *.deb -o tuned --cpu ev67 --version-suffix +ev67
      retune batch root -o tuned --cpu ev67 --scheduler tcp://build1:8786

    A run that was killed goes on when it is started again with the same --journal.
    SOURCE_DATE_EPOCH is the latest time of modification that a tuned file gets.

    Exit status: 0 every file is tuned, was before, or is left alone as the policy says, 1 a file
    failed (the others are done) or was refused with --refused fail, 2 bad usage, 3 bad input: a
    TREE, FILE or line of a LIST leads to no file to tune (the others are done), 4 nothing to do,
    5 every file was refused; 70, 71, 130, 143 and 129 as of every command (`retune --help`).
    """
    from rewriter.batch.engine import run
    from rewriter.packages.retuned import retuned

    if in_place == (output is not None):
        raise click.UsageError("Give either '--in-place' or '-o' / '--output'.", ctx)
    if shown is not None:
        files.check_output(Path(given[0].removeprefix("@")), shown)
    if timeout is not None and scheduler is not None:
        raise click.UsageError("'--timeout' is not for '--scheduler'.", ctx)
    said = {"tune": tune, "passes": passes, "assume": assume, "debug": debug}
    policy = _policy(policy_file, refused, debuginfo).without(exclude)
    policy = policy.overridden(cpus, **said, min_gain=min_gain)
    with _watching(view) as watch:
        call = partial(
            run,
            cache=cache,
            scheduler=scheduler,
            jobs=jobs,
            limit=memory * 2**20 if memory is not None else None,
            patience=timeout,
            watch=watch,
        )
        packages = _packages(given)
        summary: PackageSummary | Summary
        _check_kinds(bool(packages), version_suffix)
        if packages:
            if output is None:
                raise click.UsageError("'--in-place' is for trees, not for packages.", ctx)
            summary = retuned(packages, policy, output, call, debug_roots, version_suffix, journal)
        else:
            summary = call(
                list(_roots(given, package)),
                policy,
                output=output,
                journal=journal,
                keep_times=keep_times,
                debug_roots=debug_roots,
            )
    if shown is not None:
        _page(shown, summary.files, given)
    show.result(summary, view)
    if not view.json and view.verbosity >= 0:
        _told(("report", shown), ("journal", journal))
    ctx.exit(summary.return_code)


def _told(*written: tuple[str, Path | None]) -> None:
    """Names what was written beside the results."""
    from rewriter.elf.headers import printable

    with show.printing():
        for what, path in written:
            if path is not None:
                click.echo(f"{what}: {printable(str(path))}")


def _page(path: Path, summary: Summary, given: tuple[str, ...]) -> None:
    """Write the page of a run; what was given is its title."""
    from rewriter.batch.page import page

    files.write_beside(path, page(summary, " ".join(given)), path.resolve().parent)


def _packages(given: tuple[str, ...]) -> list[Path]:
    """The arguments as packages, where they are some; trees and packages do not mix."""
    found = [name for name in given if name.endswith((".deb", ".udeb", ".rpm"))]
    packages = [Path(name) for name in found if not Path(name).is_dir()]
    if packages and len(packages) != len(given):
        raise click.UsageError("Packages and trees cannot be given together.")
    return packages


def _check_kinds(packages: bool, suffix: str) -> None:
    """Refuses an option that would do nothing."""
    if suffix and not packages:
        raise click.UsageError("'--version-suffix' is for packages, not for trees.")


def _policy(path: Path | None, refused: str | None, debuginfo: str | None) -> Policy:
    from dataclasses import replace

    from rewriter.batch.policy import Policy, read

    policy = Policy() if path is None else read(path)
    return replace(
        policy,
        refused=policy.refused if refused is None else refused,
        debuginfo=policy.debuginfo if debuginfo is None else debuginfo,
    )


def _roots(given: tuple[str, ...], package: str | None) -> Iterator[Root]:
    from rewriter.batch.find import Root, listed

    for name in given:
        if name.startswith("@"):
            yield from (Root(path, package) for path in listed(Path(name[1:])))
        else:
            yield Root(Path(name), package)


@contextlib.contextmanager
def _watching(view: View) -> Iterator[Watch]:
    """Progress on stderr: a bar on a terminal, a line for each file in a pipe."""
    if not sys.stderr.isatty():
        yield _Lines(view.verbosity < 0)
        return
    from rich.console import Console

    with bars_on(Console(stderr=True)) as bars:
        yield Bar(bars)


def bars_on(console: Console) -> Progress:
    """A bar with rate and time left."""
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True)


class Bar:
    """A bar over the bytes of all files, with rate and time left."""

    def __init__(self, bars: Progress) -> None:
        self.bars, self.files, self.at = bars, 0, 0
        self.bar = bars.add_task("looking for files", total=None)

    def begin(self, files: int, size: int) -> None:
        """So many files, with so many bytes."""
        self.files = files
        self.bars.update(self.bar, description=f"0 of {files} files", total=size)

    def done(self, line: Line, size: int) -> None:
        """One more file."""
        if self.files:
            self.at += 1
            said = f"{self.at} of {self.files} files"
            self.bars.update(self.bar, description=said, advance=size)

    def warn(self, text: str) -> None:
        """A line above the bar."""
        self.bars.console.print(f"retune: warning: {text}", markup=False, highlight=False)


class _Lines:
    """A line for each file that was worked on; none with `quiet`."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.files, self.at = quiet, 0, 0

    def begin(self, files: int, size: int) -> None:
        """So many files."""
        self.files = files

    def done(self, line: Line, size: int) -> None:
        """One more file."""
        from rewriter.elf.headers import printable

        if self.files and not self.quiet:
            self.at += 1
            click.echo(f"[{self.at}/{self.files}] {line.status}: {printable(line.path)}", err=True)

    def warn(self, text: str) -> None:
        """A line of its own."""
        click.echo(f"retune: warning: {text}", err=True)
