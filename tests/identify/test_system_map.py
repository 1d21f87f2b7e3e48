"""System.map as nm writes it, and what is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import lief
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.errors import BadInput
from rewriter.elf.image import load
from rewriter.identify import system_map
from rewriter.identify.kernel_symbols import KernelSymbol, as_symbols


def test_a_real_kernels_map(tmp_path: Path) -> None:
    """`nm -n vmlinux` is what the kernel's build keeps as System.map; LIEF reads the ELF file."""
    path, tool = inputs.require("ppc32-vmlinux"), inputs.require_tool("nm")
    made = tmp_path / "System.map"
    with made.open("wb") as sink:
        subprocess.run((tool, "-n", path), stdout=sink, check=True)
    found = system_map.read(made)
    elf = lief.parse(path)
    assert isinstance(elf, lief.ELF.Binary)
    kinds = (lief.ELF.Symbol.TYPE.SECTION, lief.ELF.Symbol.TYPE.FILE)
    expected = {
        (int(s.value), str(s.name)) for s in elf.symtab_symbols if s.type not in kinds and s.shndx
    }
    assert len(found) > 67000
    assert {(s.address, s.name) for s in found} == expected
    image = load(path)
    made_up = {(s.name, s.st_value, s.st_shndx) for s in as_symbols(found, image) if s.st_size}
    functions = [s for s in image.symbols if s.st_type == 2 and s.st_shndx and s.st_size]
    assert len(functions) > 30000
    assert all((s.name, s.st_value, s.st_shndx) in made_up for s in functions)


def test_kallsyms_of_a_running_kernel() -> None:
    """Modules are elsewhere in memory; tabs, CRLF and empty lines are no error."""
    text = b"c0008000 T _stext\r\n\n00000010 a an_offset\nbf000000 t init\t[ext4]\n         U x\n"
    assert system_map.parse(text, "k") == (
        KernelSymbol(0xC0008000, "T", "_stext"),
        KernelSymbol(0x10, "a", "an_offset"),
    )


BAD = {
    b"": "k: lists no symbols",
    b"\n\n": "k: lists no symbols",
    b"0 T a\n00000000 T b\n": "k: every address is 0 ",
    b"c0008000 T a\nc0008000 a\n": "k: line 2 is not `address type name`: c0008000 a$",
    b"c0008000 T a b\n": "k: line 1 is not ",
    b"c000800000000000f T a\n": "k: line 1 is not ",
    b"xyz T a\n": "k: line 1 is not `address type name`: xyz T a$",
    b"c0008000 Z a\n": "k: line 1 is not ",
    b"\x7fELF\x02\x01\x01\x00": r"k: line 1 is not `address type name`: \\x7fELF",
    b"c0 T a\n" + b"x" * 500: r"k: line 2 is not `address type name`: x{60}$",
}


@pytest.mark.parametrize(("data", "message"), BAD.items(), ids=range(len(BAD)))
def test_a_bad_line_is_named(data: bytes, message: str) -> None:
    with pytest.raises(BadInput, match=f"^{message}"):
        system_map.parse(data, "k")


NAMES = st.text(st.characters(categories=["L", "N", "P"]), min_size=1)
ROWS = st.tuples(st.integers(1, 2**64 - 1), st.sampled_from("TtDdWAr"), NAMES)


@settings(max_examples=100)
@given(st.lists(ROWS, min_size=1), st.binary(max_size=60))
def test_what_is_written_is_read_and_anything_else_refused(
    rows: list[tuple[int, str, str]], junk: bytes
) -> None:
    text = "".join(f"{address:016x} {letter} {name}\n" for address, letter, name in rows)
    found = system_map.parse(text.encode(), "k")
    assert found == tuple(KernelSymbol(*row) for row in rows)
    try:
        more = system_map.parse(text.encode() + junk, "k")
    except BadInput as error:
        assert str(error).startswith(f"k: line {len(rows) + 1} ") or b"\n" in junk or b"\r" in junk
        assert str(error).isprintable()
    else:
        assert more[: len(found)] == found


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "none", tmp_path / "fifo", tmp_path / "a\0b"):
        with pytest.raises(BadInput, match=r": (cannot be read: |is not a regular file)"):
            system_map.read(path)
