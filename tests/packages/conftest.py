"""The command in this process, and a library whose debug information is in a file of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result
from taken_apart import Split, split

from rewriter.cli import main

Run = Callable[..., Result]


@pytest.fixture(scope="session")
def run() -> Run:
    """`run("patch", path, ...)`: exit status, stdout and stderr; an exception is a failure."""

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(
            main, [str(a) for a in arguments], prog_name="retune", catch_exceptions=False
        )

    return call


@pytest.fixture(scope="session")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Split:
    """A library with a build-id and a debug link; nobody writes to it."""
    return split(tmp_path_factory.mktemp("split"), "-Wl,--build-id")
