"""Dynamic symbols and their names in relocations, where PT_DYNAMIC or sections do not tell them."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.core.errors import BadInput
from rewriter.elf.image import load, parse


def test_names_of_a_kernel_that_relocates_itself() -> None:
    path, readelf = inputs.require("ppc64el-vmlinux"), inputs.require_tool("readelf")
    text = subprocess.run((readelf, "-rW", path), capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines() if "R_PPC64_ADDR64" in line]
    named = {(r.r_offset, r.symbol) for r in load(path).relocations if r.r_sym}
    assert named == {(int(row[0], 16), row[4]) for row in rows} and named


EXPORTS = ".text\n" + "".join(f".globl {name}\n{name}: .long 0\n" for name in "fghij")
_E_SHOFF, _SECTIONS = 40, slice(58, 64)  # e_shentsize, e_shnum, e_shstrndx of Elf64_Ehdr
_HASH, _WORDS = 4, struct.Struct("<QQ")  # DT_HASH; an entry of .dynamic, and 2 words of Alpha's


def _without_sections(folder: Path, machine: str, style: str) -> tuple[set[str], bytearray]:
    """The exports of a library, and its bytes without section headers."""
    (folder / "f.s").write_text(EXPORTS)
    gcc = inputs.require_tool(f"{machine}-linux-gnu-gcc")
    flags = ("-shared", "-nostdlib", f"-Wl,--hash-style={style}")
    subprocess.run((gcc, *flags, "f.s", "-o", "f.so"), check=True, cwd=folder)
    data = bytearray((folder / "f.so").read_bytes())
    data[_E_SHOFF : _E_SHOFF + 8], data[_SECTIONS] = bytes(8), bytes(6)
    return {s.name for s in load(folder / "f.so").symbols if s.dynamic}, data


@pytest.mark.parametrize("style", ["sysv", "gnu", "both"])
@pytest.mark.parametrize("machine", ["alpha", "powerpc64", "powerpc64le"])
def test_exports_of_a_file_without_section_headers(
    tmp_path: Path, machine: str, style: str
) -> None:
    """Words of the table that counts them have 64 bits on Alpha, else 32."""
    names, data = _without_sections(tmp_path, machine, style)
    bare = parse(bytes(data), "f.so")
    assert not bare.sections
    assert {s.name for s in bare.symbols if s.dynamic} == names >= set("fghij")


def test_more_symbols_than_are_read_are_refused(tmp_path: Path) -> None:
    _, data = _without_sections(tmp_path, "alpha", "sysv")
    (dynamic,) = (s for s in load(tmp_path / "f.so").sections if s.name == ".dynamic")
    content = data[dynamic.sh_offset : dynamic.file_end]
    at = dict(_WORDS.iter_unpack(content))[_HASH]  # in the first segment, which begins at 0
    _WORDS.pack_into(data, at, 1, 1 << 40)
    with pytest.raises(BadInput, match="nchain in DT_HASH"):
        parse(bytes(data), "f.so")
