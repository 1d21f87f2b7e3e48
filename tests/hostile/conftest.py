"""The command as a process, and the folder in which it works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands_started import Started

from fixtures import inputs


@pytest.fixture
def started(tmp_path: Path) -> Started:
    """Starts the command in a session of its own; temporary files go to the folder `tmp`."""
    command = Path(sys.executable).with_name("retune")
    (tmp_path / "tmp").mkdir()

    def start(*arguments: object, **more: object) -> subprocess.Popen[str]:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
        environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
        return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
            [str(command), *map(str, arguments)],
            text=True,
            start_new_session=True,
            env=environment,
            **options,
        )

    return start


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the small library."""
    path = tmp_path / "in.so"
    path.write_bytes(inputs.require("alpha-sample").read_bytes())
    return path
