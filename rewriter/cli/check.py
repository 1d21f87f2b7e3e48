"""`retune verify` and `retune revert`."""

from __future__ import annotations

from pathlib import Path

import click

from rewriter.api import choose, files
from rewriter.cli import show
from rewriter.cli.options import ASSUME, JOBS, PATH, SYMBOLS, View, viewing
from rewriter.core.errors import VerificationFailed


@click.command()
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="NEW", type=PATH)
@SYMBOLS
@ASSUME
@click.option(
    "--cpu",
    metavar="CPU",
    help="The CPU that will run it, by its instructions and how it flushes caches; without it, any"
    " with the instructions of the CPU that the manifest names, or any.",
)
@JOBS
@viewing
def verify(
    old: Path,
    new: Path,
    symbols: Path | None,
    assume: str,
    cpu: str | None,
    jobs: int,
    view: View,
) -> None:
    """Show that NEW does what OLD does.

    Nothing that the rewriter said is believed: the changed bytes are found by comparison, decoded
    again, and proved block by block. If NEW carries a manifest, it must lead back to OLD, byte for
    byte. -v lists every finding.

    \b
    Examples:
      retune verify libc.so.6.1 out/libc.so.6.1
      retune verify --json vmlinux vmlinux.ev6 | jq '.grades'

    Exit status: 0 verified, 1 not verified, 2 bad usage, 3 bad input.
    """
    from rewriter.api.check import verify as compared

    resting = choose.assumed(assume)
    before, after = files.load(old, symbols), files.load(new).image
    with show.progress() as progress:
        comparison = compared(before, after, progress, jobs, resting, cpu)
    show.result(comparison, view)
    if not comparison.ok:
        first = next(iter(comparison.findings), "the verifier does not say why")
        raise VerificationFailed(f"{after.name}: not shown equal to {before.image.name}: {first}")


@click.command()
@click.argument("patched", metavar="PATCHED", type=PATH)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    type=PATH,
    required=True,
    help="The file to write; not PATCHED.",
)
@click.option("--manifest", "beside", metavar="FILE", type=PATH, help="The manifest kept beside.")
@viewing
def revert(patched: Path, output: Path, beside: Path | None, view: View) -> None:
    """Write the original of PATCHED, byte for byte, to OUT.

    Nothing but PATCHED is needed, or the manifest if it was kept beside (`--manifest FILE`). The
    result is checked against the original's SHA-256 before it is written.

    \b
    Examples:
      retune revert out/libc.so.6.1 -o libc.so.6.1
      retune revert b.out -o a.out --manifest b.manifest

    Exit status: 0 done, 1 the edits do not lead back (nothing is written), 2 bad usage,
    3 bad input (no manifest, or the file was changed afterwards).
    """
    from rewriter.api.check import revert as reverted
    from rewriter.elf import manifest
    from rewriter.elf.headers import printable
    from rewriter.report.edits import Reverted

    files.check_output(patched, output)
    data, label = files.content(patched), printable(str(patched))
    kept = manifest.parse(files.read(beside), printable(str(beside))) if beside else None
    original, record = reverted(data, label, kept)
    files.write(output, original, patched)
    show.result(Reverted(record), view)
