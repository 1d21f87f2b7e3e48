"""`--profile`: hot functions come first, and the report says what was done to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
OPTIONS = ("--cpu", "ev67", "--passes", "bytes", "--funcs", "sample_(find|length|extend)")


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """Of ten samples seven in sample_find, two in sample_length, one in another file."""
    path = tmp_path / "samples"
    path.write_text("E cycles\nS 730 7\nS 6f0 2\nS X:41be50 1\n")
    return path


def ids(done: Result) -> list[str]:
    """The functions that edits are in, in the order of the report."""
    return [edit["function"] for edit in json.loads(done.stdout)["edits"]]


def test_edits_come_by_heat(sample: Path, profile: Path, run: Run) -> None:
    """The same edits as without, the hottest function's first, and it keeps the limited ones."""
    patch = ("patch", sample, "--dry-run", "--json", *OPTIONS)
    cold, hot = run(*patch), run(*patch, "--profile", profile)
    assert sorted(ids(cold)) == sorted(ids(hot))
    assert ids(cold)[0] == "sample_length"
    assert (ids(hot)[0], ids(hot)[-1]) == ("sample_find", "sample_extend")
    limited = run(*patch, "--profile", profile, "--max-edits", "1")
    assert ids(limited) == ["sample_find"]
    assert json.loads(cold.stdout)["profile"] is None
    said = json.loads(hot.stdout)["profile"]
    assert (said["format"], said["total"], said["inside"]) == ("BOLT", 10, pytest.approx(0.9))
    assert said["edited"] == pytest.approx(0.9)
    assert [(f["function"], f["share"]) for f in said["functions"]] == [
        ("sample_find", 0.7),
        ("sample_length", 0.2),
    ]


def test_the_summary_names_hot_functions(
    sample: Path, profile: Path, tmp_path: Path, run: Run
) -> None:
    out = tmp_path / "out.so"
    done = run("patch", sample, "-o", out, "-v", *OPTIONS, "--profile", profile)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    at = lines.index(
        "profile: 10 samples of BOLT: 90.0% in 2 functions, 90.0% in functions with an edit"
    )
    assert lines[at + 1 : at + 3] == [
        "hot: 70.0% sample_find, 1 edit",
        "hot: 20.0% sample_length, 2 edits",
    ]
    assert run("verify", sample, out).exit_code == 0
    back = tmp_path / "back.so"
    assert run("revert", out, "-o", back).exit_code == 0
    assert back.read_bytes() == sample.read_bytes()


def test_a_bad_profile_is_one_line_and_nothing_is_written(
    sample: Path, tmp_path: Path, run: Run
) -> None:
    bad, out = tmp_path / "bad", tmp_path / "out.so"
    bad.write_text("S 730 7\nS 730 many\n")
    for path, message in ((bad, f"{bad}: line 2 is not S with"), (tmp_path / "none", "none: cann")):
        done = run("patch", sample, "-o", out, *OPTIONS, "--profile", path)
        assert done.exit_code == 3
        assert len(done.stderr.splitlines()) == 1
        assert message in done.stderr
        assert not out.exists()
