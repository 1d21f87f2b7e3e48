"""`retune signatures make` and `retune identify --known`: options, statuses, reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs

Run = Callable[..., Result]


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where signatures of the real libc go."""
    return tmp_path_factory.mktemp("signatures") / "libc.json"


@pytest.fixture
def made(run: Run, libc: Path, database: Path) -> Path:
    """Signatures of the real libc."""
    if not database.is_file():
        result = run("signatures", "make", libc, "-o", database, "--note", "of Debian")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.splitlines()[-1] == "alpha: 30 signatures of 30 routines"
    return database


def test_made_and_found_again(run: Run, libc: Path, made: Path) -> None:
    inputs.require_tool("qemu-alpha")
    result = run("identify", "--known", libc, "--database", made)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "alpha: 30 known, 2 refused"
    (strlen,) = (line for line in lines if " strlen " in line)
    assert strlen.split()[1:] == ["strlen", "known", "104", "libc.so.6.1", "TESTED(34)", "steps"]
    (detail,) = (
        line
        for line in run("identify", "--known", "-v", libc, "--database", made).stdout.splitlines()
        if " strlen from " in line
    )
    assert "libc.so.6.1 strlen, SHA-256 " in detail and "(of Debian)" in detail


def test_json(run: Run, libc: Path, made: Path) -> None:
    found = json.loads(run("identify", "--known", "--json", libc, "--database", made).stdout)
    assert found["target"] == "alpha" and found["counts"]["known"] >= 22
    (memcpy,) = (f for f in found["findings"] if f["routine"] == "memcpy")
    assert memcpy["status"] == "known" and memcpy["evidence"].startswith("TESTED(")
    assert memcpy["sources"][0]["symbol"] == "memcpy"


def test_the_same_twice(run: Run, libc: Path, made: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    result = run("signatures", "make", libc, "-o", again, "--note", "of Debian", "--json")
    assert again.read_bytes() == made.read_bytes()
    report = json.loads(result.stdout)
    assert report["signatures"] == 30 and report["files"][0]["refused"] == []


def test_very_verbose_lists_signatures(run: Run, libc: Path, tmp_path: Path) -> None:
    result = run("signatures", "make", libc, "-o", tmp_path / "x", "-vv")
    assert sum(line.startswith("strlen 26 words ") for line in result.stdout.splitlines()) == 1


def test_a_file_without_known_routines(run: Run, sample: Path, tmp_path: Path) -> None:
    result = run("signatures", "make", sample, "-o", tmp_path / "x")
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.endswith("no function is named after a routine that retune knows\n")
    assert not (tmp_path / "x").exists()
    assert run("identify", "--known", inputs.require("alpha-libm")).exit_code == 4


def test_a_routine_of_another_name(run: Run, sample: Path) -> None:
    """The sample counts a string's bytes in the words of the kernel's strlen."""
    result = run("identify", "--known", sample)
    assert result.exit_code == 0
    assert " strlen known 64 linux-source-6.1" in result.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "neither ELF, nor an archive, nor a package"),
        (b"!<arch>\n" + b"?" * 80, "member header at 0x8 is damaged"),
        (b"!<arch>\n", "holds no ELF file"),
        (b"\x7fELF\x02\x01\x01" + bytes(60), "e_machine 0x0), which retune does not know"),
    ],
)
def test_bad_input_is_one_line(content: bytes, said: str, run: Run, tmp_path: Path) -> None:
    source = tmp_path / "bad"
    source.write_bytes(content)
    result = run("signatures", "make", source, "-o", tmp_path / "x")
    assert (result.exit_code, result.stdout) == (3, "")
    assert said in result.stderr and result.stderr.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_a_bad_database_is_bad_input(run: Run, sample: Path, tmp_path: Path) -> None:
    for content in (b"", b"\xff", b"{}"):
        (tmp_path / "db").write_bytes(content)
        result = run("identify", "--known", sample, "--database", tmp_path / "db")
        assert (result.exit_code, result.stdout) == (3, "")
        assert "db: no signature database" in result.stderr


def test_usage(run: Run, sample: Path, tmp_path: Path) -> None:
    for arguments in (("--like",), ("--database", tmp_path / "db")):
        result = run("identify", sample, *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "add --known" in result.stderr
    assert run("signatures", "make", "-o", tmp_path / "x").exit_code == 2
    same = run("signatures", "make", sample, "-o", sample)
    assert same.exit_code == 2 and "is the input itself" in same.stderr


def test_help_of_make(run: Run) -> None:
    text = run("signatures", "make", "--help").stdout
    assert text.startswith("Usage: retune signatures make ")
    assert "Examples:\n    retune signatures make" in text and "Exit status: 0 " in text
