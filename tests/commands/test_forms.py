"""A kernel with symbols, and the same stripped and compressed: the same edits, the same bytes."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fixtures import inputs
from rewriter.cli import files
from rewriter.elf.image import Image

Run = Callable[..., Result]

# Compiled and hand-written, with exception entries, and with labels that kallsyms has as well.
FUNCS = "filldir|filldir64|strncpy_from_user|vsnprintf|strlen|loop.*|found|done|entSys|sys_s.*"
PT_LOAD = 1


@pytest.fixture
def stripped(tmp_path: Path) -> Path:
    path = tmp_path / "vmlinux.gz"
    strip, bare = inputs.require_tool("alpha-linux-gnu-strip"), tmp_path / "vmlinux"
    subprocess.run((strip, "-o", bare, inputs.require("alpha-vmlinux")), check=True)
    path.write_bytes(gzip.compress(bare.read_bytes(), 6, mtime=0))
    return path


def test_symbols_and_packing_change_no_edit(run: Run, stripped: Path, tmp_path: Path) -> None:
    found, loaded = [], []
    for number, source in enumerate((inputs.require("alpha-vmlinux"), stripped)):
        out = tmp_path / str(number)
        done = run("patch", source, "-o", out, "--cpu", "ev67", "--funcs", FUNCS, "-q")
        assert done.exit_code == 0, done.output
        found.append(_edits(run, out))
        loaded.append(_loaded(files.load(out, None).image))
    assert len(found[0]) > 20
    assert found[0] == found[1]
    assert loaded[0] == loaded[1]


def _edits(run: Run, path: Path) -> list[dict[str, Any]]:
    edits: list[dict[str, Any]] = json.loads(run("edits", "--json", path).stdout)["edits"]
    return edits


def _loaded(image: Image) -> list[tuple[int, bytes]]:
    """What a boot loader puts into memory, by address."""
    loads = (s for s in image.segments if s.p_type == PT_LOAD)
    return [(s.p_vaddr, image.data[s.p_offset : s.p_offset + s.p_filesz]) for s in loads]
