"""`retune verify` and `retune revert`."""

from __future__ import annotations

from pathlib import Path

import click

from rewriter.cli import choose, files, show
from rewriter.cli.options import PATH, View, viewing
from rewriter.core.errors import VerificationFailed


@click.command()
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="NEW", type=PATH)
@viewing
def verify(old: Path, new: Path, view: View) -> None:
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
    from rewriter.elf.image import load
    from rewriter.report.verdict import compare

    before, after = load(old), load(new)
    with show.progress() as progress:
        comparison = compare(before, after, choose.target_of, progress)
    show.result(comparison, view)
    if not comparison.ok:
        first = next(iter(comparison.findings), "the verifier does not say why")
        raise VerificationFailed(f"{after.name}: not shown equal to {before.name}: {first}")


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
    from rewriter.elf.image import printable
    from rewriter.report.edits import Reverted

    files.check_output(patched, output)
    data, label = files.read(patched), printable(str(patched))
    if beside is None:
        bare, record = manifest.detach(data, label)
    else:
        bare, record = data, manifest.parse(files.read(beside), printable(str(beside)))
    files.write(output, manifest.revert_with(bare, record, label), patched)
    show.result(Reverted(record), view)
