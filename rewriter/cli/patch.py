"""`retune patch`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rewriter.api import choose, files
from rewriter.api.choose import Wanted
from rewriter.cli import show
from rewriter.cli.options import (
    JOBS,
    PATH,
    PROFILE,
    SYMBOLS,
    TIMED,
    TIMINGS,
    View,
    selecting,
    viewing,
)

if TYPE_CHECKING:
    from rewriter.api.files import Loaded
    from rewriter.api.patch import Patched
    from rewriter.api.progress import Progress
    from rewriter.road.remembered.results import Results


@click.command()
@click.argument("source", metavar="IN", type=PATH)
@click.option("-o", "--output", metavar="OUT", type=PATH, help="The file to write; never IN.")
@selecting
@SYMBOLS
@PROFILE
@TIMED
@TIMINGS
@click.option(
    "--manifest", "beside", metavar="FILE", type=PATH, help="Keep the manifest here, not in OUT."
)
@click.option(
    "--debug-file", metavar="FILE", type=PATH, help="IN's detached debug information; see --debug."
)
@click.option(
    "--report", "shown", metavar="FILE", type=PATH, help="Also write a page to look at (HTML)."
)
@click.option(
    "--cache",
    "kept",
    metavar="DIR",
    type=PATH,
    help="Keep what functions became there, for later runs on this file or one much like it.",
)
@click.option("--dry-run", is_flag=True, help="Do everything but write.")
@JOBS
@viewing
@click.pass_context
def patch(
    ctx: click.Context,
    source: Path,
    output: Path | None,
    wanted: Wanted,
    symbols: Path | None,
    profile: Path | None,
    timings: bool,
    beside: Path | None,
    debug_file: Path | None,
    shown: Path | None,
    kept: Path | None,
    dry_run: bool,
    jobs: int,
    view: View,
) -> None:
    """Tune IN to a CPU and write OUT.

    OUT has the mode bits of IN, appears in one step, and carries a note that lists every edit
    with its evidence and leads back to IN (`retune revert`). IN is never written to. A gzip file
    (vmlinux.gz) is tuned inside, and OUT is compressed as IN was.

    \b
    Examples:
      retune patch libc.so.6.1 -o out/libc.so.6.1 --cpu ev67
      retune patch vmlinux -o vmlinux.ev6 --cpu ev6 --passes bytes,align
      retune patch libc.so.6.1 --dry-run -v --cpu ev67 --funcs 'str.*'
      retune patch a.out -o b.out --cpu ev56 --tune ev67 --max-edits 100
      retune patch libc.so.6.1 --dry-run -q --cpu ev67 --report libc.html

    \b
    Exit status: 0 done, 1 the output could not be verified (nothing is written), 2 bad usage,
    3 bad input, 4 nothing to do, or less than --min-gain (OUT is then an identical copy, without
    a note); 70, 71, 130, 143 and 129 as of every command (`retune --help`).
    """
    from rewriter.api.patch import patch as retuned
    from rewriter.api.patch import timed
    from rewriter.core.run.ledger import keeping, spending

    if output is None and not dry_run:
        raise click.UsageError("Missing option '-o' / '--output'.", ctx)
    if output is not None:
        files.check_output(source, output, beside, shown)
    elif shown is not None:
        files.check_output(source, shown)
    choose.check(wanted)
    with show.progress() as progress:
        with keeping() if timings else nullcontext() as ledger:
            with spending("load"):
                loaded = files.load(source, symbols, debug_file)
                taken = files.profile(profile, loaded.image) if profile is not None else None
            others = [one for one in (symbols, profile, debug_file) if one is not None]
            with _reused(kept, loaded, wanted, others) as results:
                patched = retuned(loaded, wanted, progress, taken, jobs, results)
            with spending("note"):
                made = None if output is None or dry_run else _made(patched, beside is not None)
        page = _page(patched, wanted, progress, jobs) if shown is not None else None
    if patched.tuned is not None:
        choose.named(wanted, patched.tuned.names)
    if output is not None and made is not None:
        _write(source, output, beside, *made)
    if shown is not None and page is not None:
        files.write_beside(shown, page, source)
    show.result(patched.report if ledger is None else timed(patched.report, ledger, jobs), view)
    ctx.exit(patched.report.return_code)


@contextmanager
def _reused(
    folder: Path | None, loaded: Loaded, wanted: Wanted, beside: Sequence[Path]
) -> Iterator[Results | None]:
    """Results of earlier runs, where a folder for them is named; `beside` are other files read."""
    if folder is None:
        yield None
        return
    from rewriter.batch.cache import Cache

    cache = Cache(folder, lambda line: click.echo(f"retune: {line}", err=True))
    with cache.reused(loaded.image, wanted, [one.read_bytes() for one in beside]) as results:
        yield results


def _page(patched: Patched, wanted: Wanted, progress: Progress, jobs: int) -> bytes:
    """The page of what was done; with --cycles every changed function is timed."""
    from rewriter.api.report import of_patched
    from rewriter.report.html.chapters import TIMED as LIMIT

    return of_patched(patched, progress, jobs, None if wanted.timed else LIMIT)


def _made(patched: Patched, apart: bool) -> tuple[bytes, bytes | None]:
    """The file to write, and its manifest where that is written apart from it."""
    return patched.apart() if apart else (patched.data(), None)


def _write(
    source: Path, output: Path, beside: Path | None, data: bytes, record: bytes | None
) -> None:
    """Write the output, with the manifest in it or beside it."""
    if beside is not None and record is not None:
        files.write_pair(output, data, beside, record, source)
    else:
        files.write(output, data, source)
