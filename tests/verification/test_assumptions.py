"""Each assumption that may be refused: an edit rests on it, and is not made or accepted without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import targets
from fixtures import corners, inputs
from rewriter.analysis.program import analyse
from rewriter.api.progress import quiet
from rewriter.core.assumptions import (
    ALIGNMENT,
    ARGUMENTS,
    EVERY,
    FILES,
    LINES,
    LOADS,
    LOCKS,
    RETURNS,
    SENTENCES,
    STANDARD,
    TABLES,
)
from rewriter.elf.image import load
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from tests.conftest import Patched, Run
from tests.support.mutants.tuned import OPTIONS
from tests.verification.tables import test_lines as lines
from tests.verification.tables.test_detours import library

GUIDE = Path(__file__).parents[2] / "docs" / "assumptions.md"


def _without(*names: str) -> tuple[str, str]:
    return "--assume", ",".join(sorted(EVERY - set(names)))


def _edits(run: Run, source: Path, target: Path, *options: str) -> list[dict[str, str]]:
    """What `patch` does to a file."""
    done = run("patch", source, "-o", target, "--cpu", "ev67", *options)
    assert done.exit_code in (0, 4), done.stderr
    if done.exit_code == 4:
        return []
    listed = run("edits", target, "--json")
    found: list[dict[str, str]] = json.loads(listed.stdout)["edits"]
    return found


@pytest.fixture(scope="module")
def sample() -> Path:
    return inputs.require("alpha-sample")


@pytest.fixture(scope="module")
def tuned(sample: Path, run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("tuned") / "tuned.so"
    assert _edits(run, sample, target)
    return target


def test_the_guide_speaks_of_each() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in SENTENCES)


def test_an_unknown_one_is_refused(sample: Path, run: Run) -> None:
    done = run("verify", sample, sample, "--assume", "luck")
    assert done.exit_code == 2
    assert "luck" in done.stderr


def test_alignment(run: Run, tmp_path: Path) -> None:
    """The word is inside a quadword, but at odd addresses too: hardware would trap."""
    flags = ("-O2", "-mcpu=ev4")
    program = inputs.or_skip(lambda name: corners.compiled(name, flags), "od.c")
    words = {
        bool([e for e in _edits(run, program, tmp_path / "new", *options) if "word" in e["kind"]])
        for options in ((), _without(ALIGNMENT))
    }
    by_default = _edits(run, program, tmp_path / "default")
    assert words == {True, False}
    assert any(edit["kind"] == "word load" for edit in by_default)


@pytest.mark.parametrize(("pair", "name"), [("standard", STANDARD), ("volatile", LOADS)])
def test_a_pair_rests_on_it(pair: str, name: str, run: Run) -> None:
    """A register that the standard does not pass on; two loads of one place."""
    files = [inputs.or_skip(corners.assembled, f"{pair}_{which}.s") for which in ("old", "new")]
    assert run("verify", *files).exit_code == 0
    assert run("verify", *files, *_without(name)).exit_code == 1


def test_locks(sample: Path, tuned: Path, run: Run, tmp_path: Path) -> None:
    """Hints in loops of the sample."""
    assert run("verify", sample, tuned).exit_code == 0
    assert run("verify", sample, tuned, *_without(LOCKS)).exit_code == 1
    fewer = tmp_path / "fewer.so"
    assert _edits(run, sample, fewer, *_without(LOCKS))
    assert run("verify", sample, fewer, *_without(LOCKS)).exit_code == 0


def test_lines(run: Run, tmp_path: Path) -> None:
    """A loop that fills memory, and its version for long counts."""
    for name, code in zip(("old", "new"), lines.texts(lines.new()), strict=True):
        library(tmp_path, name, code)
    files = tmp_path / "old", tmp_path / "new", "--cpu", "ev67"  # one with WH64
    assert run("verify", *files).exit_code == 0
    assert run("verify", *files, *_without(LINES)).exit_code == 1


def test_returns(run: Run, tmp_path: Path) -> None:
    """A function with calls that is laid out anew."""
    flags = ("-O2", "-mcpu=ev4")
    program = inputs.or_skip(lambda name: corners.compiled(name, flags), "dv.c")
    tuned = tmp_path / "tuned"
    assert "align" in {edit["pass"] for edit in _edits(run, program, tuned)}
    assert run("verify", program, tuned).exit_code == 0
    assert run("verify", program, tuned, *_without(RETURNS)).exit_code == 1
    assert "align" not in {e["pass"] for e in _edits(run, program, tuned, *_without(RETURNS))}


def test_arguments(libc: Path, run: Run, tmp_path: Path) -> None:
    """A tuned copy writes argument registers that the old one left alone."""
    kept = ("--cache", str(tmp_path / "kept"))
    options = ("--passes", "substitute", "--funcs", "bcopy", *kept)
    given = [
        [edit["preconditions"] for edit in _edits(run, libc, tmp_path / "new", *options, *more)]
        for more in ((), _without(ARGUMENTS))
    ]
    assert given[0] == [["arguments of a later call are set after the call"]]
    assert given[1] == []


def test_nothing_assumed(sample: Path, run: Run, tmp_path: Path) -> None:
    """What is left is proved for calls and returns that pass anything."""
    edits = _edits(run, sample, tmp_path / "sure.so", "--assume", "none")
    assert edits
    assert run("verify", sample, tmp_path / "sure.so", "--assume", "none").exit_code == 0


def test_tables(run: Run, tmp_path: Path) -> None:
    """The compiler dropped the bound: the table is as long as it reads."""
    flags = ("-O2", "-mcpu=ev4")
    program = inputs.or_skip(lambda name: corners.compiled(name, flags), "sw.c")
    left = [
        run("patch", program, "--dry-run", "--cpu", "ev67", *options).stdout
        for options in ((), _without(TABLES))
    ]
    reason = "computed jump not understood"
    assert reason not in left[0]
    assert reason in left[1]


def test_code_analysed_on_more_is_analysed_again() -> None:
    """What `tune` is given of a file counts only where it rests on what may be assumed."""
    flags = ("-O2", "-mcpu=ev4")
    image = load(inputs.or_skip(lambda name: corners.compiled(name, flags), "sw.c"))
    target = targets.of(image)
    assert target.sequential is not None
    options = Options(passes=("bytes",), assume=EVERY - {TABLES})
    afresh, given = (
        tune(image, target, target.sequential.cpus["ev67"], options, quiet, program=program)
        for program in (None, analyse(image, target.sequential))
    )
    assert "computed jump not understood" in {refusal.reason for refusal in afresh.refusals}
    assert given.refusals == afresh.refusals


def test_files(patched: Patched, run: Run) -> None:
    """IA-64: registers that are dead at calls of other files."""
    original = inputs.require("ia64-libjnidispatch")
    tuned = patched("ia64-libjnidispatch", "itanium2", OPTIONS["itanium2"])
    assert run("verify", original, tuned, *_without(FILES)).exit_code == 1
