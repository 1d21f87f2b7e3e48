"""Names in relocations, as readelf reads them, where no PT_DYNAMIC leads to the symbols."""

from __future__ import annotations

import subprocess

from fixtures import inputs
from rewriter.elf.image import load


def test_names_of_a_kernel_that_relocates_itself() -> None:
    path, readelf = inputs.require("ppc64el-vmlinux"), inputs.require_tool("readelf")
    text = subprocess.run((readelf, "-rW", path), capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines() if "R_PPC64_ADDR64" in line]
    named = {(r.r_offset, r.symbol) for r in load(path).relocations if r.r_sym}
    assert named == {(int(row[0], 16), row[4]) for row in rows} and named
