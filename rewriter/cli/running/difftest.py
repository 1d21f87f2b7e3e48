"""`retune difftest`: the original and the retuned file run, and what they do is compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rewriter.cli import show
from rewriter.cli.options import JOBS, PATH, View, viewing
from rewriter.cli.running import testing
from rewriter.cli.running.boot import boot
from rewriter.cli.running.testing import JUNIT, MASK, TIMEOUT, Running, running
from rewriter.core.errors import BadInput, BadUsage

if TYPE_CHECKING:
    from rewriter.difftest.case import Comparison
    from rewriter.difftest.program import Tester


@click.group()
def difftest() -> None:
    """Run OLD and NEW and compare what they do.

    \b
    Examples:
      retune difftest program libc.so.6.1 out/libc.so.6.1 -- ./a.out
      retune difftest routine libc.so.6.1 out/libc.so.6.1 memchr
      retune difftest suite libc.so.6.1 out/libc.so.6.1 tests/ --junit report.xml
      retune difftest boot --kernel vmlinux --kernel vmlinux.ev67 --initrd test.cpio
      retune difftest boot --json --kernel a --kernel b --initrd c | jq .same

    Exit status: 0 both do the same, 1 they differ, 2 bad usage, 3 bad input.
    """


_COUNT = click.option("--count", is_flag=True, help="Count executed instructions; slower.")


@difftest.command()
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="NEW", type=PATH)
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--inputs", type=PATH, metavar="DIR", help="Each file in it is standard input.")
@click.option("--args", "lines", type=PATH, metavar="FILE", help="Each line of it is arguments.")
@click.option("--strategy", type=PATH, metavar="FILE", help="Draw inputs: argv, stdin in Python.")
@click.option(
    "--examples",
    type=click.IntRange(min=1),
    metavar="N",
    default=50,
    show_default=True,
    help="How many inputs to draw.",
)
@click.option(
    "--save",
    type=PATH,
    metavar="DIR",
    default=Path("retune-failing"),
    show_default=True,
    help="Where a drawn input that fails is kept.",
)
@_COUNT
@MASK
@TIMEOUT
@running
@JOBS
@JUNIT
@viewing
def program(
    old: Path,
    new: Path,
    command: tuple[str, ...],
    inputs: Path | None,
    lines: Path | None,
    strategy: Path | None,
    examples: int,
    save: Path,
    count: bool,
    masks: tuple[str, ...],
    limit: float,
    how: Running,
    jobs: int,
    junit: Path | None,
    view: View,
) -> None:
    """Run COMMAND with OLD and with NEW and compare.

    Standard output and error, exit status or signal, and the files written to the working folder,
    a new one for each run, must be the same. `{}` in COMMAND stands for the file; without it the
    file is a library, which stands in place of the one of its name; without COMMAND the file
    itself runs. Programs for another machine run under its emulator.

    OLD runs twice: what then varies (times, process ids) is reported and not compared.

    \b
    Examples:
      retune difftest program libc.so.6.1 out/libc.so.6.1 -- ./a.out --all
      retune difftest program a.out b.out --inputs corpus/ --args options.txt
      retune difftest program a.out b.out --count -- {} --version
      retune difftest program libm.so.6.1 new/libm.so.6.1 --with libc.so.6.1=new/libc.so.6.1 -- ./t
      retune difftest program a.out b.out --strategy inputs.py --examples 500 --json

    Exit status: 0 both do the same, 1 they differ, 2 bad usage, 3 bad input.
    """
    from rewriter.difftest import corpus
    from rewriter.difftest.case import Comparison
    from rewriter.difftest.executed import CannotCount
    from rewriter.difftest.program import Tester
    from rewriter.difftest.setting import arranged, check_used

    check_used(old, command)
    if strategy is not None and (inputs is not None or lines is not None):
        raise BadUsage("--strategy excludes --inputs and --args")
    found = () if strategy is not None else corpus.inputs(inputs, lines)
    patterns, notes = testing.masks_of(masks), ()
    with testing.scratch() as folder, show.progress() as progress:
        try:
            sides = arranged(old, new, command, how.wishes(count=count), folder)
        except CannotCount as why:
            raise BadUsage(f"--count: {why}") from why
        tester = Tester(sides, limit, patterns, folder)
        if strategy is not None:
            comparison = _drawn(old, new, tester, strategy, examples, save, progress)
        else:
            cases = tester.every(found, jobs, progress)
            comparison = Comparison("program", str(old), str(new), cases, notes)
    testing.end(comparison, junit, old, view)


def _drawn(
    old: Path,
    new: Path,
    tester: Tester,
    strategy: Path,
    examples: int,
    save: Path,
    progress: show.Progress,
) -> Comparison:
    """Inputs drawn from a strategy; the smallest failing one is kept."""
    from rewriter.difftest import corpus, drawn
    from rewriter.difftest.case import Comparison

    found = drawn.draw(drawn.strategies(strategy), tester.case, examples, progress)
    notes: tuple[str, ...] = ()
    if found.failing is not None:
        kept = corpus.keep(save, strategy.stem, found.failing)
        shown = f"argv {list(found.failing.arguments)!r}, stdin {found.failing.stdin!r}"
        notes = (f"smallest input that fails: {shown}", f"kept: {kept}")
    return Comparison("program", str(old), str(new), found.cases, notes)


@difftest.command()
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="NEW", type=PATH)
@click.argument("name", metavar="NAME|0xADDRESS")
@click.option("--contract", metavar="NAME", help="What it must do, where no symbol says it.")
@JUNIT
@viewing
def routine(
    old: Path, new: Path, name: str, contract: str | None, junit: Path | None, view: View
) -> None:
    """Try a known routine of both on all shapes of its contract.

    What OLD's does in each case NEW's must do: results, memory, registers that callers rely on,
    nothing read or written without leave. A symbol says which contract it is, or --contract.

    \b
    Examples:
      retune difftest routine libc.so.6.1 out/libc.so.6.1 memchr
      retune difftest routine vmlinux vmlinux.ev67 0xfffffc0000a1b2c0 --contract memcpy
      retune difftest routine --json a b strlen | jq '.cases[].detail'

    Exit status: 0 both do the same, 1 they differ, 2 bad usage, 3 bad input.
    """
    from rewriter.api import difftest as tests

    testing.end(tests.routine(old, new, name, contract), junit, old, view)


@difftest.command()
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="NEW", type=PATH)
@click.argument("folder", metavar="DIR", type=PATH)
@click.option("--match", metavar="RE", help="Only tests whose name matches.")
@click.option(
    "--expect", type=PATH, metavar="FILE", help="Lines NAME STATUS...: what passes beside 0."
)
@_COUNT
@TIMEOUT
@running
@JOBS
@JUNIT
@viewing
def suite(
    old: Path,
    new: Path,
    folder: Path,
    match: str | None,
    expect: Path | None,
    count: bool,
    limit: float,
    how: Running,
    jobs: int,
    junit: Path | None,
    view: View,
) -> None:
    """Run the test programs in DIR with the libraries OLD and NEW.

    A test that passes with OLD must pass with NEW; one that fails or is unsupported (status 77)
    with OLD is counted and says nothing. Beside a test NAME may stand NAME.args, a line of
    arguments, NAME.input, its standard input, and NAME.expected, what it must print.

    \b
    Examples:
      retune difftest suite libc.so.6.1 out/libc.so.6.1 glibc-tests/ --junit report.xml
      retune difftest suite libm.so.6.1 out/libm.so.6.1 tests/ --match '^math' -v
      retune difftest suite --json a b tests/ | jq .counts

    Exit status: 0 both do the same, 1 they differ, 2 bad usage, 3 bad input.
    """
    from rewriter.difftest import suite as testsuite
    from rewriter.difftest.case import Comparison
    from rewriter.difftest.executed import CannotCount
    from rewriter.difftest.program import together
    from rewriter.difftest.setting import arranged, check_used

    check_used(old, (str(folder),))
    expected = testsuite.statuses(expect)
    tests = {test.name: test for test in testsuite.tests(folder, testing.pattern(match))}
    if missing := sorted(expected.keys() - tests.keys()) if match is None else ():
        raise BadInput(f"{expect}: no test is called {missing[0]}")
    with testing.scratch() as place, show.progress() as progress:
        first = next(iter(tests.values()))
        try:
            sides = arranged(old, new, (str(first.path),), how.wishes(count=count), place)
        except CannotCount as why:
            raise BadUsage(f"--count: {why}") from why
        found = testsuite.Suite(sides, limit, expected, place)
        names = list(tests.values())
        cases = tuple(together(found.case, names, jobs, progress, sides.setting.stop))
    testing.end(Comparison("suite", str(old), str(new), cases), junit, old, view)


difftest.add_command(boot)
