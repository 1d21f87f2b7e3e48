"""`retune identify`, `explain`, `edits`, `cpus`: nothing here writes a file."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rewriter.api import choose, files
from rewriter.api.choose import Wanted
from rewriter.cli import show
from rewriter.cli.options import PATH, SYMBOLS, View, tuning, viewing
from rewriter.core.errors import BadInput, BadUsage
from rewriter.core.target.capability import either

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rewriter.analysis.program import Program
    from rewriter.core.code.program import Function
    from rewriter.core.target.bundling import Bundling
    from rewriter.core.target.cpu import Cpu
    from rewriter.core.target.protocol import Sequential
    from rewriter.elf.image import Image
    from rewriter.report.cycles import Timed
    from rewriter.report.listing import Explanation
    from rewriter.road.pipeline import Tuned
    from rewriter.verify.routines.known import Identification


@click.command()
@click.argument("source", metavar="IN", type=PATH)
@click.option("--known", is_flag=True, help="Instead, list known routines: memcpy, strlen, ...")
@click.option("--like", is_flag=True, help="With --known, also what behaves like one; slower.")
@click.option(
    "--database", type=PATH, multiple=True, metavar="DB", help="Signatures to use, not ours."
)
@SYMBOLS
@viewing
@click.pass_context
def identify(
    ctx: click.Context,
    source: Path,
    known: bool,
    like: bool,
    database: tuple[Path, ...],
    symbols: Path | None,
    view: View,
) -> None:
    """Say what retune recognises in IN.

    Functions by who says that they are there, those that would be left alone with the reason,
    jump tables, and pins: the places in text that something else relies on. -v lists the
    functions left alone, -vv all functions.

    With --known: routines found by signature, names are not needed, and tried on some cases of
    their contract. Only what matches and behaves is known.

    \b
    Examples:
      retune identify libc.so.6.1
      retune identify -vv vmlinux | grep memcpy
      retune identify --json vmlinux | jq '.refusals'
      retune identify --known stripped.so

    Exit status: 0 done, 2 bad usage, 3 bad input, 4 no functions (or no known routine).
    """
    if known:
        ctx.exit(_known(files.load(source, symbols).image, like, database, view))
    if like or database:
        raise BadUsage("--like and --database say how to look for known routines: add --known")
    from rewriter.api.identify import surveyed

    image = files.load(source, symbols).image
    found = surveyed(image)
    show.result(found, view)
    ctx.exit(found.return_code)


def _known(image: Image, like: bool, database: tuple[Path, ...], view: View) -> int:
    from rewriter.analysis.functions import bundled_code
    from rewriter.contracts import CONTRACTS
    from rewriter.elf.headers import printable
    from rewriter.identify.signatures import Database, shipped
    from rewriter.identify.signatures import parse as parse_database
    from rewriter.report.known import Known
    from rewriter.verify.routines.bundled_known import KnownBundled, identified
    from rewriter.verify.routines.known import known_routines, like_routines, unknown_functions

    chosen = choose.target_of(image)
    given = [parse_database(files.read(path), printable(str(path))) for path in database]
    own = Database.merged(chosen.name, given) if given else None

    def bundled(code: Bundling) -> Iterable[Identification]:
        if like:
            raise BadUsage(f"--like: nothing is known of shapes of routines for {chosen.name}")
        return identified(KnownBundled(image, code, bundled_code(image, code)), own)

    def sequential(code: Sequential) -> Iterable[Identification]:
        used = own if own is not None else shipped(code)
        with show.progress() as progress:
            found = known_routines(image, code, used, CONTRACTS, progress=progress)
            if like:
                rest = unknown_functions(image, code, found)
                found += like_routines(image, code, rest, CONTRACTS, progress=progress)
        return sorted(found, key=lambda f: (f.address, f.routine))

    what = "identify --known"
    found = either(chosen, what, image.name, bundled=bundled, sequential=sequential)
    report = Known(chosen.name, tuple(found))
    show.result(report, view)
    return report.return_code


@click.command()
@click.argument("source", metavar="IN", type=PATH)
@click.argument("name", metavar="FUNCTION")
@click.option("--cycles", is_flag=True, help="Show slots, issue cycles and waits instead.")
@tuning
@SYMBOLS
@viewing
def explain(
    source: Path, name: str, cycles: bool, wanted: Wanted, symbols: Path | None, view: View
) -> None:
    """Show what patch would do to one FUNCTION, and why.

    FUNCTION is a name in IN or an address (0x...). Of a name that a resolver decides (IFUNC), the
    variant for the CPU is shown. The listing reads like a diff: lines with - go, lines with + come,
    each edit's id stands at its place. Below it: what each edit saves, on what evidence, and what
    that evidence assumes.

    With --cycles: the function before and after as the CPU's timing model sees it. A bar marks the
    first instruction of a fetch block; slot, pipe and issue cycle follow, and what an instruction
    waits for. Each straight stretch is timed by itself.

    \b
    Examples:
      retune explain libc.so.6.1 memchr --cpu ev67
      retune explain libc.so.6.1 memchr --cpu ev67 --cycles
      retune explain vmlinux 0xfffffc0000812340 --cpu ev56 --passes bytes

    Exit status: 0 done, 2 bad usage (no such function), 3 bad input.
    """
    choose.check(wanted)
    image = files.load(source, symbols).image
    chosen = choose.resolve(image, wanted)
    if chosen is None:
        raise BadUsage("--passes none: there is nothing to explain")
    asked = image, chosen, name, cycles
    explained = either(
        chosen.target,
        "explain",
        image.name,
        bundled=partial(_explained_regions, *asked),
        sequential=partial(_explained, *asked),
    )
    show.result(explained, view)


def _explained(
    image: Image, chosen: choose.Chosen, name: str, cycles: bool, target: Sequential
) -> Explanation | Timed:
    from rewriter.analysis.program import analyse
    from rewriter.elf.image import parse
    from rewriter.report import cycles as timed
    from rewriter.report import listing

    program = analyse(image, target, chosen.options.assume)
    function = _function(program.functions, image, name, chosen.cpu, target)
    tuned = _tuned(image, chosen, (function,), program)
    after = target.listing(parse(tuned.data, image.name))
    if cycles:
        system = target.system(chosen.cpu)
        return timed.cycles(function, program.listing, after, chosen.cpu, system)
    return listing.explain(function, program.listing, after, tuned)


def _function(
    functions: Sequence[Function], image: Image, name: str, cpu: Cpu, target: Sequential
) -> Function:
    """The function of a name; where that is a resolver's symbol, what it picks on the CPU."""
    from rewriter.verify.routines.resolved import behind

    variants = (one.address for one in behind(image, target, name) if cpu.name in one.cpus)
    if (variant := next(variants, None)) is None:
        return choose.function(functions, image, name)
    function = choose.function(functions, image, hex(variant))
    return replace(function, source=f"{function.source}; it is {name} on {cpu.name}")


def _explained_regions(
    image: Image, chosen: choose.Chosen, name: str, cycles: bool, target: Bundling
) -> Explanation | Timed:
    from rewriter.analysis.functions import bundled_code
    from rewriter.report import cycles as timed
    from rewriter.report import regions
    from rewriter.verify.routines.bundled_known import KnownBundled

    code = bundled_code(image, target)
    function = choose.function(code.functions, image, name)
    pool = {other for _, other in KnownBundled(image, target, code).within()}
    # Known routines take room from each other: one alone would often find none.
    tuned = _tuned(image, chosen, sorted(pool) if function in pool else (function,))
    after = replace(image, data=tuned.data)
    if cycles:
        return timed.bundled_cycles(function, image, after, target, chosen.cpu)
    return regions.explain(function, target, image, after, tuned)


def _tuned(
    image: Image,
    chosen: choose.Chosen,
    functions: Sequence[Function],
    program: Program | None = None,
) -> Tuned:
    """The file with nothing but these functions tuned."""
    from rewriter.road.pipeline import tune

    options = replace(chosen.options, funcs=tuple(re.escape(f.name) for f in functions))
    with show.progress() as progress:
        return tune(image, chosen.target, chosen.cpu, options, progress, program=program)


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
    from rewriter.elf.headers import printable
    from rewriter.report.edits import Listed

    data, label = files.content(patched), printable(str(patched))
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

    show.result(Catalog(targets.every()), view)
