"""A retuned libc that a distribution's tools went over still runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fixtures import inputs, programs

TOOLS = ("alpha-linux-gnu-strip", "eu-strip", "llvm-strip", "alpha-linux-gnu-objcopy")
PROGRAMS = ("stdio", "sort", "backtrace")


@pytest.mark.parametrize("tool", TOOLS)
def test_a_stripped_library_runs(tool: str, libc: Path, libc_ev67: Path, tmp_path: Path) -> None:
    """The tool accepts the file, and programs print what they print with the original."""
    command = inputs.require_tool(tool)
    inputs.require_tool("qemu-alpha")
    copy = tmp_path / libc.name
    copy.write_bytes(libc_ev67.read_bytes())
    copy.chmod(0o755)
    subprocess.run((command, str(copy)), check=True, capture_output=True, timeout=120)
    for name in PROGRAMS:
        assert programs.run(name, copy) == programs.run(name, libc), name
