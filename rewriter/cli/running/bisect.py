"""`retune bisect`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rewriter.api import files
from rewriter.cli import show
from rewriter.cli.options import PATH, View, viewing
from rewriter.cli.running import testing
from rewriter.cli.running.testing import MASK, TIMEOUT, Running, running
from rewriter.core.errors import BadInput, BadUsage

if TYPE_CHECKING:
    from rewriter.bisect.search import Outcome
    from rewriter.difftest.outcome import Masks
    from rewriter.difftest.setting import Sides, Wishes

SKIPPED = 125
"""The status by which a command says that a candidate cannot be tested, as for `git bisect run`."""


@click.command()
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="NEW", type=PATH)
@click.argument("command", metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--compare", is_flag=True, help="Bad is what differs from a run with OLD, not what fails."
)
@click.option("--manifest", "beside", metavar="FILE", type=PATH, help="The manifest kept beside.")
@click.option("--state", metavar="FILE", type=PATH, help="Keep what was tested, and go on from it.")
@MASK
@TIMEOUT
@running
@viewing
def bisect(
    old: Path,
    new: Path,
    command: tuple[str, ...],
    compare: bool,
    beside: Path | None,
    state: Path | None,
    masks: tuple[str, ...],
    limit: float,
    how: Running,
    view: View,
) -> None:
    """Find the edits of NEW that make COMMAND fail.

    COMMAND is run with candidates, each OLD with some of NEW's edits. It says by its status what
    a candidate is: 0 good, 125 cannot be tested, any other (a signal and a run out of time, too)
    bad. `{}` stands for the candidate; without it a library stands in place of the one of its
    name, as for `retune difftest program`; RETUNE_CANDIDATE has its path in any case. It runs in
    an empty folder, with the environment of this command and what --env adds.

    Edits of one function stick together where its code moved, and routines in pieces with the
    functions in whose room they stand. For one bad edit it takes log2 of the number of functions,
    and some runs more. The culprit is listed with its evidence.

    \b
    Examples:
      retune bisect libc.so.6.1 out/libc.so.6.1 -- ./a.out --check
      retune bisect a.out b.out --compare -- {} input.txt
      retune bisect vmlinux vmlinux.ev67 --state bisect.log -- ./boot-test.sh {}
      retune bisect --json a b -- ./t | jq '.culprit[].edits[].id'

    Exit status: 0 found, 1 the search cannot go on, 2 bad usage, 3 bad input (also: COMMAND fails
    with OLD), 4 nothing to do: COMMAND does not fail with NEW.
    """
    from rewriter.bisect.road import culprit
    from rewriter.bisect.state import State, what
    from rewriter.bisect.told import Told
    from rewriter.difftest.setting import arranged
    from rewriter.elf import manifest
    from rewriter.elf.headers import printable

    if not command:
        raise BadUsage("COMMAND is missing", hint="retune bisect OLD NEW -- COMMAND...")
    patterns, label = testing.masks_of(masks), printable(str(new))
    before, after = files.load(old).image, files.content(new)
    if beside is None:
        bare, record = manifest.detach(after, label)
    else:
        bare, record = after, manifest.parse(files.read(beside), printable(str(beside)))
    if manifest.revert_with(bare, record, label) != before.data:
        raise BadInput(f"{printable(str(old))}: is not the original of {label}")
    with testing.scratch() as folder, show.progress() as progress:
        sides = arranged(old, new, command, _as_here(how.wishes()), folder)
        if compare:
            judge = _compared(sides, limit, patterns, folder)
        else:
            judge = _ended(sides, limit, folder)
        kept = State.opened(state, what(before.data, bare, (*command, str(compare))))
        found = culprit(before, bare, record, judge, kept, progress)
    show.result(Told(found), view)


def _as_here(wishes: Wishes) -> Wishes:
    """With this command's environment: COMMAND finds what the user's shell finds."""
    from rewriter.difftest.setting import CANDIDATE

    ours = {name: value for name, value in os.environ.items() if name != CANDIDATE}
    return replace(wishes, environment={**ours, **wishes.environment})


def _ended(sides: Sides, limit: float, folder: Path) -> Callable[[bytes], Outcome]:
    """Judges by how the command ends."""
    from rewriter.bisect.search import Outcome
    from rewriter.difftest.running import Ending, Input, run

    def judge(candidate: bytes) -> Outcome:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            place = Path(name)
            launch = sides.setting.launch(sides.candidate(candidate, place), place)
            done = run(launch, Input("candidate"), limit, place)
        if done.ending is Ending.ENDED and done.status in (0, SKIPPED):
            return Outcome.SKIP if done.status else Outcome.GOOD
        return Outcome.BAD

    return judge


def _compared(sides: Sides, limit: float, masks: Masks, folder: Path) -> Callable[[bytes], Outcome]:
    """Judges by whether the command does what it does with the original."""
    from rewriter.bisect.search import Outcome
    from rewriter.difftest.case import Verdict
    from rewriter.difftest.program import Tester
    from rewriter.difftest.running import Input

    outcomes = {
        Verdict.SAME: Outcome.GOOD,
        Verdict.DIFFERS: Outcome.BAD,
        Verdict.UNUSABLE: Outcome.SKIP,
    }

    def judge(candidate: bytes) -> Outcome:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            place = Path(name)
            against = sides.against(sides.candidate(candidate, place))
            case = Tester(against, limit, masks, place).case(Input("candidate"))
        return outcomes[case.verdict]

    return judge
