"""`retune bench`: modelled cycles of known routines, before and after."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rewriter.cli import choose, files, show
from rewriter.cli.options import PATH, View, viewing
from rewriter.core.errors import BadUsage


@click.command()
@click.argument("source", metavar="IN", type=PATH)
@click.option(
    "--suite",
    type=click.Choice(["article"]),
    default="article",
    show_default=True,
    help="Which routines and calls.",
)
@click.option("--cpu", "name", metavar="NAME", required=True, help="The CPU whose model counts.")
@click.option("--machine", metavar="NAME", help="What is around the CPU: up1000, cs20 ...")
@click.option(
    "--share",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="What the routines take of system time, of 1.  [default: 0.5, an assumption]",
)
@viewing
def bench(
    source: Path, suite: str, name: str, machine: str | None, share: float | None, view: View
) -> None:
    """Time the known routines of IN, as they are and as retuned.

    IN is a kernel (or a library) with symbols. Each routine is run on the built-in interpreter and
    timed by the CPU's model, first as it stands in IN, then as the tuned routine for the CPU. The
    suite `article` uses the routines and machines of Gorton's article of 2001; its mix of calls is
    an assumption, printed with the result.

    \b
    Examples:
      retune bench vmlinux --cpu ev67
      retune bench vmlinux --cpu ev67 --machine cs20 --share 0.4
      retune bench vmlinux --cpu ev6 --json | jq .system_time_saved

    Exit status: 0 done, 2 bad usage, 3 bad input.
    """
    from rewriter.report.suite import Suite, Timing
    from rewriter.suites import article
    from rewriter.suites.run import run
    from rewriter.timing.places import NotDescribed

    assert suite == "article", sys.argv
    image = files.load(source).image
    target = choose.target_of(image)
    cpu = choose.cpu_named(target, "--cpu", name)
    system = choose.system_named(target, machine) if machine else target.system(cpu)
    try:
        with show.progress() as progress:
            timed, left = run(image, target, cpu, system, article.MIX, progress)
    except NotDescribed as problem:
        raise BadUsage(f"--cpu {name}: {problem}") from problem
    timings = tuple(Timing(*row) for row in timed)
    part = article.SHARE if share is None else share
    show.result(Suite(cpu.name, system, part, timings, tuple(left)), view)
