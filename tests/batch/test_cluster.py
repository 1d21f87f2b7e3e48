"""A Dask cluster of a scheduler and two workers on this machine gives the same bytes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.batch.engine import run
from rewriter.batch.policy import Policy
from rewriter.core.errors import BadUsage
from tests.support.batch.killed import tree_digests

pytest.importorskip("distributed", reason="pip install distributed")


@contextmanager
def started(*arguments: str, log: Path, found: str) -> Iterator[str]:
    """A process of Dask, once its log has what is looked for."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            (sys.executable, "-m", *arguments), stdout=file, stderr=subprocess.STDOUT
        )
    try:
        end = time.monotonic() + 120
        while not (match := re.search(found, log.read_text(errors="replace"))):
            if process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"{arguments[0]}: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)
        yield match[0]
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """The address of a scheduler that has its workers."""
    with ExitStack() as stack:
        scheduler = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        address = stack.enter_context(
            started(
                *scheduler, "--no-dashboard", log=folder / "scheduler", found=r"tcp://127[\d.:]+"
            )
        )
        for number in range(workers):
            worker = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny")
            stack.enter_context(
                started(
                    *worker, "--no-dashboard", "--local-directory", str(folder),
                    log=folder / f"worker{number}", found="Registered to",
                )
            )  # fmt: skip
        yield address


def test_the_same_bytes(tree: Path, tmp_path: Path, quick: Policy) -> None:
    """Three files by two workers, and by a process of this machine; a damaged file is refused."""
    data = inputs.require("alpha-sample").read_bytes()
    (tree / "longer.so").write_bytes(data + b"\0" * 16)
    (tree / "cut.so").write_bytes(data[: len(data) // 2])
    again = tmp_path / "again"
    shutil.copytree(tree, again, symlinks=True)
    (again / "usr/lib/libsample.so").unlink()
    os.link(again / "usr/again.so", again / "usr/lib/libsample.so")
    logs = tmp_path / "logs"
    logs.mkdir()
    with cluster(logs, 2) as address:
        far = run([tree], quick, scheduler=address)
    near = run([again], quick, jobs=1)
    assert far.counts == near.counts == {"tuned": 2, "refused": 1}
    assert tree_digests(tree) == tree_digests(again)


def test_no_scheduler(tree: Path, quick: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree_digests(tree)
    monkeypatch.setattr("rewriter.batch.cluster._CONNECT", 1)
    with pytest.raises(BadUsage, match="no scheduler answers"):
        run([tree], quick, scheduler="tcp://127.0.0.1:9")
    assert tree_digests(tree) == before
