"""Command lines that cannot mean what they say: one line, status 2, before any work."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fixtures import ia64, inputs
from rewriter.cli import main


def run(*arguments: object) -> Result:
    texts = [str(argument) for argument in arguments]
    return CliRunner().invoke(main, texts, prog_name="retune", catch_exceptions=False)


def refused(said: str, *arguments: object, status: int = 2) -> None:
    """One line that says so, and nothing done."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (status, ""), result.output
    assert result.stderr.startswith("retune: ") and result.stderr.count("\n") == 1
    assert said in result.stderr


@pytest.fixture
def line(tmp_path: Path) -> tuple[object, ...]:
    """A command line that is right."""
    out = tmp_path / "out"
    return (
        "patch",
        inputs.require("alpha-sample"),
        "-o",
        out,
        "--cpu",
        "ev67",
        "--passes",
        "bytes",
    )


def test_the_line_is_right(line: tuple[object, ...]) -> None:
    assert run(*line).exit_code == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--cpu", ""), "--cpu is empty"),
        (("--cpu", " "), "--cpu is empty"),
        (("--tune", ""), "--tune is empty"),
        (("-o", ""), "the name of the file is empty"),
        (("-o", "new/"), "new/ names a folder, not a file"),
        (("--manifest", "new/"), "new/ names a folder, not a file"),
        (("--manifest", ""), "the name of the file is empty"),
        (("--skip", "bytes:sample_copi+3c"), "no edit can be called so"),
        (("--skip", "bites:sample_copy+3c"), "no edit can be called so"),
        (("--skip", "sample_copy"), "no edit can be called so"),
        (("--skip", "bytes:sample_copy+zz"), "no edit can be called so"),
        (("--funcs", "no_such"), "--funcs no_such: no function is called so"),
        (("-q", "--json"), "-q and --json exclude each other (see retune patch --help)"),
        (("-q", "-v"), "-q and -v exclude each other"),
        (("--max-edits", "x"), "patch: Invalid value for '--max-edits'"),
        (("--no-such",), "patch: No such option"),
    ],
    ids=" ".join,
)
def test_what_would_silently_do_something_else(
    more: tuple[str, ...], said: str, line: tuple[object, ...], tmp_path: Path
) -> None:
    refused(said, *line, *more)
    assert not (tmp_path / "out").exists()


def test_an_edit_that_is_there_may_be_skipped(line: tuple[object, ...]) -> None:
    result = run(*line, "--skip", "bytes:sample_copy+3c", "--funcs", "sample_copy")
    assert result.exit_code == 0
    assert "sample_copy+3c" not in run(*line, "--skip", "bytes:sample_copy+3c", "-v").stdout
    assert "sample_copy+3c" in run(*line, "-v").stdout


def test_one_is_no_plural(line: tuple[object, ...]) -> None:
    said = run(*line, "-v", "--funcs", "sample_copy_string").stdout
    proofs = next(text for text in said.splitlines() if text.startswith("proofs: "))
    assert "1 pattern," in proofs and " patterns" not in proofs


def test_an_input_from_a_pipe() -> None:
    refused("-: retune reads files, not pipes", "identify", "-")


def test_verify_of_two_architectures(tmp_path: Path) -> None:
    library = ia64.linked(ia64.CROSSING, tmp_path, "-shared")
    old = inputs.require("alpha-sample")
    refused("is for another architecture than", "verify", old, library, status=3)


def test_verify_of_files_swapped(line: tuple[object, ...], tmp_path: Path) -> None:
    assert run(*line).exit_code == 0
    refused("name the original first", "verify", tmp_path / "out", line[1], status=3)


def test_a_foreign_file_is_called_by_its_machine(tmp_path: Path) -> None:
    data, path = bytearray(inputs.require("alpha-sample").read_bytes()), tmp_path / "file"
    data[18:20] = (22).to_bytes(2, "little")
    path.write_bytes(data)
    refused(f"{path}: is for S/390 (e_machine 0x16)", "identify", path, status=3)
