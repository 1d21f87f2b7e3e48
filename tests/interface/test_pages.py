"""Versions, manual pages and completion, each read by the program that it is written for."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from fixtures.inputs import require_tool
from rewriter.cli import main
from rewriter.cli.pages import completion, installed, roff, tree
from rewriter.core.compiled import FINDER

BIN = Path(sys.executable).parent
PAGES = tree.pages(main, "1.2.3")


def output(*command: str | Path, text: str = "", **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **environment},
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def test_version_names_what_a_result_depends_on() -> None:
    lines = output("retune", "--version").splitlines()
    assert lines[:2] == [
        f"retune {importlib.metadata.version('retune')}",
        f"Python {platform.python_version()} on {platform.machine()}",
    ]
    names = ("lief", "numpy", "z3-solver", "ortools", "click", "rich")
    assert lines[-1] == f"modules: {FINDER.state}"
    assert lines[2:-1] == [f"{name} {importlib.metadata.version(name)}" for name in names]


def test_every_command_has_a_page() -> None:
    assert {"retune", "retune-patch", "retune-signatures-make", "retune-difftest-boot"} <= set(
        PAGES
    )
    assert len(PAGES) == len(list(tree.contexts(main)))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_good_roff(name: str, tmp_path: Path) -> None:
    """mandoc finds nothing but that there is no date, which would differ from build to build."""
    linter, path = require_tool("mandoc"), tmp_path / f"{name}.1"
    path.write_text(PAGES[name])
    done = subprocess.run((linter, "-T", "lint", path), capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if "missing date" not in line]
    assert [line for line in found if "longer than 80 bytes" not in line] == []


def test_a_bad_page_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "bad.1"
    path.write_text(PAGES["retune"].replace(".SH OPTIONS", ".SX OPTIONS"))
    linter = require_tool("mandoc")
    done = subprocess.run((linter, "-T", "lint", path), capture_output=True, text=True, check=False)
    assert "unknown macro" in done.stdout


@pytest.mark.parametrize("ctx", list(tree.contexts(main)), ids=roff.page_name)
def test_a_page_says_what_help_says(ctx: click.Context, tmp_path: Path) -> None:
    """As it is shown, spaces apart: every word of the summary, the options and the examples."""
    path = tmp_path / "page.1"
    path.write_text(PAGES[roff.page_name(ctx)])
    viewer = require_tool("mandoc")
    shown = re.sub(".\b", "", output(viewer, "-T", "ascii", "-O", "width=500", path))
    words = "".join(shown.split())
    for option in ctx.command.get_params(ctx):
        if isinstance(option, click.Option):
            assert all(name in words for name in option.opts)
    examples = ctx.get_help().split("Examples:\n")[1].split("\n\n")[0]
    for line in examples.splitlines():
        assert "".join(line.split()) in words


def test_manual_prints_a_page_and_names_what_it_has() -> None:
    version = importlib.metadata.version("retune")
    assert (
        output("retune", "manual", "signatures", "make")
        == tree.pages(main, version)["retune-signatures-make"]
    )
    done = subprocess.run(
        (BIN / "retune", "manual", "no"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("retune: no: no such command (known: patch, ")


@pytest.mark.parametrize("shell", completion.PLACES)
def test_completion_is_what_is_installed(shell: str) -> None:
    placed = installed.files("1.2.3")[completion.PLACES[shell]]
    assert output("retune", "completion", shell) == f"{placed}\n"


WORDS = [
    ("pat", ["patch"]),
    ("patch in --cpu ev6", ["ev6", "ev67"]),
    ("explain in f --tune mad", ["madison"]),
    ("patch in --passes bytes,al", ["bytes,align"]),
    ("patch in --passes bytes,b", ["bytes,bitscan"]),
    ("verify a b --assume no", ["none"]),
]


@pytest.mark.parametrize(("typed", "offered"), WORDS)
def test_bash_completes(typed: str, offered: list[str]) -> None:
    words = ["retune", *typed.split()]
    code = f"""
eval "$(retune completion bash)"
COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1} COMPREPLY=()
_retune_completion retune
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    assert output("bash", "-c", code).split() == offered


@pytest.mark.parametrize(("typed", "offered"), WORDS[1:4])
def test_fish_completes(typed: str, offered: list[str]) -> None:
    shell = require_tool("fish")
    code = f"retune completion fish | source; complete -C 'retune {typed}'"
    found = output(shell, "--no-config", "-c", code).splitlines()
    assert [line.split("\t")[0] for line in found] == offered


def test_zsh_reads_its_script() -> None:
    shell = require_tool("zsh")
    output(shell, "-f", "-n", text=output("retune", "completion", "zsh"))
    typed = {"COMP_WORDS": "retune patch in --cpu ev67", "COMP_CWORD": "4"}
    assert output("retune", _RETUNE_COMPLETE="zsh_complete", **typed) == "plain\nev67\n21264A\n"
