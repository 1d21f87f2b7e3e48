"""`retune bench --suite itanium`: the article's table beside ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import ia64, inputs

Run = Callable[..., Result]
SUITE = ("--suite", "itanium", "--cpu", "itanium2")

# The article's rows: version, cycles, groups, bubbles.
ARTICLE = """C++ 508 231 277
initial assembly 170 83 87
optimised 95 39 56
final 36 33 3
optimal 34 32 2
ideal 9 9 0"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return ia64.fastpath(tmp_path)


def test_both_tables(run: Run, path: Path) -> None:
    result = run("bench", path, *SUITE)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    rows = [" ".join(line.split("\t")[:4]) for line in lines]
    start = rows.index("C++ 508 231 277")
    assert rows[start : start + 6] == ARTICLE.splitlines()
    assert any(line.startswith("as written\t") for line in lines)
    assert "not measured" in lines[-1]


def test_bubbles_add_up(run: Run, path: Path) -> None:
    document = json.loads(run("bench", path, *SUITE, "--json").stdout)
    for stage in document["stages"]:
        assert stage["cycles"] == stage["groups"] + sum(stage["bubbles"].values())
    for row in document["measured"]:
        assert row["cycles"] == row["groups"] + row["bubbles"]
    counted = {k: v for k, v in document["measured_bubbles"].items() if k != "version"}
    assert sum(counted.values()) == 56
    first, *_, last = document["stages"]
    assert last["cycles"] < first["cycles"]
    assert last["instructions"] == first["instructions"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("--machine", "cs20"), 2, "--machine"),
        (("--share", "0.4"), 2, "--share"),
        (("--function", "nothing"), 2, "nothing: no such function"),
    ],
)
def test_what_it_refuses(
    arguments: tuple[str, ...], status: int, said: str, run: Run, path: Path
) -> None:
    result = run("bench", path, *SUITE, *arguments)
    assert result.exit_code == status
    assert said in result.stderr


def test_code_that_is_not_straight(run: Run) -> None:
    library = inputs.require("ia64-libjnidispatch")
    result = run("bench", library, *SUITE, "--function", "ffi_call")
    assert result.exit_code == 3
    assert "leaves the function on the way" in result.stderr


def test_other_kinds_of_code(run: Run, sample: Path) -> None:
    result = run("bench", sample, *SUITE)
    assert result.exit_code == 3
    assert "says what issues together" in result.stderr


def test_the_other_suite_takes_no_function(run: Run, sample: Path) -> None:
    result = run("bench", sample, "--cpu", "ev67", "--function", "memcpy")
    assert result.exit_code == 2
    assert "--function" in result.stderr
