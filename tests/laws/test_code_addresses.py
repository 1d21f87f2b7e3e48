"""Where the code of a symbol is, in files whose symbols name function descriptors and in others."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.analysis.functions import function_symbols
from rewriter.elf import image
from rewriter.elf.linking import STT_FUNC, Relocation, descriptors_of

STT_OBJECT = 1


def _synthetic(path: Path) -> set[tuple[str, int]]:
    """(name, address) of code, as binutils makes them of descriptors: names begin with a dot."""
    tool = inputs.require_tool("powerpc64-linux-gnu-nm")
    done = subprocess.run([tool, "-D", "--synthetic", path], capture_output=True, check=True)
    lines = (line.split() for line in done.stdout.decode().splitlines())
    named = (line for line in lines if len(line) == 3)
    return {(name[1:], int(at, 16)) for at, _, name in named if name.startswith(".")}


@pytest.mark.parametrize("name", ["ppc64-libc", "ppc64-libm", "ppc64-libgomp"])
def test_a_descriptor_names_the_code_that_binutils_say(name: str) -> None:
    path = inputs.require(name)
    loaded = image.load(path)
    known = _synthetic(path)
    functions = [s for s in loaded.symbols if s.st_type == STT_FUNC and s.st_shndx]
    here = loaded.descriptors.addresses
    assert functions and all(s.st_value in here for s in functions)
    found = {(s.name, loaded.code_address(s)) for s in functions}
    assert {address for _, address in known} >= {address for _, address in found}
    # Of two names for one code binutils give one.
    assert len(found & known) > len(found) // 2
    assert {s.st_value for s in function_symbols(loaded)} >= {at for _, at in found}


def test_an_object_in_the_section_is_itself() -> None:
    loaded = image.load(inputs.require("ppc64-libc"))
    symbol = next(s for s in loaded.symbols if s.st_type == STT_FUNC and s.st_shndx)
    assert loaded.code_address(symbol) != symbol.st_value
    assert loaded.code_address(replace(symbol, st_type=STT_OBJECT)) == symbol.st_value


def test_what_the_loader_puts_there_counts() -> None:
    """Where an entry has an addend, the word in the file says nothing."""
    loaded = image.load(inputs.require("ppc64-libc"))
    symbol = next(s for s in loaded.symbols if s.st_type == STT_FUNC and s.st_shndx and s.dynamic)
    at = symbol.st_value
    entries = (
        Relocation(at, 22, 0, "", 0x1234, True),
        Relocation(at + 24, 38, 1, symbol.name, 16, True, symbol.st_value),
        Relocation(at + 48, 22, 0, "", 0x1234, False),  # of `ld --emit-relocs`
        Relocation(8, 22, 0, "", 0x1234, True),
    )
    found = descriptors_of(loaded.sections, entries)
    assert found.filled == {at: 0x1234, at + 24: symbol.st_value + 16}
    assert replace(loaded, descriptors=found).code_address(symbol) == 0x1234


@pytest.mark.parametrize("name", ["alpha-libm", "ia64-libjnidispatch", "ppc64el-libm"])
def test_elsewhere_a_symbol_is_its_code(name: str) -> None:
    """IA-64 has descriptors, too, which no symbol names."""
    loaded = image.load(inputs.require(name))
    assert all(loaded.code_address(s) == s.st_value for s in loaded.symbols)
