"""`retune difftest suite`: passes on the original, fails on the new file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import glibc_tests, inputs
from fixtures.broken import halting

Run = Callable[..., Result]

_PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int answer(int);
int main(int argc, char **argv)
{
    int c, status = argc > 1 ? atoi(argv[1]) : 0;
    while ((c = getchar()) != EOF)
        putchar(c);
    return answer(status);
}
"""


@pytest.fixture
def library(tmp_path: Path) -> Callable[[str, str], Path]:
    """`library("old", "status")`: a library for this machine, and what its function gives."""

    def make(name: str, answer: str) -> Path:
        source, path = tmp_path / f"{name}.c", tmp_path / name / "libanswer.so.1"
        path.parent.mkdir()
        source.write_text(f"int answer(int status) {{ return {answer}; }}\n")
        flags = ("-shared", "-fPIC", "-Wl,-soname,libanswer.so.1")
        compiler = inputs.require_tool("cc")
        subprocess.run((compiler, *flags, str(source), "-o", str(path)), check=True)
        return path

    return make


@pytest.fixture
def folder(tmp_path: Path, library: Callable[[str, str], Path]) -> Path:
    """Tests that pass, fail, are unsupported, read, and print what is expected or not."""
    made, source = tmp_path / "tests", tmp_path / "test.c"
    made.mkdir()
    source.write_text(_PROGRAM)
    built = made / "plain"
    compiler = inputs.require_tool("cc")
    subprocess.run(
        (compiler, "-w", source, library("link", "status"), "-o", built), check=True
    )  # fmt: skip
    for name in ("fails", "unsupported", "three", "reads", "other"):
        (made / name).write_bytes(built.read_bytes())
        (made / name).chmod(0o755)
    (made / "fails.args").write_text("1\n")
    (made / "unsupported.args").write_text("77\n")
    (made / "three.args").write_text("3\n")
    for name, text in (("reads", "a\n"), ("other", "b\n")):
        (made / f"{name}.input").write_text("a\n")
        (made / f"{name}.expected").write_text(text)
    (made / "libnone.so").write_bytes(built.read_bytes())
    (made / "notes").write_text("no program")
    return made


def verdicts(result: Result) -> dict[str, tuple[str, str]]:
    cases = json.loads(result.stdout)["cases"]
    return {case["name"]: (case["verdict"], case["detail"]) for case in cases}


def test_what_counts(run: Run, folder: Path, library: Callable[[str, str], Path]) -> None:
    old, same = library("old", "status"), library("same", "status + 0")
    bad, worse = library("bad", "status == 0 ? 9 : status"), library("worse", "1 / (status * 0)")
    expect = folder.parent / "expect"
    expect.write_text("# a comment\nthree 3 4\n")
    command = ("difftest", "suite", old)
    result = run(*command, same, folder, "--expect", expect, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    good, unusable = ("same", ""), "unusable"
    assert verdicts(result) == {
        "fails": (unusable, "on the original it ends with status 1"),
        "other": (unusable, "on the original it prints something else than is expected"),
        "plain": good,
        "reads": good,
        "three": good,
        "unsupported": (unusable, "on the original it is unsupported"),
    }
    result = run(*command, bad, folder, "--expect", expect, "--json")
    assert result.exit_code == 1
    found = verdicts(result)
    assert found["plain"] == found["reads"] == ("differs", "it ends with status 9")
    assert found["three"] == good
    assert result.stderr == f"retune: {bad}: plain: it ends with status 9\n"
    result = run(*command, worse, folder, "--match", "^pl")
    assert "differs: plain: it is killed by SIGFPE" in result.stdout


def test_bad_folders(run: Run, folder: Path, library: Callable[[str, str], Path]) -> None:
    old, expect = library("old", "status"), folder.parent / "expect"
    empty = folder.parent / "empty"
    empty.mkdir()
    for options, message in (
        ((folder / "none",), "none: no such folder"),
        ((empty,), "holds no executable ELF file"),
        ((folder, "--match", "nothing"), "no test matches nothing"),
        ((folder, "--expect", expect), "expect: cannot be read"),
        ((folder, "--match", "fails"), "nothing could be compared: fails: on the original"),
    ):
        result = run("difftest", "suite", old, old, *options)
        assert result.exit_code == 3
        assert message in result.stderr
    for text, message in (
        ("three x\n", "expect:1: invalid literal"),
        ("three\n", "three has no status"),
        ("gone 1\n", "no test is called gone"),
    ):
        expect.write_text(text)
        result = run("difftest", "suite", old, old, folder, "--expect", expect)
        assert (result.exit_code, result.stdout) == (3, "")
        assert message in result.stderr


def test_glibcs_own_tests(run: Run, libc: Path, libc_ev67: Path, tmp_path: Path) -> None:
    """Some of glibc's tests pass on the retuned libc, and see a broken one."""
    inputs.require_tool("qemu-alpha")
    for name in glibc_tests.FEW:
        inputs.or_skip(glibc_tests.build, name)
    folder = glibc_tests.suite(glibc_tests.FEW, tmp_path / "tests")
    result = run("difftest", "suite", libc, libc_ev67, folder, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert document["counts"] == {"same": len(glibc_tests.FEW), "differs": 0, "unusable": 0}
    bad = tmp_path / libc.name
    made = halting(libc, libc_ev67, "strtol")
    bad.write_bytes(made.data)
    result = run("difftest", "suite", libc, bad, folder, "--match", "strtol", "--json")
    assert result.exit_code == 1
    assert {case["verdict"] for case in json.loads(result.stdout)["cases"]} == {"differs"}
