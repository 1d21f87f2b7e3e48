"""Kernels' own symbol tables: real ones against nm, in full; other formats from a writer of ours.

No image of a kernel before 6.1 or after is at hand: `kallsyms_writer` writes those formats from the
documentation in scripts/kallsyms.c, and for one of them the GNU assembler lays the tables out.
"""

from __future__ import annotations

import functools
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs
from fixtures.kallsyms_writer import (
    FORMS,
    Symbol,
    Written,
    assembled,
    damaged,
    elf,
    some_symbols,
    source,
)
from rewriter.elf.image import Image, load, parse
from rewriter.identify.kallsyms.symbols import Kallsyms, NoKallsyms, decode, with_kallsyms
from rewriter.identify.kernel_symbols import KernelSymbol, as_symbols

# The tool, how addresses are kept, how many symbols, and whether CONFIG_KALLSYMS_ALL was set.
KERNELS = {
    "alpha-vmlinux": ("alpha-linux-gnu-nm", "relative", 30561, True),
    "ia64-vmlinux": ("ia64-linux-gnu-nm", "absolute", 40512, True),
    "ppc32-vmlinux": ("nm", "relative", 39585, False),
}
CODE_SIZE = 1 << 20


def without_sections(image: Image) -> Image:
    """The same file as if its section headers were cut off."""
    wide = image.bits == 64
    data = bytearray(image.data)
    places = ((40, 8), (60, 4)) if wide else ((32, 4), (48, 4))  # e_shoff; e_shnum, e_shstrndx
    for start, size in places:
        data[start : start + size] = bytes(size)
    return parse(bytes(data), image.name)


def listed(tool: str, path: Path) -> set[KernelSymbol]:
    """What binutils' nm reads in .symtab."""
    done = subprocess.run((tool, path), capture_output=True, text=True, check=True)
    rows = (line.split(None, 2) for line in done.stdout.splitlines() if not line.startswith(" "))
    return {KernelSymbol(int(address, 16), letter, name) for address, letter, name in rows}


@pytest.mark.parametrize("name", KERNELS)
def test_a_real_kernel_lists_what_nm_lists(name: str) -> None:
    """Every symbol: name, letter and address; and which of nm's are not there."""
    tool, form, count, everything = KERNELS[name]
    path = inputs.require(name)
    bare = without_sections(load(path))
    assert (bare.sections, bare.symbols) == ((), ())
    found = decode(bare)
    assert (len(found.symbols), found.form, found.sequenced) == (count, form, True)
    expected = listed(inputs.require_tool(tool), path)
    assert set(found.symbols) <= expected
    places = {symbol.name: symbol.address for symbol in expected}
    assert places["kallsyms_names"] == found.names
    assert places["kallsyms_token_table"] == found.tokens
    assert places.get("kallsyms_offsets", places.get("kallsyms_addresses")) == found.addresses
    text = [(places["_stext"], places["_etext"]), (places["_sinittext"], places["_einittext"])]
    # Never the tables themselves, nor absolute ones; else all, or all that is in text.
    for symbol in expected - set(found.symbols):
        own = symbol.name.startswith("kallsyms_") or symbol.letter in "aA"
        outside = all(not start <= symbol.address < end for start, end in text)
        assert own or (outside and not everything), symbol


def test_symbols_for_the_finder_of_functions() -> None:
    """Starts as .symtab has them, each up to the next symbol; sizes of .symtab never exceed it."""
    image = load(inputs.require("alpha-vmlinux"))
    made = {(s.name, s.st_value): s for s in as_symbols(decode(image).symbols, image)}
    functions = [s for s in image.symbols if s.st_type == 2 and s.st_shndx and s.st_size]
    assert len(functions) > 20000
    for symbol in functions:
        twin = made[symbol.name, symbol.st_value]
        assert (twin.st_type, twin.st_bind, twin.st_shndx) == (2, symbol.st_bind, symbol.st_shndx)
        assert twin.st_size >= symbol.st_size or _has_inner(symbol.st_value, symbol.st_size, made)


def test_a_kernel_without_symbols_has_those_of_its_table() -> None:
    image = load(inputs.require("alpha-vmlinux"))
    assert with_kallsyms(image) is image
    bare = replace(image, symbols=())
    assert with_kallsyms(bare).symbols == as_symbols(decode(bare).symbols, image)
    library = replace(load(inputs.require("alpha-sample")), symbols=())
    assert with_kallsyms(library) is library


def _has_inner(start: int, size: int, made: dict[tuple[str, int], object]) -> bool:
    return any(start < address < start + size for _, address in made)


@functools.cache
def written(form: str, word: int, byteorder: str, count: int = 700, seed: int = 1) -> Written:
    """Tables of made-up symbols, behind a megabyte of code."""
    symbols = made_up(form, word, count, seed)
    start = (0xFFFFFC0000310000 if word == 8 else 0xC0000000) + CODE_SIZE
    return assembled(symbols, FORMS[form], word, byteorder, start)


def made_up(form: str, word: int, count: int = 700, seed: int = 1) -> list[Symbol]:
    """The symbols of `written`."""
    base = 0xFFFFFC0000310000 if word == 8 else 0xC0000000
    return some_symbols(count, seed, base, 5 if FORMS[form].percpu else 0)


def image_of(tables: Written, word: int, byteorder: str) -> Image:
    """A file without sections that loads the tables."""
    return parse(elf(tables, word, byteorder, CODE_SIZE, 0x9026), "made")


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("word", [4, 8])
@pytest.mark.parametrize("form", FORMS)
def test_every_format_written_is_read(form: str, word: int, byteorder: str) -> None:
    """Formats that no image here has: the writer's, which is not the decoder's."""
    tables = written(form, word, byteorder)
    found = decode(image_of(tables, word, byteorder))
    assert list(found.symbols) == [KernelSymbol(*symbol) for symbol in made_up(form, word)]
    assert found.names == tables.labels["names"]
    assert found.sequenced == ("seqs_of_names" in tables.labels)


@settings(max_examples=30)
@given(
    form=st.sampled_from(sorted(FORMS)),
    word=st.sampled_from([4, 8]),
    byteorder=st.sampled_from(["little", "big"]),
    count=st.integers(257, 900),
    seed=st.integers(0, 10**6),
)
def test_any_number_of_symbols(form: str, word: int, byteorder: str, count: int, seed: int) -> None:
    """Padding, the last marker and the end of the names depend on the number."""
    found = decode(image_of(written(form, word, byteorder, count, seed), word, byteorder))
    expected = made_up(form, word, count, seed)
    assert list(found.symbols) == [KernelSymbol(*symbol) for symbol in expected]


@pytest.mark.parametrize("form", ["2.6, align is a power", "6.1"])
def test_as_the_real_assembler_lays_it_out(form: str, tmp_path: Path) -> None:
    """What `.align 8` means for Alpha is gas's word, not ours."""
    symbols = made_up(form, 8)
    (tmp_path / "k.s").write_text(source(symbols, FORMS[form], 8))
    gas, ld = (inputs.require_tool(f"alpha-linux-gnu-{tool}") for tool in ("as", "ld"))
    nm = inputs.require_tool("alpha-linux-gnu-nm")
    subprocess.run((gas, "-o", tmp_path / "k.o", tmp_path / "k.s"), check=True)
    # The code that the symbols name: zeros from their lowest address on.
    script = """PHDRS { all PT_LOAD FLAGS(5); }
    SECTIONS { . = 0xfffffc0000310000; .text : { BYTE(0) . = . + 0x100000; } :all
               .rodata : { *(.rodata) } :all }"""
    (tmp_path / "k.ld").write_text(script)
    command = (ld, "-e", "0", "-T", tmp_path / "k.ld", "-o", tmp_path / "k", tmp_path / "k.o")
    subprocess.run(command, check=True)
    found = decode(without_sections(load(tmp_path / "k")))
    assert list(found.symbols) == [KernelSymbol(*symbol) for symbol in symbols]
    places = {symbol.name: symbol.address for symbol in listed(nm, tmp_path / "k")}
    assert places["kallsyms_names"] == found.names
    if FORMS[form].power:
        assert all(a % 256 == 0 for n, a in places.items() if n.startswith("kallsyms_"))


def outcome(tables: Written, word: int = 8, byteorder: str = "little") -> Kallsyms | str:
    """The table, or the one line that says why there is none."""
    try:
        return decode(image_of(tables, word, byteorder))
    except NoKallsyms as refused:
        message = str(refused)
        assert "\n" not in message
        assert message.startswith("made: has no kallsyms that passes: ")
        return message


# Table, byte of it, the bits that change, and what the refusal then says.
BREAKS = {
    "a token's index": ("token_index", 100, 1, "does not count the texts before it"),
    "the first index": ("token_index", 0, 1, "does not count the texts before it"),
    "a token's end": ("token_table", 4, 0x40, "texts before it, not 256"),
    "a marker": ("markers", 4, 1, "its marker says"),
    "the first marker": ("markers", 0, 1, "no markers and names before it"),
    "the number of symbols": ("num_syms", 0, 1, "has no end|not the padding"),
    "a name's length": ("names", 0, 3, "its marker says|has no end"),
    "the sequence": ("seqs_of_names", 2, 9, "not each symbol is there once"),
    "the relative base": ("relative_base", 7, 0x80, "is not loaded"),
    "an offset": ("offsets", 403, 0x40, "is below the one before"),
}


@pytest.mark.parametrize(("label", "at", "bits", "reason"), BREAKS.values(), ids=BREAKS)
def test_each_check_refuses_what_it_is_for(label: str, at: int, bits: int, reason: str) -> None:
    tables = written("6.1", 8, "little")
    place = tables.labels[label] - tables.start + at
    assert isinstance(outcome(tables), Kallsyms)
    message = outcome(damaged(tables, {place: tables.data[place] ^ bits}))
    assert isinstance(message, str)
    assert any(part in message for part in reason.split("|")), message


def test_a_character_has_its_own_code() -> None:
    tables = written("6.1", 8, "little")
    index = tables.labels["token_index"] - tables.start + 2 * ord("0")
    offset = int.from_bytes(tables.data[index : index + 2], "little")
    place = tables.labels["token_table"] - tables.start + offset
    assert tables.data[place : place + 2] == b"0\0"
    assert "token 48 is the character b'8'" in str(outcome(damaged(tables, {place: ord("8")})))


def test_two_names_that_change_places_are_seen_by_the_sequence_alone() -> None:
    """Names 0 and 1 of equal packed length: no marker and no count knows."""
    results = {}
    for form in ("6.1", "4.20"):
        tables = written(form, 8, "little")
        start = tables.labels["names"] - tables.start
        sizes, places, at = {}, {}, start
        for number in range(256):
            sizes[number], places[number] = tables.data[at], at + 1
            at += tables.data[at] + 1
        one, other = next(
            (a, b) for a in range(256) for b in range(a + 1, 256) if sizes[a] == sizes[b]
            and tables.data[places[a]] != tables.data[places[b]]
        )  # fmt: skip
        changes = {}
        for step in range(sizes[one]):
            changes[places[one] + step] = tables.data[places[other] + step]
            changes[places[other] + step] = tables.data[places[one] + step]
        results[form] = outcome(damaged(tables, changes))
    assert "does not sort the names" in str(results["6.1"])
    assert isinstance(results["4.20"], Kallsyms)
    assert not results["4.20"].sequenced


@settings(max_examples=150)
@given(draw=st.data())
def test_damage_is_refused_or_out_of_sight(draw: st.DataObject) -> None:
    """Any bytes of any table: one line, or a table in which all that can be compared agrees."""
    form = draw.draw(st.sampled_from(["6.1", "6.4", "6.1, IA-64", "2.6, align is bytes"]))
    tables = written(form, 8, "little")
    places = st.integers(0, len(tables.data) - 1)
    changes = draw.draw(st.dictionaries(places, st.integers(0, 255), min_size=1, max_size=3))
    found = outcome(damaged(tables, changes))
    if isinstance(found, str):
        return
    expected = made_up(form, 8)
    assert len(found.symbols) == len(expected)
    assert [s.address for s in found.symbols] == sorted(s.address for s in found.symbols)
    wrong = [n for n, symbol in enumerate(found.symbols) if symbol != KernelSymbol(*expected[n])]
    named = [n for n in wrong if found.symbols[n].name != expected[n][2]]
    assert len(wrong) - len(named) <= len(changes) or _touched(tables, changes, "token_table")
    if named and found.sequenced:
        names = [symbol.name.encode() for symbol in found.symbols]
        order = sorted(range(len(expected)), key=lambda n: expected[n][2].encode())
        plain = [name.partition(b".")[0] for name in names]  # as clang's builds sort
        assert any(all(n[a] <= n[b] for a, b in pairwise(order)) for n in (names, plain))


def _touched(tables: Written, changes: dict[int, int], label: str) -> bool:
    starts = sorted((address - tables.start, name) for name, address in tables.labels.items())
    return any(
        next(name for start, name in reversed(starts) if start <= place) == label
        for place in changes
    )


@settings(max_examples=30)
@given(st.binary(max_size=4000), st.sampled_from(["little", "big"]), st.sampled_from([4, 8]))
def test_anything_else_is_no_table(content: bytes, byteorder: str, word: int) -> None:
    rising = b"".join(n.to_bytes(2, "little") for n in range(300))
    tables = Written(content + rising + content, 0x1000000, {})
    assert isinstance(outcome(tables, word, byteorder), str)


@pytest.mark.parametrize("name", ["alpha-libc", "alpha-sample"])
def test_a_library_has_none(name: str) -> None:
    with pytest.raises(NoKallsyms, match=r"has no kallsyms that passes: "):
        decode(load(inputs.require(name)))
