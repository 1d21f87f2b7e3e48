"""`retune patch`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rewriter.cli import choose, files, show
from rewriter.cli.options import (
    JOBS,
    PATH,
    PROFILE,
    SYMBOLS,
    TIMED,
    View,
    Wanted,
    selecting,
    viewing,
)

if TYPE_CHECKING:
    from rewriter.cli.files import Loaded
    from rewriter.elf.image import Image
    from rewriter.elf.manifest import Manifest
    from rewriter.pipeline import Tuned


@click.command()
@click.argument("source", metavar="IN", type=PATH)
@click.option("-o", "--output", metavar="OUT", type=PATH, help="The file to write; never IN.")
@selecting
@SYMBOLS
@PROFILE
@TIMED
@click.option(
    "--manifest", "beside", metavar="FILE", type=PATH, help="Keep the manifest here, not in OUT."
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
    beside: Path | None,
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

    \b
    Exit status: 0 done, 1 the output could not be verified (nothing is written), 2 bad usage,
    3 bad input, 4 nothing to do (OUT is then an identical copy, without a note).
    """
    from rewriter.pipeline import tune
    from rewriter.report.summary import Report

    if output is None and not dry_run:
        raise click.UsageError("Missing option '-o' / '--output'.", ctx)
    if output is not None:
        files.check_output(source, output, beside)
    choose.check(wanted)
    loaded = files.load(source, symbols)
    image = loaded.image
    taken = files.profile(profile, image) if profile is not None else None
    chosen = choose.resolve(image, wanted)
    report, data, record = Report(wanted.cpu or ""), image.data, None
    if chosen is not None:
        with show.progress() as progress:
            tuned = tune(image, chosen.target, chosen.cpu, chosen.options, progress, taken, jobs)
        choose.made(wanted, tuned.edits)
        report, data, record = Report.of(tuned), tuned.data, _record(image, tuned, chosen, wanted)
    if output is not None and not dry_run:
        _write(source, output, beside, loaded, data, record)
    show.result(report, view)
    ctx.exit(report.return_code)


def _record(image: Image, tuned: Tuned, chosen: choose.Chosen, wanted: Wanted) -> Manifest | None:
    """The manifest of what was done; None when nothing was."""
    from rewriter.elf import manifest

    if not tuned.edits:
        return None
    return manifest.record(
        image.data,
        tuned.data,
        target=chosen.target.name,
        cpu=chosen.cpu.name,
        edits=tuned.edits,
        patches=tuned.patches,
        skips=tuned.skips,
        options=chosen.record(wanted),
    )


def _write(
    source: Path,
    output: Path,
    beside: Path | None,
    loaded: Loaded,
    data: bytes,
    record: Manifest | None,
) -> None:
    """Write the output, compressed if the input was, with the manifest in it or beside it."""
    from rewriter.elf import compressed, manifest
    from rewriter.elf.headers import printable

    if record is None:
        files.write(output, loaded.data, source)
        return
    if loaded.opened is not None:
        record = replace(record, wrapping=compressed.wrapping_of(loaded.opened))
    if beside is not None:
        files.write_beside(beside, manifest.dump(record), source)
    else:
        data = manifest.attach(data, record, printable(str(source)))
    if record.wrapping is not None:
        data = compressed.wrap(data, record.wrapping)
    files.write(output, data, source)
