"""docs/batch.md: its policy is one, and its commands run as they stand there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

from rewriter.batch.outcome import STATUSES
from rewriter.batch.policy import parse
from rewriter.elf import manifest

Run = Callable[..., Result]
TEXT = (Path(__file__).resolve().parents[2] / "docs" / "batch.md").read_text(encoding="utf-8")


def commands(program: str) -> list[list[str]]:
    """The commands of a program in the page, in order, without comments."""
    blocks = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [line[1:] for line in lines if line and line[0] == program]


def test_the_policy() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    policy = parse(text, "docs/batch.md").check()
    assert set(policy.machines) == {"alpha", "ia64"}
    assert policy.reason("usr/lib/ld-linux.so.2", None) == "the policy denies this path"
    assert policy.reason("usr/lib/libc.so.6", "libc6-dbgsym") == "the policy denies this package"


def test_the_commands(tree: Path, run_cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy, in place, and a list: the last finds what the one before it did."""
    monkeypatch.chdir(tree.parent)
    tree.rename("root")
    Path("wanted").write_text("root/usr/again.so\nroot/usr/lib/libsample.so\n", encoding="utf-8")
    said = [run_cli(*line, "-j", "1") for line in commands("retune")]
    assert [result.exit_code for result in said] == [0, 0, 0]
    assert said[2].stdout == "1 file: 1 tuned before\n"
    for top in ("tuned", "root"):
        assert manifest.read(Path(top, "usr/again.so").read_bytes()) is not None


def test_the_worker_of_dask() -> None:
    """Its options are Dask's."""
    worker = pytest.importorskip("distributed.cli.dask_worker", reason="pip install distributed")
    ((name, *arguments),) = commands("dask")
    assert name == "worker"
    with click.Context(worker.main) as context:
        parser = worker.main.make_parser(context)
        values, _, _ = parser.parse_args(arguments)
    assert (values["n_workers"], values["nthreads"]) == ("8", "1")


def test_each_status_is_explained() -> None:
    table = TEXT[TEXT.index("| status of a file |") :]
    assert all(status in table for status in STATUSES)
