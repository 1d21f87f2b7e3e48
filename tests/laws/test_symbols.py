"""Symbols, as LIEF reads them, and where no section says where they are."""

from __future__ import annotations

import struct

import lief
import pytest

from fixtures import inputs
from rewriter.elf.image import load, parse
from rewriter.elf.linking import Symbol


@pytest.mark.parametrize("name", ["alpha-libc", "ppc-libc", "ppc64el-libc", "ppc64el-vmlinux"])
def test_symbols_are_what_lief_reads(name: str) -> None:
    """A kernel that relocates itself has a section of dynamic symbols, and no loader."""
    path = inputs.require(name)
    binary = lief.ELF.parse(str(path))
    assert binary is not None
    tables = ((binary.dynamic_symbols, True), (binary.symtab_symbols, False))
    read = [
        Symbol(s.name, s.value, s.size, kind, bind, s.other, s.shndx, dynamic)
        for table, dynamic in tables
        for s in table
        for bind, kind in [divmod(s.information, 16)]
    ]
    assert list(load(path).symbols) == read and read


def test_without_sections_the_loader_leads_to_the_same_symbols() -> None:
    data = bytearray(inputs.require("alpha-libc").read_bytes())
    known = [symbol for symbol in parse(bytes(data), "libc").symbols if symbol.dynamic]
    struct.pack_into("<Q", data, 40, 0)  # e_shoff
    struct.pack_into("<HH", data, 60, 0, 0)  # e_shnum, e_shstrndx
    assert list(parse(bytes(data), "libc").symbols) == known and known


def test_a_name_beyond_its_table_is_none() -> None:
    data = bytearray(inputs.require("alpha-libc").read_bytes())
    image = parse(bytes(data), "libc")
    table = image.section(".dynsym")
    assert table is not None
    struct.pack_into("<I", data, table.sh_offset + 24, 0xFFFFFFFF)  # st_name of the first
    assert [s.name for s in parse(bytes(data), "libc").symbols][:3] == [
        "",
        "",
        image.symbols[2].name,
    ]
