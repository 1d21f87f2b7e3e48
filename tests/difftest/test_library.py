"""Programs on the real libc: original, retuned, broken; several libraries; counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs, programs
from fixtures.broken import REACHED, halting

Run = Callable[..., Result]
SORTING = "qsort_r"


@pytest.fixture
def bad(libc: Path, libc_ev67: Path, tmp_path: Path) -> Path:
    """The retuned libc with an edit that kills whoever sorts."""
    path = tmp_path / libc.name
    made = halting(libc, libc_ev67, SORTING)
    path.write_bytes(made.data)
    return path


def test_a_program_on_the_retuned_libc(run: Run, libc: Path, libc_ev67: Path) -> None:
    """It does the same; what it executes is what another plugin counts."""
    inputs.require_tool("qemu-alpha")
    inputs.require_tool("cc")
    command = ("--json", "--count", "--", programs.build("bits"))
    result = run("difftest", "program", libc, libc_ev67, *command)
    assert (result.exit_code, result.stderr) == (0, "")
    (case,) = json.loads(result.stdout)["cases"]
    assert case["unstable"] == []
    for side, path in (("old", libc), ("new", libc_ev67)):
        counted = programs.count_instructions("bits", path)
        # The loader reads the environment, in which the two runs differ.
        assert abs(case["executed"][side] - counted) < 5000 < counted // 10


def test_a_broken_libc(run: Run, libc: Path, bad: Path) -> None:
    inputs.require_tool("qemu-alpha")
    command = ("--", programs.build(REACHED[SORTING]))
    result = run("difftest", "program", libc, bad, *command)
    assert result.exit_code == 1
    assert "it is killed by SIGILL, the original ends with status 0" in result.stderr


def test_several_libraries(run: Run, libc: Path, bad: Path) -> None:
    """Nothing is wrong with the first library; it is the one that comes with it."""
    inputs.require_tool("qemu-alpha")
    libm, sort = inputs.require("alpha-libm"), programs.build(REACHED[SORTING])
    both = ("difftest", "program", libm, libm)
    assert run(*both, "--", sort).exit_code == 0
    assert run(*both, "--with", f"{libc.name}={bad}", "--", sort).exit_code == 1
    result = run(*both, "--with", f"{libc.name}={bad},{libc}", "--", sort)
    assert result.exit_code == 1
    assert "it ends with status 0, the original is killed by SIGILL" in result.stderr


def test_a_program_by_its_place(run: Run) -> None:
    """An executable of another machine is run by its emulator, without a word about it."""
    inputs.require_tool("qemu-alpha")
    one, other = programs.build("bits"), programs.build("options")
    assert run("difftest", "program", one, one).exit_code == 0
    assert run("difftest", "program", one, one, "--", "{}").exit_code == 0
    assert run("difftest", "program", one, other).exit_code == 1
    result = run("difftest", "program", one, one, "--sysroot", "/none")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "/none: no such folder (--sysroot names one" in result.stderr
    result = run("difftest", "program", one, one, "--cpu", "ev99")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--cpu ev99: the emulator does not have it (it has ev4," in result.stderr
    other = inputs.require("ia64-libjnidispatch")
    result = run("difftest", "program", other, other)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "nothing is known that runs programs for its machine here" in result.stderr
