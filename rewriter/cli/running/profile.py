"""`retune profile`: which way conditional moves and branches go."""

from __future__ import annotations

from pathlib import Path

import click

from rewriter.cli import show
from rewriter.cli.options import PATH
from rewriter.cli.running.testing import TIMEOUT, Running, running
from rewriter.core.errors import BadUsage


@click.command()
@click.argument("names", metavar="FILE [-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("-o", "--output", type=PATH, metavar="OUT", required=True, help="The profile.")
@click.option("--merge", is_flag=True, help="Add up the profiles FILE... of one text.")
@click.option("--alike", is_flag=True, help="With --merge, each counts as much as another.")
@click.option("--initrd", type=PATH, metavar="CPIO", help="Boot the kernel FILE with this.")
@click.option("--inputs", type=PATH, metavar="DIR", help="Each file in it is standard input.")
@click.option("--args", "lines", type=PATH, metavar="FILE", help="Each line of it is arguments.")
@TIMEOUT
@running
def profile(
    names: tuple[str, ...],
    output: Path,
    merge: bool,
    alike: bool,
    initrd: Path | None,
    inputs: Path | None,
    lines: Path | None,
    limit: float,
    how: Running,
) -> None:
    """Count which way the conditional moves and branches of FILE go.

    COMMAND runs under an emulator, with FILE in place of `{}`; without `{}` FILE is a library,
    which stands in place of the one of its name; without COMMAND FILE itself runs. What comes out
    is for `retune patch --profile`; profiles of one file are added up with --merge, with
    --alike so that a long run counts no more than a short one. With --initrd FILE is a kernel,
    which must power off by itself.

    \b
    Examples:
      retune profile libc.so.6.1 -o sort.txt -- ./sort words.txt
      retune profile a.out -o a.txt --inputs corpus/
      retune profile vmlinux --initrd test.cpio --timeout 600 -o boot.txt
      retune profile --merge sort.txt print.txt -o libc.txt
      retune patch libc.so.6.1 -o out/libc.so.6.1 --cpu ev67 --profile libc.txt

    Exit status: 0 written, 2 bad usage, 3 bad input.
    """
    from rewriter.api import files
    from rewriter.api import profile as made
    from rewriter.difftest import corpus

    if not names:
        raise BadUsage("profile: names no file")
    first = Path(names[0])
    if alike and not merge:
        raise BadUsage("profile: --alike says how --merge adds up")
    if merge:
        add_up = made.merged_alike if alike else made.merged
        found = add_up([Path(name) for name in names])
    elif initrd is not None:
        with show.progress() as progress:
            found = made.boot(first, initrd, limit=limit, progress=progress).directions
    else:
        given = corpus.inputs(inputs, lines)
        with show.progress() as progress:
            counted = made.programs(
                first, names[1:], given, wishes=how.wishes(), limit=limit, progress=progress
            )
        found = counted.directions
        if counted.left:
            click.echo(f"{counted.left} conditional moves were not counted: no room", err=True)
    files.write_beside(output, found.written().encode(), first)
