"""`retune verify` and `retune revert`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rewriter.cli import choose, files, show
from rewriter.cli.options import ASSUME, JOBS, PATH, SYMBOLS, View, viewing
from rewriter.core.errors import VerificationFailed

if TYPE_CHECKING:
    from rewriter.cli.files import Loaded
    from rewriter.elf.image import Image
    from rewriter.report.verdict import Comparison


@click.command()
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="NEW", type=PATH)
@SYMBOLS
@ASSUME
@JOBS
@viewing
def verify(old: Path, new: Path, symbols: Path | None, assume: str, jobs: int, view: View) -> None:
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
    from rewriter.report.verdict import compare

    resting = choose.assumed(assume)
    loaded, after = files.load(old, symbols), files.load(new).image
    before = loaded.image
    with show.progress() as progress:
        comparison = compare(before, after, choose.any_target_of, progress, jobs, resting)
    comparison = _with_wrapping(comparison, loaded, after)
    show.result(comparison, view)
    if not comparison.ok:
        first = next(iter(comparison.findings), "the verifier does not say why")
        raise VerificationFailed(f"{after.name}: not shown equal to {before.name}: {first}")


def _with_wrapping(comparison: Comparison, old: Loaded, new: Image) -> Comparison:
    """The comparison, and whether the manifest leads back to OLD's gzip file, not to another."""
    from rewriter.elf import manifest
    from rewriter.report.verdict import NONE

    if old.opened is None or comparison.findings or comparison.manifest == NONE:
        return comparison
    record = manifest.read(new.data, new.name)
    try:
        same = record is None or manifest.original_file(old.image.data, record) == old.data
        found = "" if same else "its manifest leads back to another gzip file"
    except VerificationFailed as error:
        found = str(error)
    return replace(comparison, findings=(f"{new.name}: {found}",)) if found else comparison


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
    from rewriter.elf import manifest
    from rewriter.elf.headers import printable
    from rewriter.report.edits import Reverted

    files.check_output(patched, output)
    data, label = files.content(patched), printable(str(patched))
    if beside is None:
        bare, record = manifest.detach(data, label)
    else:
        bare, record = data, manifest.parse(files.read(beside), printable(str(beside)))
    original = manifest.revert_with(bare, record, label)
    files.write(output, manifest.original_file(original, record, label), patched)
    show.result(Reverted(record), view)
