"""An error of retune's own in one function leaves that function alone, and is said.

The suite runs where such an error is raised (`rewriter.core.run.guard.strict`); here it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fixtures import inputs
from rewriter.cli import main
from rewriter.core.code.program import Function
from rewriter.core.errors import BadInput, BadUsage
from rewriter.core.run.guard import guarded, reason, strict
from rewriter.core.target.protocol import CannotMove
from rewriter.elf import manifest
from rewriter.elf.manifest import Manifest
from rewriter.road import pipeline
from rewriter.road.bundled.regions import Reordering
from rewriter.road.insertions import Insertions
from rewriter.road.layout import Layout
from rewriter.road.loops import Loops
from rewriter.road.routines.routine import Routines
from rewriter.road.superblocks import Superblocks
from rewriter.road.work import Work
from rewriter.verify import check
from rewriter.verify.regions import check as check_regions
from rewriter.verify.walk import function as walk
from targets.ia64.image import regions
from tests.conftest import Patched
from tests.support.depth import DEEP

Run = Callable[..., Result]


@pytest.fixture
def run() -> Iterator[Run]:
    """The command as users have it."""

    def call(*arguments: object) -> Result:
        texts = [str(argument) for argument in arguments]
        return CliRunner().invoke(main, texts, prog_name="retune", catch_exceptions=False)

    with strict(False):
        yield call


def failing_for(names: set[str], usual: Callable[..., Any], at: int = 1) -> Callable[..., Any]:
    """A method that fails for the functions of some names, the argument at a place."""

    def method(*arguments: Any, **others: Any) -> Any:
        one = arguments[at]
        function = one if isinstance(one, Function) else one.function
        if function.name in names:
            raise ValueError(f"no\nsense in {function.name}")
        return usual(*arguments, **others)

    return method


def edits(path: Path) -> dict[str, set[str]]:
    """The ids of a file's edits by function."""
    found: dict[str, set[str]] = {}
    for edit in recorded(path).edits:
        found.setdefault(edit.routine, set()).add(edit.id)
    return found


def recorded(path: Path) -> Manifest:
    record = manifest.read(path.read_bytes(), path.name)
    assert record is not None
    return record


# One function, any step ----------------------------------------------------------------------

STEPS = {
    "bytes, bitscan, combine": (Superblocks, "run"),
    "dead": (Superblocks, "clean"),
    "replay, prefetch, writehint, cmov, sink, reload": (Insertions, "run"),
    "align": (Layout, "run"),
    "schedule": (Loops, "run"),
    "substitute": (Routines, "run"),
}


EACH = [(step, jobs) for step in (*STEPS, "emission") for jobs in (1, 2)]


@pytest.mark.parametrize(("step", "jobs"), EACH if DEEP else [*EACH[::4], *EACH[3::4]])
def test_one_function_is_left_alone(
    step: str,
    jobs: int,
    run: Run,
    patched: Patched,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sample, after = inputs.require("alpha-sample"), tmp_path / "after.so"
    usual = edits(patched("alpha-sample", "ev67"))
    name = max(usual, key=lambda one: len(usual[one]))
    if step == "emission":
        monkeypatch.setattr(pipeline, "stages", failing_for({name}, pipeline.stages))
    else:
        where, method = STEPS[step]
        monkeypatch.setattr(where, method, failing_for({name}, getattr(where, method)))
    done = run("patch", sample, "-o", after, "--cpu", "ev67", "-vv", "-j", jobs)
    why = f"internal error in {step}: ValueError: no sense in {name}"
    assert done.exit_code == 0
    assert f"left alone: 1 function: {why}" in done.stdout
    assert f"left alone {name}: {why}" in done.stdout
    assert edits(after) == {other: ids for other, ids in usual.items() if other != name}
    assert run("verify", sample, after).exit_code == 0


def test_given_up_is_nothing_done(run: Run) -> None:
    """Nothing of what was done to a function before stays in the work."""
    kept = [name for name in Work.__dataclass_fields__ if name not in _WHOLE_FILE]
    assert kept == ["slots", "inserted", "carried", "moved", "reordered", "prefixed"]


_WHOLE_FILE = {
    *("program", "cpu", "options", "prover", "known", "nops", "savings", "done", "edits"),
    *("skips", "room", "described", "directions", "branched", "profiled", "_made"),
}


# The verifier --------------------------------------------------------------------------------


def test_a_comparison_that_fails_is_no_success(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample, tuned = inputs.require("alpha-sample"), tmp_path / "tuned.so"
    assert run("patch", sample, "-o", tuned, "--cpu", "ev67").exit_code == 0
    usual = edits(tuned)
    name = max(usual, key=lambda one: len(usual[one]))

    def fails(self: walk.Walk) -> None:
        if self.function.name == name:
            raise KeyError(name)
        usual_run(self)

    usual_run = walk.Walk.run
    monkeypatch.setattr(check.Walk, "run", fails)
    compared = run("verify", sample, tuned)
    assert compared.exit_code == 1
    assert f"{name}: internal error in comparison: KeyError: '{name}'" in compared.stdout
    again = tmp_path / "again.so"
    done = run("patch", sample, "-o", again, "--cpu", "ev67", "-v", "-j", 2)
    assert done.exit_code == 0
    assert "not verified: internal error in comparison: KeyError" in done.stdout
    assert name not in edits(again)


# Grouped code --------------------------------------------------------------------------------


def test_one_function_of_grouped_code(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, before = inputs.require("ia64-libjnidispatch"), tmp_path / "before.so"
    options = ("--cpu", "itanium2", "--funcs", "Java_com_sun_jna_Native_[a-i].*")
    assert run("patch", original, "-o", before, *options).exit_code == 0
    usual = edits(before)
    first, second, third = sorted(usual, key=lambda one: -len(usual[one]))[:3]
    scheduled, routine = Reordering.function, regions.Code._routine
    compared = check_regions._Check._compared
    monkeypatch.setattr(Reordering, "function", failing_for({first}, scheduled))
    monkeypatch.setattr(regions.Code, "_routine", failing_for({second}, routine))
    monkeypatch.setattr(check_regions._Check, "_compared", failing_for({third}, compared))
    after = tmp_path / "after.so"
    done = run("patch", original, "-o", after, *options, "-v", "-j", 2)
    assert done.exit_code == 0
    said = "left alone: 1 function: internal error in {}: ValueError: no sense in {}"
    assert said.format("schedule", first) in done.stdout
    assert said.format("regions", second) in done.stdout
    assert "not verified: internal error in comparison" in done.stdout
    assert {first, second, third}.isdisjoint(edits(after))
    refused = run("verify", original, before)
    assert refused.exit_code == 1
    assert "internal error in comparison: ValueError" in refused.stdout


# What goes through ---------------------------------------------------------------------------


def raising(error: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize(
    "error", (KeyboardInterrupt(), SystemExit(1), MemoryError(), BadUsage("no")), ids=repr
)
def test_what_ends_the_run_goes_through(error: BaseException) -> None:
    with strict(False), pytest.raises(type(error)):
        guarded("schedule", raising(error), str)


@pytest.mark.parametrize("error", (BadInput("damaged"), CannotMove("damaged")), ids=repr)
def test_what_a_function_is_refused_for_is_said_as_it_is(error: Exception) -> None:
    assert guarded("schedule", raising(error), str) == "damaged"


def test_the_tests_see_errors() -> None:
    with pytest.raises(ZeroDivisionError):
        guarded("schedule", raising(ZeroDivisionError()), str)


def test_one_line_of_bounded_length() -> None:
    assert reason("align", ValueError("a\nb\t c")) == "internal error in align: ValueError: a b c"
    assert reason("align", KeyError()) == "internal error in align: KeyError"
    assert len(reason("align", ValueError("x" * 9999))) < 300
