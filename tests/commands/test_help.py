"""What `--help` says, how fast it can be, and how every command ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

from rewriter.cli import main
from rewriter.elf import image

Run = Callable[..., Result]
COMMANDS = [
    "patch",
    "batch",
    "identify",
    "explain",
    "verify",
    "revert",
    "cpus",
    "edits",
    "report",
    "signatures",
    "bench",
    "difftest",
    "profile",
    "bisect",
    "kit",
    "manual",
    "completion",
]
TEXT = {"profile", "manual", "completion"}
"""Commands that give a text for another program: there is no result to give as JSON."""
SLOW = (
    "lief",
    "numpy",
    "z3",
    "rich",
    "targets",
    "passes",
    "rewriter.elf",
    "rewriter.road.pipeline",
)


def test_help_lists_commands_and_exit_statuses(run: Run) -> None:
    result = run("--help")
    assert (result.exit_code, result.stderr) == (0, "")
    text = result.stdout
    assert [line.split()[0] for line in text.split("Commands:\n")[1].splitlines()] == COMMANDS
    for status in ("0  done", "1  verification failed", "2  bad usage", "3  bad input"):
        assert f"\n    {status}" in text
    assert "\n    4  nothing to do" in text
    assert "Examples:\n    retune patch libc.so.6.1 -o " in text


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(command: str, run: Run) -> None:
    result = run(command, "--help")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"Usage: retune {command} ")
    assert f"Examples:\n    retune {command}" in result.stdout
    assert "Exit status: 0 " in result.stdout
    assert ("--json" in result.stdout) == (command not in TEXT)
    assert run(command, "-h").stdout == result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_short_help_is_not_cut(command: str, run: Run) -> None:
    lines = run("--help").stdout.split("Commands:\n")[1].splitlines()
    assert not any(line.endswith("...") for line in lines)
    assert all(o.help for o in main.commands[command].params if isinstance(o, click.Option))


def test_help_imports_nothing_slow() -> None:
    code = f"import sys, rewriter.cli; print([m for m in {SLOW!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_version(run: Run) -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("retune ")


@pytest.mark.parametrize(
    "arguments",
    [["no-such"], ["patch"], ["patch", "--no-such"], ["verify", "one"], ["cpus", "extra"]],
    ids=" ".join,
)
def test_usage_errors_of_click(arguments: list[str], run: Run) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("retune: ") and result.stderr.count("\n") == 1
    assert result.stderr.endswith(" --help)\n")


@pytest.mark.parametrize("command", ["identify", "patch"])
def test_an_interrupt_is_one_line(
    command: str, run: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(image, "parse", interrupted)
    more = ["-o", tmp_path / "out", "--cpu", "ev67"] if command == "patch" else []
    result = run(command, sample, *more)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "retune: interrupted; nothing is half written\n"
    assert not (tmp_path / "out").exists()


def test_a_closed_pipe_is_no_error_of_ours() -> None:
    retune = Path(sys.executable).with_name("retune")
    process = subprocess.Popen(
        [str(retune), "cpus"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 141


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rewriter", "cpus"], capture_output=True, text=True, check=True
    )
    assert "alpha ev67: 21264A; features: BWX CIX FIX MVI WH64" in done.stdout
