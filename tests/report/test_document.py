"""docs/report.md: each command in it works, in the order in which it stands there."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from fixtures import inputs
from rewriter.cli import main
from tests.report.conftest import PROFILE

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "report.md"


def test_every_command_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample in place of the libc."""
    shutil.copy(inputs.require("alpha-sample"), tmp_path / "libc.so.6.1")
    (tmp_path / "samples.txt").write_text(PROFILE)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) == 4
    for line in lines:
        name, *arguments = shlex.split(line)
        done = CliRunner().invoke(main, arguments, prog_name=name, catch_exceptions=False)
        assert (done.exit_code, done.stderr) == (0, ""), line
    assert {path.name for path in tmp_path.glob("*.html")} == {
        "libc.html",
        "trial.html",
        "later.html",
        "hot.html",
    }
    assert "Hottest functions" in (tmp_path / "hot.html").read_text()
    assert "Hottest functions" not in (tmp_path / "later.html").read_text()
