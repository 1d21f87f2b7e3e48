"""`retune kit`: a folder for a machine that has no retune, and what its run says."""

from __future__ import annotations

from pathlib import Path

import click

from rewriter.api import files
from rewriter.cli import show
from rewriter.cli.options import PATH, View, viewing
from rewriter.cli.pages import completion
from rewriter.core.errors import BadUsage, VerificationFailed


@click.command()
@click.argument("libraries", metavar="[OLD NEW...]", nargs=-1, type=PATH)
@click.option("-o", "--output", "made", metavar="DIR", type=PATH, help="The folder to make.")
@click.option("--read", "result", metavar="RESULT", type=PATH, help="Say what a kit's run says.")
@click.option(
    "--cpu",
    "name",
    metavar="NAME",
    shell_complete=completion.cpus,
    help="The CPU whose model is compared.  [default: what NEW was tuned for]",
)
@click.option(
    "--cc",
    "compiler",
    metavar="COMMAND",
    default="cc",
    show_default=True,
    help="A C compiler of the libraries' machine.",
)
@click.option(
    "--programs",
    multiple=True,
    metavar="FILE.c",
    type=PATH,
    help="A program that is run with each library; may be repeated.",
)
@click.option(
    "--library",
    "beside",
    multiple=True,
    metavar="FILE",
    type=PATH,
    help="A library that goes along; may be repeated.",
)
@click.option("--loader", metavar="FILE", type=PATH, help="The dynamic loader of OLD, to go along.")
@click.option("--routines", metavar="LIST", help="Only these routines: a,b,...  [default: all]")
@viewing
def kit(
    libraries: tuple[Path, ...],
    made: Path | None,
    result: Path | None,
    name: str | None,
    compiler: str,
    programs: tuple[Path, ...],
    beside: tuple[Path, ...],
    loader: Path | None,
    routines: str | None,
    view: View,
) -> None:
    """Make a folder that tries OLD and NEW on another machine.

    The folder needs a shell and the libc that is in it. `sh run.sh` there calls each known routine
    that the libraries export on the cases of its contract, with old and new, compares checksums
    with what must come out, times calls of the sizes that programs make, runs the programs, and
    writes `result.txt`. With --read that file is compared with the CPU's model: error of each
    routine, correlation.

    \b
    Examples:
      retune kit libc.so.6 tuned/libc.so.6 -o kit --cc powerpc64le-linux-gnu-gcc
      RUN=qemu-ppc64le sh kit/run.sh
      retune kit --read kit/result.txt

    Exit status: 0 done, 1 the result says that a library does something else, 2 bad usage,
    3 bad input.
    """
    if result is not None:
        if libraries or made is not None:
            raise BadUsage("--read: takes no libraries and no -o")
        _read(result, view)
        return
    if made is None or len(libraries) < 2:
        raise BadUsage(
            "kit takes OLD, NEW and -o DIR, or --read RESULT", hint="see retune kit --help"
        )
    from rewriter.api.kit import kit as folder
    from rewriter.kit.folder import Along

    only = frozenset(filter(None, (routines or "").split(",")))
    along = Along(programs, beside, loader, only)
    with show.progress() as progress:
        done = folder(libraries, made, name, compiler, along, progress)
    show.result(done, view)


def _read(path: Path, view: View) -> None:
    from rewriter.kit.result import read

    measured = read(files.read(path), str(path))
    show.result(measured, view)
    if measured.wrong:
        raise VerificationFailed(f"{path}: {measured.wrong[0]}: do not install it")
