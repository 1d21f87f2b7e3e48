"""`retune identify`, `explain`, `edits`, `cpus`: nothing here writes a file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import click

from rewriter.cli import choose, files, show
from rewriter.cli.options import PATH, View, Wanted, tuning, viewing
from rewriter.core.errors import BadInput, BadUsage


@click.command()
@click.argument("source", metavar="IN", type=PATH)
@viewing
@click.pass_context
def identify(ctx: click.Context, source: Path, view: View) -> None:
    """Say what retune recognises in IN.

    Functions by who says that they are there, those that would be left alone with the reason,
    jump tables, and pins: the places in text that something else relies on. -v lists the
    functions left alone, -vv all functions.

    \b
    Examples:
      retune identify libc.so.6.1
      retune identify -vv vmlinux | grep memcpy
      retune identify --json vmlinux | jq '.refusals'

    Exit status: 0 done, 2 bad usage, 3 bad input, 4 no functions.
    """
    from rewriter.elf.image import load
    from rewriter.identify.program import analyse
    from rewriter.report.survey import survey

    image = load(source)
    target = choose.target_of(image)
    found = survey(analyse(image, target))
    show.result(found, view)
    ctx.exit(found.return_code)


@click.command()
@click.argument("source", metavar="IN", type=PATH)
@click.argument("name", metavar="FUNCTION")
@tuning
@viewing
def explain(source: Path, name: str, wanted: Wanted, view: View) -> None:
    """Show what patch would do to one FUNCTION, and why.

    FUNCTION is a name in IN or an address (0x...). The listing reads like a diff: lines with - go,
    lines with + come, each edit's id stands at its place. Below it: what each edit saves, on what
    evidence, and what that evidence assumes.

    \b
    Examples:
      retune explain libc.so.6.1 memchr --cpu ev67
      retune explain vmlinux 0xfffffc0000812340 --cpu ev56 --passes bytes

    Exit status: 0 done, 2 bad usage (no such function), 3 bad input.
    """
    from rewriter.elf.image import load, parse
    from rewriter.identify.program import analyse
    from rewriter.pipeline import tune
    from rewriter.report import listing

    choose.check(wanted)
    image = load(source)
    chosen = choose.resolve(image, wanted)
    if chosen is None:
        raise BadUsage("--passes none: there is nothing to explain")
    program = analyse(image, chosen.target)
    function = choose.function(program, name)
    options = replace(chosen.options, funcs=(re.escape(function.name),))
    with show.progress() as progress:
        tuned = tune(image, chosen.target, chosen.cpu, options, progress)
    after = chosen.target.listing(parse(tuned.data, image.name))
    explanation = listing.explain(function, program.listing, after, tuned)
    show.result(explanation, view)


@click.command()
@click.argument("patched", metavar="FILE", type=PATH)
@viewing
def edits(patched: Path, view: View) -> None:
    """List the edits that FILE carries in its manifest.

    FILE is the output of `retune patch`, or the manifest that was kept beside it.

    \b
    Examples:
      retune edits out/libc.so.6.1 | grep strlen
      retune edits --json libc.manifest | jq '.edits[].id'

    Exit status: 0 done, 2 bad usage, 3 bad input (no manifest, or a damaged one).
    """
    from rewriter.elf import manifest
    from rewriter.elf.image import printable
    from rewriter.report.edits import Listed

    data, label = files.read(patched), printable(str(patched))
    if manifest.is_manifest(data):
        found = manifest.parse(data, label)
    elif (carried := manifest.read(data, label)) is not None:
        found = carried
    else:
        raise BadInput(f"{label}: carries no manifest", hint="it was not made by retune")
    show.result(Listed(found), view)


@click.command()
@viewing
def cpus(view: View) -> None:
    """List the CPUs that --cpu and --tune accept.

    With their features; -v adds every figure with its source. A chip's number (21264A) is
    accepted for its name (ev67).

    \b
    Examples:
      retune cpus
      retune cpus -v | grep ev67
      retune cpus --json | jq '.alpha | keys'

    Exit status: 0 done, 2 bad usage.
    """
    import targets
    from rewriter.report.catalog import Catalog

    show.result(Catalog(targets.TARGETS), view)
