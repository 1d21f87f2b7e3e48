"""How a command ends when standard output, memory or retune itself fails."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner, Result
from commands_started import Started

from rewriter.api import files
from rewriter.cli import main
from rewriter.core.run.guard import strict
from rewriter.core.run.workers import Apart, WorkerFailed, each
from rewriter.core.target.protocol import CannotMove
from rewriter.elf import manifest


def fails(monkeypatch: pytest.MonkeyPatch, error: BaseException, *arguments: object) -> Result:
    """How the command ends when reading a file fails so, as users have it."""

    def broken(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(files, "load", broken)
    with strict(False):
        return CliRunner().invoke(main, [str(one) for one in arguments], prog_name="retune")


@pytest.mark.parametrize(
    "error",
    [KeyError("no\nsuch"), RecursionError("deep"), CannotMove("not here"), AssertionError()],
    ids=repr,
)
def test_an_error_nobody_foresaw(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    result = fails(monkeypatch, error, "identify", "in")
    assert (result.exit_code, result.stdout) == (70, "")
    assert result.stderr.startswith("retune: internal error in retune at test_endings.py:")
    assert type(error).__name__ in result.stderr
    assert "please report it" in result.stderr and "RETUNE_TRACEBACK=1" in result.stderr
    assert result.stderr.count("\n") == 1


def test_where_it_happened_is_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETUNE_TRACEBACK", "1")
    result = fails(monkeypatch, KeyError("no such"), "identify", "in")
    assert result.exit_code == 70
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert "in broken" in result.stderr and "retune: internal error" in result.stderr


def test_the_tests_see_such_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "load", lambda *_: {}["no such"])
    with strict(), pytest.raises(KeyError):
        CliRunner().invoke(main, ["identify", "in"], catch_exceptions=False)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "not enough memory"),
        (OSError(28, "No space left on device", "/tmp/x"), "/tmp/x: No space left on device"),
        (BlockingIOError(11, "Resource temporarily unavailable"), "Resource temporarily"),
    ],
    ids=repr,
)
def test_what_the_system_does_not_give(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = fails(monkeypatch, error, "identify", "in")
    assert (result.exit_code, result.stdout) == (71, "")
    assert result.stderr.startswith(f"retune: {said}") and result.stderr.count("\n") == 1


def test_a_full_standard_output(started: Started, sample: Path, tmp_path: Path) -> None:
    """OUT is written all the same, and the status is not that of a failed verification."""
    options = ("-o", tmp_path / "out", "--cpu", "ev67", "--passes", "bytes")
    with Path("/dev/full").open("w") as full:
        done = started("patch", sample, *options, stdout=full)
        _, errors = done.communicate()
        helped = started("--help", stdout=full)
        _, said = helped.communicate()
    assert (done.returncode, errors) == (71, "retune: standard output: No space left on device\n")
    assert (tmp_path / "out").exists()
    assert helped.returncode == 71 and said.count("\n") == 1


@pytest.mark.parametrize("which", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_files(which: str, sample: Path, tmp_path: Path) -> None:
    """What is written goes to its own file and nothing of another into it."""
    import sys

    command = Path(sys.executable).with_name("retune")
    out = tmp_path / "out"
    line = f"{command} patch {sample} -o {out} --cpu ev67 --passes bytes {which}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    closed = ">&-" in which.replace("2>&-", "")
    assert done.returncode == (71 if closed else 0)
    assert done.stderr == ("retune: standard output is closed\n" if which == ">&-" else "")
    assert manifest.revert(out.read_bytes()) == sample.read_bytes()


class Odd(Exception):
    """It can be sent from a process, but not received."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__("odd")


def test_an_exception_that_cannot_be_sent_arrives_as_text() -> None:
    def task(number: int) -> int:
        if number == 50:
            raise Odd(1, 2)
        return number

    with pytest.raises(WorkerFailed, match="Odd: odd") as caught:
        list(each(task, range(100), 2, Apart()))
    assert any("in task" in note for note in caught.value.__notes__)
