"""Law 8: a damaged or foreign file gives one clear line that names it, whatever the damage."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection, RelrRelocationSection
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.errors import BadInput, RetuneError
from rewriter.elf import note
from rewriter.elf.headers import Section, read_headers
from rewriter.elf.image import Image, load, parse
from rewriter.elf.linking import R_RELR
from rewriter.elf.unwind import entries, lsda, rows
from tests.support.depth import depth

NAME = "some/file"
TABLES = (
    *(".dynsym", ".dynamic", ".dynstr", ".gnu.hash", ".hash", ".gnu.version", ".shstrtab"),
    *(".rela.dyn", ".rela.plt", ".eh_frame", ".eh_frame_hdr", ".gcc_except_table"),
)


def outcome(data: bytes) -> Image | str:
    """Parse; return the Image or the one-line message of BadInput: nothing else may happen."""
    try:
        return parse(data, NAME)
    except BadInput as error:
        message = str(error)
        assert "\n" not in message
        assert message.startswith(f"{NAME}: ")
        return message


def exercise(data: bytes) -> None:
    """Ask a possibly damaged file for everything that the readers offer."""
    image = outcome(data)
    if isinstance(image, str):
        return
    for start, end in image.executable_ranges():
        with contextlib.suppress(BadInput):
            image.words(start, start + (end - start) // 4 * 4, 4)
    # Unwind tables are read only when somebody wants them: they may still be refused then.
    with contextlib.suppress(BadInput):
        entries.search_table(image)
    with contextlib.suppress(BadInput):
        for fde in entries.frames(image)[:300]:
            with contextlib.suppress(BadInput):
                rows.rows(fde)
            with contextlib.suppress(BadInput):
                lsda.lsda_ranges(image, fde)
    with contextlib.suppress(RetuneError):
        note.detach(note.attach(data, payload=b"p"))


@pytest.mark.parametrize("name", ["alpha-libc", "ppc-libc", "ppc64-libc", "ia64-libc"])
def test_good_input_is_read_as_pyelftools_reads_it(name: str) -> None:
    """The control of this file: a reader that refuses or invents everything would pass the rest."""
    image = load(inputs.require(name))
    elf = ELFFile(io.BytesIO(image.data))
    fields = [f for f in Section.__slots__ if f.startswith("sh_") and f != "sh_type"]
    for section, entry in zip(image.sections, elf.iter_sections(), strict=True):
        assert section.name == entry.name
        assert [getattr(section, f) for f in fields] == [entry[f] for f in fields]
    expected = [r for section in elf.iter_sections() for r in _relocations(section)]
    found = [(r.r_offset, r.r_type, r.r_sym, r.r_addend) for r in image.relocations]
    assert found == expected
    dynsym: Any = elf.get_section_by_name(".dynsym")
    dynamic = [s for s in image.symbols if s.dynamic]
    assert [(s.name, s.st_value, s.st_size) for s in dynamic] == [
        (s.name, s["st_value"], s["st_size"]) for s in dynsym.iter_symbols()
    ]
    names = [s.name for s in dynamic]
    assert all(r.symbol == (names[r.r_sym] if r.r_sym else "") for r in image.relocations)


def _relocations(section: Any) -> Iterator[tuple[int, int, int, int]]:
    """Relocations of a section of pyelftools as (r_offset, r_type, r_sym, r_addend)."""
    if isinstance(section, RelrRelocationSection):
        for r in section.iter_relocations():
            yield r["r_offset"], R_RELR, 0, 0
    elif isinstance(section, RelocationSection):
        for r in section.iter_relocations():
            yield r["r_offset"], r["r_info_type"], r["r_info_sym"], r["r_addend"]


def test_truncated_anywhere_is_refused() -> None:
    data = inputs.require("alpha-libc").read_bytes()
    early = range(0, 700, 7)
    late = range(700, len(data), len(data) // 60)
    for size in [*early, *late, len(data) - 1]:
        message = outcome(data[:size])
        assert isinstance(message, str), f"{size} bytes of the libc pass for a whole one"


@pytest.mark.parametrize("name", ["alpha-libc", "ppc-libc"])
def test_every_header_byte_may_be_wrong(name: str) -> None:
    data = inputs.require(name).read_bytes()
    for offset in range(64):
        for value in (0x00, 0xFF):
            outcome(data[:offset] + bytes((value,)) + data[offset + 1 :])


@pytest.mark.parametrize("name", ["alpha-sample", "ppc-libc"])
@settings(max_examples=depth(60, 150))
@given(draw=st.data())
def test_fuzzed_headers_and_tables(name: str, draw: st.DataObject) -> None:
    data = bytearray(inputs.require(name).read_bytes())
    headers = read_headers(bytes(data), NAME)
    phdrs = headers.e_phoff + headers.layout.phdr.size * len(headers.segments)
    areas = [(0, 64), (headers.e_phoff, phdrs), (headers.e_shoff, len(data))]
    areas += [(s.sh_offset, s.file_end) for s in headers.sections if s.name in TABLES]
    areas = [(start, end) for start, end in areas if end > start]
    for _ in range(draw.draw(st.integers(1, 4))):
        start, end = draw.draw(st.sampled_from(areas))
        at = draw.draw(st.integers(start, end - 1))
        piece = draw.draw(st.one_of(st.binary(min_size=1, max_size=8), st.just(b"\xff" * 8)))
        piece = piece[: len(data) - at]
        data[at : at + len(piece)] = piece
    exercise(bytes(data))


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_any_bytes_after_the_magic(tail: bytes) -> None:
    exercise(b"\x7fELF" + tail)
    exercise(b"\x7fELF\x02\x01\x01" + tail)
    outcome(tail)


FOREIGN = {
    "empty": (b"", "is empty"),
    "text": (b"/* GNU ld script */", "not an ELF file: it starts with 2f2a2047"),
    "script": (b"#!/bin/sh\necho\n", "a script"),
    "archive": (b"!<arch>\n" + bytes(60), "an archive"),
    "gzip": (gzip.compress(b"\x7fELF"), "gzip data; decompress it first"),
    "xz": (lzma.compress(b"\x7fELF"), "xz data; decompress it first"),
    "pe": (b"MZ" + bytes(100), "PE/COFF"),
    "magic only": (b"\x7fELF", "truncated"),
    "class 3": (b"\x7fELF\x03\x01\x01" + bytes(60), r"e_ident\[EI_CLASS\] is 0x3"),
    "data 0": (b"\x7fELF\x02\x00\x01" + bytes(60), r"e_ident\[EI_DATA\] is 0x0"),
    "one char": (b"\x00", "not an ELF file"),
}


@pytest.mark.parametrize(("data", "message"), FOREIGN.values(), ids=FOREIGN)
def test_foreign_files(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert caught.value.exit_code == 3


FIELDS = {
    "e_type": ("<H", 16, 1, "not linked; retune works on executables and shared libraries"),
    "core": ("<H", 16, 4, "e_type is 0x4"),
    "e_ehsize": ("<H", 52, 65, "e_ehsize is 0x41, expected 64"),
    "e_phentsize": ("<H", 54, 32, "e_phentsize is 0x20, expected 56"),
    "e_phnum": ("<H", 56, 0, "e_phnum is 0x0"),
    "e_phoff": ("<Q", 32, 1 << 40, "e_phoff 0x10000000000 "),
    "e_shoff": ("<Q", 40, (1 << 64) - 1, "e_shoff 0xffffffffffffffff "),
    "e_shentsize": ("<H", 58, 1, "e_shentsize is 0x1, expected 64"),
    "e_shstrndx": ("<H", 62, 0xFFFF, "e_shstrndx is 0xffff"),
    "p_filesz": ("<Q", 64 + 2 * 56 + 32, 1 << 50, "segment 2 p_offset"),
}


@pytest.mark.parametrize(("form", "offset", "value", "message"), FIELDS.values(), ids=FIELDS)
def test_the_message_names_field_value_and_file(
    form: str, offset: int, value: int, message: str
) -> None:
    data = bytearray(inputs.require("alpha-libc").read_bytes())
    struct.pack_into(form, data, offset, value)
    found = outcome(bytes(data))
    assert isinstance(found, str)
    assert message in found


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    cases = {
        tmp_path: "is a directory",
        tmp_path / "none": "cannot be read: No such file or directory",
        tmp_path / "fifo": "is not a regular file",
        tmp_path / "a\0b": "cannot be read",
        tmp_path / ("x" * 5000): "cannot be read: File name too long",
    }
    for path, message in cases.items():
        with pytest.raises(BadInput, match=message):
            load(path)


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"\x7fELF")

    def refuse(*_args: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Taking the permission away would not stop root, who runs the tests in a container.
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(BadInput, match="secret: cannot be read: Permission denied"):
        load(path)


def test_a_strange_file_name_stays_one_line(tmp_path: Path) -> None:
    path = tmp_path / "two\nlines\x1b[31m"
    path.write_bytes(b"nothing")
    with pytest.raises(BadInput) as caught:
        load(path)
    message = str(caught.value)
    assert message.isprintable()
    assert "two\\nlines\\x1b[31m" in message


def test_no_section_headers_is_no_error() -> None:
    data = bytearray(inputs.require("alpha-libc").read_bytes())
    whole = parse(bytes(data), NAME)
    data[40:48] = bytes(8)
    data[58:64] = bytes(6)
    bare = parse(bytes(data), NAME)
    assert bare.sections == ()
    assert set(bare.relocations) == set(whole.relocations)
    assert bare.symbols == whole.symbols
    assert [(f.start, f.end) for f in entries.frames(bare)] == [
        (f.start, f.end) for f in entries.frames(whole)
    ]
    found = bare.executable_ranges()
    for start, end in whole.executable_ranges():
        assert any(first <= start and end <= last for first, last in found)
    headers = whole.segments[0].p_vaddr
    assert not any(first <= headers < last for first, last in found)
