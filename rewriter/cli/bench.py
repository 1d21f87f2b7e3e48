"""`retune bench`: modelled cycles of known routines or of one path, before and after."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rewriter.api import choose, files
from rewriter.cli import show
from rewriter.cli.options import PATH, View, viewing
from rewriter.cli.pages import completion
from rewriter.core.errors import BadInput, BadUsage

if TYPE_CHECKING:
    from rewriter.api.files import Loaded
    from rewriter.core.target.cpu import System
    from rewriter.core.target.protocol import Sequential
    from rewriter.elf.image import Image
from rewriter.core.target.capability import needed

_ALL = "the tuned routines, as if patch put in each of them (--retuned FILE counts what it did)"


@click.command()
@click.argument("source", metavar="IN", type=PATH)
@click.option(
    "--suite",
    type=click.Choice(["article", "itanium", "mackerras"]),
    default="article",
    show_default=True,
    help="Which routines and calls, or one path of code.",
)
@click.option(
    "--cpu",
    "name",
    metavar="NAME",
    required=True,
    shell_complete=completion.cpus,
    help="The CPU whose model counts.",
)
@click.option("--machine", metavar="NAME", help="What is around the CPU: up1000, cs20 ...")
@click.option(
    "--share",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="What the routines take of system time, of 1.  [default: what was counted]",
)
@click.option(
    "--retuned",
    type=PATH,
    metavar="FILE",
    help="The kernel that patch made of IN, for the suite article.  [default: all tuned routines]",
)
@click.option(
    "--function", metavar="NAME", help="The path of the suite itanium.  [default: fastpath]"
)
@viewing
def bench(
    source: Path,
    suite: str,
    name: str,
    machine: str | None,
    share: float | None,
    retuned: Path | None,
    function: str | None,
    view: View,
) -> None:
    """Time the known routines of IN, as they are and as retuned.

    The suite `article` takes an Alpha kernel with symbols. Each routine of Gorton's article of 2001
    is run on the built-in interpreter and timed by the CPU's model in the article's machines, first
    as it stands in IN, then as it is in FILE, or as the tuned routine for the CPU. Sizes of calls
    and their share of system time were counted in a boot of Linux 6.1 that compiles programs, which
    is printed with the result. Both the fall of system time and old / new - 1 are printed, beside
    what the article measured.

    The suite `itanium` takes one straight function of an IA-64 file through the steps of Chapman
    and Heiser's article of 2004, and shows its cycles and bubbles beside theirs.

    The suite `mackerras` calls the functions of a PowerPC file that flush a page, as they are and
    retuned, and pairs of functions that copy a page or drop translations in two ways, and shows
    the tables of Mackerras' talk beside them, with what the model does not see.

    \b
    Examples:
      retune bench vmlinux --cpu ev67
      retune bench vmlinux --cpu ev67 --machine cs20 --share 0.4
      retune bench vmlinux --cpu ev6 --retuned vmlinux.tuned
      retune bench vmlinux --cpu ev6 --json | jq .machines[].falls_by
      retune bench fastpath --suite itanium --cpu itanium2
      retune bench vmlinux --suite mackerras --cpu 750

    Exit status: 0 done, 2 bad usage, 3 bad input.
    """
    if suite == "article":
        _refuse("article", function=function)
        _article(source, name, machine, share, retuned, view)
    elif suite == "mackerras":
        _refuse("mackerras", function=function, share=share, retuned=retuned)
        _mackerras(source, name, machine, view)
    else:
        _refuse("itanium", machine=machine, share=share, retuned=retuned)
        _itanium(source, name, function or "fastpath", view)


def _refuse(suite: str, **given: object) -> None:
    for option, value in given.items():
        if value is not None:
            raise BadUsage(f"--{option}: the suite {suite} has no use for it")


def _article(
    source: Path,
    name: str,
    machine: str | None,
    share: float | None,
    retuned: Path | None,
    view: View,
) -> None:
    from rewriter.report.suites.article import Article, OnMachine
    from rewriter.suites import article
    from rewriter.suites.run import SequentialClocks, run
    from rewriter.suites.weighed import weighed
    from rewriter.timing.described import NotDescribed

    loaded = files.load(source)
    image = loaded.image
    cpu = choose.cpu_for(image, choose.target_of(image), "--cpu", name)
    code, systems = _machines(image, machine)
    patched = _made_of(loaded, retuned) if retuned is not None else None
    jobs = (*article.MIX, *article.SEEN, *article.sizes(code.page))
    found, left = list[OnMachine](), dict[str, str]()
    for system in systems:
        try:
            with show.progress() as progress:
                clocked, missed = run(
                    SequentialClocks(image, code, cpu, system, patched), jobs, progress
                )
        except NotDescribed as problem:
            raise BadUsage(f"--cpu {name}: {problem}") from problem
        left |= dict(missed)
        routines = tuple(weighed(clocked, article.COUNTED, system.name))
        found.append(OnMachine(system, tuple(clocked), routines, share))
    whose = f"what {retuned} has" if retuned is not None else _ALL
    show.result(Article(cpu.name, tuple(found), whose, tuple(left.items())), view)


def _machines(image: Image, machine: str | None) -> tuple[Sequential, tuple[System, ...]]:
    """The article's machines, or that of them which is asked for; BadInput for a file that is no
    kernel for them."""
    from rewriter.identify.trusted import is_kernel
    from rewriter.suites.article import MACHINES

    target = choose.target_of(image)
    code = target.sequential
    if code is None or not set(MACHINES) <= set(code.systems) or not is_kernel(image):
        raise BadInput(
            f"{image.name}: the suite article is about kernels for the machines"
            f" {' and '.join(MACHINES)}",
            hint="--suite mackerras takes PowerPC kernels, --suite itanium paths of IA-64 files",
        )
    if machine is None:
        return code, tuple(code.systems[name] for name in MACHINES)
    system = choose.system_named(code, machine)
    if system.name not in MACHINES:
        raise BadUsage(f"--machine {machine}: the article has {' and '.join(MACHINES)}")
    return code, (system,)


def _made_of(loaded: Loaded, retuned: Path) -> Image:
    """The image of a retuned file; BadInput unless it was made of this one."""
    from rewriter.api.check import revert

    other = files.load(retuned)
    original, _ = revert(other.data, str(retuned))
    if original != loaded.data:
        raise BadInput(f"{retuned}: was not made of {loaded.image.name}")
    return other.image


def _itanium(source: Path, name: str, function: str, view: View) -> None:
    from rewriter.analysis.functions import bundled_functions
    from rewriter.report.suites.itanium import Story
    from rewriter.suites import itanium

    image = files.load(source).image
    target = choose.target_of(image)
    code = needed(target.bundling, "the suite itanium", target, image.name)
    cpu = choose.cpu_for(image, target, "--cpu", name)
    bundled = cpu.bundled
    if bundled is None:
        raise BadUsage(f"--cpu {name}: no model of its pipeline is there")
    found = choose.function(bundled_functions(image, code), image, function)
    slots = itanium.slots_of(image, code, found.start, found.end)
    try:
        stages = tuple(itanium.stages(slots, code, bundled))
    except ValueError as problem:
        raise BadInput(f"{image.name}: {found.name}: {problem}") from problem
    show.result(Story(cpu.name, found.name, stages), view)


def _mackerras(source: Path, name: str, machine: str | None, view: View) -> None:
    from rewriter.analysis.functions import find_functions
    from rewriter.elf.unwind.entries import frames
    from rewriter.report.suites.mackerras import Talk
    from rewriter.suites import mackerras
    from rewriter.suites.called import Caller

    image = files.load(source).image
    target = choose.target_of(image)
    code = needed(target.sequential, "the suite mackerras", target, image.name)
    needed(code.flushing, "the suite mackerras", target, image.name)
    cpu = choose.cpu_for(image, target, "--cpu", name)
    system = choose.system_named(code, machine) if machine else code.system(cpu)
    caller, functions = Caller(code, cpu, system), find_functions(image, frames(image))
    new, left = _flushed(source, name, [one.name for one in functions])
    rows = (
        *mackerras.flushes(caller, image, new, functions),
        *mackerras.pairs(caller, image, functions),
    )
    if not rows:
        known = (*mackerras.FLUSHES, *(n for _, *both in mackerras.PAIRS for n in both))
        hint = f"it looks for {', '.join(known)}"
        raise BadInput(f"{image.name}: none of the functions of the suite", hint=hint)
    banks = tuple(mackerras.by_banks(caller, image, functions))
    show.result(Talk(cpu.name, system, rows, banks, left), view)


def _flushed(
    source: Path, cpu: str, names: Collection[str]
) -> tuple[Image, tuple[tuple[str, str], ...]]:
    """A file with the functions that flush retuned, and what of them stays, with the reason."""
    from rewriter.api.patch import patch
    from rewriter.suites.mackerras import FLUSHES

    loaded = files.load(source)
    funcs = tuple(name for name in FLUSHES if name in names)
    if not funcs:
        return loaded.image, ()
    with show.progress() as progress:
        patched = patch(loaded, choose.Wanted(cpu, passes="flush,align", funcs=funcs), progress)
    data = patched.tuned.data if patched.tuned is not None else loaded.image.data
    skips = patched.tuned.skips if patched.tuned is not None else ()
    left = [(skip.routine, skip.reason) for skip in skips if skip.technique == "flush"]
    refused = patched.tuned.refusals if patched.tuned is not None else ()
    left += [(one.function.name, one.reason) for one in refused]
    return replace(loaded.image, data=data), tuple(left)
