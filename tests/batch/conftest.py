"""A small tree of real files, and policies for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs
from rewriter.api.choose import Wanted
from rewriter.batch.cache import Cache
from rewriter.batch.policy import Policy
from rewriter.batch.task import Job, carry_out

Run = Callable[..., Result]


@pytest.fixture
def run_cli(run: Run) -> Run:
    """The command, by another name: `run` is the engine's here."""
    return run


QUICK = Wanted(cpu="ev67", passes="bytes")


@pytest.fixture
def quick() -> Policy:
    """One quick pass for an EV67: what is done is no matter here, how it is kept is."""
    return Policy({"alpha": QUICK})


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that knows the sample, and the sample with a zero behind it, for that pass."""
    folder = tmp_path_factory.mktemp("kept")
    cache, data = Cache(folder, print), inputs.require("alpha-sample").read_bytes()
    for number, content in enumerate((data, data + b"\0")):
        cache.put(content, QUICK, carry_out(Job(number, "sample", content, QUICK)))
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree as a build leaves it: libraries, a hard link, symbolic links, and other files."""
    top = tmp_path / "tree"
    library = top / "usr" / "lib"
    library.mkdir(parents=True)
    data = inputs.require("alpha-sample").read_bytes()
    (library / "libsample.so").write_bytes(data)
    (library / "libsample.so").chmod(0o754)
    os.link(library / "libsample.so", top / "usr" / "again.so")
    (library / "libsample.so.1").symlink_to("libsample.so")
    (library / "gone").symlink_to("/nowhere/at/all")
    (top / "usr" / "share").mkdir()
    (top / "usr" / "share" / "README").write_text("a text\n", encoding="utf-8")
    (top / "usr" / "share" / "script").write_text("#!/bin/sh\n", encoding="utf-8")
    (top / "usr" / "share" / "script").chmod(0o755)
    return top
