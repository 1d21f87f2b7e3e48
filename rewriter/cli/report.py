"""`retune report`."""

from __future__ import annotations

from pathlib import Path

import click

from rewriter.api import files
from rewriter.cli import show
from rewriter.cli.options import JOBS, PATH, PROFILE, SYMBOLS, View, viewing


@click.command()
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="NEW", type=PATH)
@click.option(
    "-o", "--output", metavar="OUT", type=PATH, required=True, help="The page to write (HTML)."
)
@click.option("--manifest", "beside", metavar="FILE", type=PATH, help="The manifest kept beside.")
@click.option("--cycles", is_flag=True, help="Time every changed function; slower.")
@SYMBOLS
@PROFILE
@JOBS
@viewing
def report(
    old: Path,
    new: Path,
    output: Path,
    beside: Path | None,
    cycles: bool,
    symbols: Path | None,
    profile: Path | None,
    jobs: int,
    view: View,
) -> None:
    """Make a page that shows what became of OLD in NEW.

    NEW is the output of `retune patch`. OUT is one HTML file, which needs no network: what changed
    and why, each changed function before and after with fetch blocks and stalls, the evidence of
    each edit, and what was left alone. `retune patch --report` makes the same page in one go, and
    says site by site what was left alone, which NEW does not keep.

    Cycles are shown of functions that are hot by the profile, then of those with most done in few
    bytes; with --cycles of all.

    \b
    Examples:
      retune report libc.so.6.1 out/libc.so.6.1 -o libc.html
      retune report vmlinux vmlinux.ev6 -o vmlinux.html --profile profile.txt

    Exit status: 0 done, 1 NEW does not lead back to OLD, 2 bad usage, 3 bad input (no manifest).
    """
    from rewriter.api.report import of_pair
    from rewriter.elf import manifest
    from rewriter.elf.headers import printable
    from rewriter.report.html.chapters import TIMED
    from rewriter.report.html.written import Written

    files.check_output(old, output)
    files.check_output(new, output)
    before, after = files.load(old, symbols), files.load(new).image
    kept = manifest.parse(files.read(beside), printable(str(beside))) if beside else None
    taken = files.profile(profile, before.image) if profile is not None else None
    with show.progress() as progress:
        limit = None if cycles else TIMED
        page, record = of_pair(before, after, kept, taken, progress, jobs, limit)
    files.write_beside(output, page, new)
    show.result(Written(str(output), len(page), len(record.edits)), view)
