"""The commands of docs/difftest.md, run as they stand there."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import glibc_tests, inputs, programs
from fixtures.broken import REACHED, halting

Run = Callable[..., Result]
DOCS = Path(__file__).resolve().parents[2] / "docs" / "difftest.md"
COMMANDS = [
    line.removeprefix("    retune ")
    for line in DOCS.read_text(encoding="utf-8").splitlines()
    if line.startswith("    retune ")
]


@pytest.fixture
def place(libc: Path, libc_ev67: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the page names: a program that sorts, two tests."""
    inputs.require_tool("qemu-alpha")
    (tmp_path / "out").mkdir()
    (tmp_path / "libc.so.6.1").symlink_to(libc)
    (tmp_path / "out" / "libc.so.6.1").write_bytes(libc_ev67.read_bytes())
    (tmp_path / "a.out").symlink_to(programs.build(REACHED["qsort_r"]))
    tests = ("stdio-common/tst-printf", "string/testcopy")
    for name in tests:
        inputs.or_skip(glibc_tests.build, name)
    glibc_tests.suite(tests, tmp_path / "tests")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_has_a_command_of_each_kind() -> None:
    kinds = {" ".join(command.split()[:2]) for command in COMMANDS}
    assert {"difftest program", "difftest routine", "difftest suite"} < kinds
    assert len(COMMANDS) == 4


@pytest.mark.parametrize("kind", ["program", "routine", "suite", "boot"])
def test_help(kind: str, run: Run) -> None:
    result = run("difftest", kind, "--help")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"Usage: retune difftest {kind} ")
    assert f"Examples:\n    retune difftest {kind} " in result.stdout
    assert "Exit status: 0 both do the same, 1 they differ, 2 bad usage, 3 bad" in result.stdout
    for option in ("--json", "--junit FILE"):
        assert option in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page(command: str, run: Run, place: Path) -> None:
    words = shlex.split(command)
    if words[0] == "bisect":
        old, new = place / "libc.so.6.1", place / "out" / "libc.so.6.1"
        made = halting(old, new, "qsort_r")
        new.write_bytes(made.data)
    result = run(*words)
    assert (result.exit_code, result.stderr) == (0, "")
    if words[0] == "bisect":
        (culprit,) = re.findall(r"^culprit: qsort_r: (.*)$", result.stdout, re.MULTILINE)
        assert "align:qsort_r+0" in culprit.split(", ")
    else:
        assert " same" in result.stdout.splitlines()[-1]


def test_the_form_of_the_document(run: Run, place: Path) -> None:
    """The keys that the page names, for every kind."""
    text = DOCS.read_text(encoding="utf-8")
    for command in (COMMANDS[1], COMMANDS[2]):
        document = json.loads(run(*shlex.split(command), "--json").stdout)
        for key in (*document, *document["cases"][0]):
            assert f"`{key}`" in text
