"""The command in this process, and a small real file to use it on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs

Run = Callable[..., Result]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the sample in a folder of its own, as `in/libsample.so`."""
    path = tmp_path / "in" / "libsample.so"
    path.parent.mkdir()
    path.write_bytes(inputs.require("alpha-sample").read_bytes())
    path.chmod(0o754)
    return path


@pytest.fixture
def tuned(sample: Path, tmp_path: Path, run: Run) -> Path:
    """The sample retuned for an EV67."""
    path = tmp_path / "tuned.so"
    result = run("patch", sample, "-o", path, "--cpu", "ev67")
    assert (result.exit_code, result.stderr) == (0, "")
    return path
