"""Programs on PowerPC's C libraries: emulators of each ABI, a broken edit, the search for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fixtures import inputs, programs
from fixtures.broken import Broken, halting
from fixtures.guests import GUESTS
from tests.conftest import FEW, Patched, Run
from tests.support.depth import DEEP

EMULATORS = {"ppc": "qemu-ppc", "ppc64": "qemu-ppc64", "ppc64el": "qemu-ppc64le"}


def _program(name: str, abi: str) -> Path:
    inputs.require_tool(EMULATORS[abi])
    try:
        return programs.build(name, GUESTS[abi])
    except inputs.Missing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("abi", EMULATORS)
def test_a_program_by_its_place(abi: str, run: Run) -> None:
    """Each ABI has its emulator and its folder of libraries, and names of CPUs are known there."""
    program = _program("options", abi)
    assert run("difftest", "program", program, program).exit_code == 0
    result = run("difftest", "program", program, program, "--cpu", "power4")
    assert "--cpu power4: the emulator does not have it (it has " in result.stderr


def test_a_broken_edit_is_seen(run: Run, patched: Patched, tmp_path: Path) -> None:
    """One word of the 32-bit libc's memcpy is none: programs die of it."""
    program = _program("sort", "ppc")
    inputs.require_tool("cc")
    old = inputs.require("ppc-libc")
    new = patched("ppc-libc", "7450", ("--funcs", FEW))
    result = run("difftest", "program", old, new, "--json", "--count", "--", program)
    (case,) = json.loads(result.stdout)["cases"]
    assert (result.exit_code, case["verdict"]) == (0, "same")
    assert case["executed"]["new"] <= case["executed"]["old"]

    bad, _ = _bad(old, new, tmp_path)
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "sort").symlink_to(program)
    for command in (("program", old, bad, "--", program), ("suite", old, bad, tests)):
        result = run("difftest", *command)
        assert result.exit_code == 1
        assert "it is killed by SIGILL" in result.stderr


@pytest.mark.skipif(not DEEP, reason="it analyses the libc again and again: RETUNE_TESTS=deep")
def test_a_search_finds_the_broken_edit(run: Run, patched: Patched, tmp_path: Path) -> None:
    program, old = _program("sort", "ppc"), inputs.require("ppc-libc")
    bad, made = _bad(old, patched("ppc-libc", "7450", ("--funcs", FEW)), tmp_path)
    result = run("bisect", old, bad, "--json", "--", program)
    assert (result.exit_code, result.stderr) == (0, "")
    (culprit,) = json.loads(result.stdout)["culprit"]
    assert culprit["function"] == "memcpy"
    assert [edit["id"] for edit in culprit["edits"]] == [edit.id for edit in made.edits]


def _bad(old: Path, new: Path, folder: Path) -> tuple[Path, Broken]:
    """A retuned libc in which one word of memcpy is no instruction."""
    made = halting(old, new, "memcpy")
    bad = folder / old.name
    bad.write_bytes(made.data)
    return bad, made
