"""A Dask cluster of a scheduler and two workers on this machine gives the same bytes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.batch.engine import run
from rewriter.batch.policy import Policy
from rewriter.core.errors import BadUsage
from tests.support.batch.dask import cluster
from tests.support.batch.killed import tree_digests

pytest.importorskip("distributed", reason="pip install distributed")


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
    monkeypatch.setattr("rewriter.batch.pool.cluster._CONNECT", 1)
    with pytest.raises(BadUsage, match="no scheduler answers"):
        run([tree], quick, scheduler="tcp://127.0.0.1:9")
    assert tree_digests(tree) == before
