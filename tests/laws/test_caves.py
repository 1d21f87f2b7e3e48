"""Law 2 with new code: room that is there, one section header each, all that points stays true."""

from __future__ import annotations

import io
import random
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.dwarf.callframe import FDE, CallFrameInfo
from elftools.dwarf.structs import DWARFStructs
from elftools.elf.elffile import ELFFile

import targets
from fixtures import inputs, programs
from rewriter.analysis.program import Program
from rewriter.core.errors import BadInput
from rewriter.core.target.protocol import FrameRow
from rewriter.elf import manifest
from rewriter.elf.caves import unwind
from rewriter.elf.caves.build import room_of, with_bodies
from rewriter.elf.caves.room import Caves, Room, gap
from rewriter.elf.caves.sections import ALIGNMENTS, FRAMES, SEARCH, TEXT, Part, grow, new_parts
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.headers import PT_LOAD, read_headers
from rewriter.elf.image import Image, load, parse
from rewriter.elf.unwind import entries
from rewriter.verify.check import compare, verify
from rewriter.verify.routines.replaceable import Known
from targets.alpha.cpus import CPUS
from tests.conftest import Patched
from tests.laws.test_strip import TOOLS, processed

EV67 = CPUS["ev67"]
PAGE = 0x2000
BITS = 80
"""Flipped bits that the verifier must see."""


@pytest.fixture(scope="module")
def original(libc_program: Program) -> Image:
    """The real libc."""
    return libc_program.image


@pytest.fixture(scope="module")
def noted(patched: Patched) -> Path:
    """The libc with routines in caves, and the note."""
    return patched("alpha-libc", "ev67", ("--passes", "substitute"))


@pytest.fixture(scope="module")
def bare(noted: Path, original: Image) -> bytes:
    """The same without the note, and with the build-id that it had."""
    return with_old_identity(original, manifest.detach(noted.read_bytes())[0])


# Room -------------------------------------------------------------------------------------


def test_the_gap_of_the_libc(original: Image) -> None:
    """It begins behind the code's segment and ends with the page in front of the data's."""
    room = gap(read_headers(original.data, "libc"), original.data, PAGE)
    loads = [s for s in original.segments if s.p_type == PT_LOAD]
    assert room is not None
    assert room.start == loads[0].p_vaddr + loads[0].p_filesz
    assert room.end == loads[1].p_vaddr & -PAGE
    assert not original.data[room.offset : room.offset + room.size].strip(b"\0")


def test_a_larger_page_leaves_less(original: Image) -> None:
    headers = read_headers(original.data, "libc")
    room, less = (gap(headers, original.data, page) for page in (PAGE, 0x10000))
    assert room is not None and less is not None
    assert less.size < room.size
    assert gap(headers, original.data, 0x200000) is None


def test_bytes_that_are_not_zero_are_not_room(original: Image) -> None:
    headers = read_headers(original.data, "libc")
    room = gap(headers, original.data, PAGE)
    assert room is not None
    data = bytearray(original.data)
    data[room.offset + 1000] = 1
    less = gap(headers, bytes(data), PAGE)
    assert less == Room(room.start, room.start + 1000, room.offset)
    data[room.offset] = 1
    assert gap(headers, bytes(data), PAGE) is None


def test_rooms_are_filled_first_fit() -> None:
    caves = Caves((Room(10, 100, 0), Room(1000, 2000, 0)))
    assert caves.take(32, 64) == 64
    assert caves.take(100, 64) == 1024
    assert caves.take(4, 4) == 96
    assert caves.take(4, 4) == 1124
    assert caves.take(1000, 4) is None


# Headers ----------------------------------------------------------------------------------


def _meanings(data: bytes) -> dict[str, object]:
    """What numbers of sections mean, by name: links, symbols, and what each section holds."""
    elf = ELFFile(io.BytesIO(data))
    sections = list(elf.iter_sections())
    names = [s.name for s in sections]

    def name(index: object) -> object:
        return names[index] if isinstance(index, int) and index < len(names) else index

    found: dict[str, object] = {}
    for n, section in enumerate(sections):
        key = f"{section.name}#{names[:n].count(section.name)}"
        link, info = section["sh_link"], section["sh_info"]
        if section["sh_type"] in ("SHT_RELA", "SHT_REL"):
            info = name(info)
        found[key] = (section["sh_type"], section["sh_addr"], name(link), info)
        if section["sh_type"] in ("SHT_DYNSYM", "SHT_SYMTAB"):
            symbols = section.iter_symbols()  # type: ignore[attr-defined]
            found[f"{key} symbols"] = [(s.name, name(s["st_shndx"])) for s in symbols]
        elif section.name != ".shstrtab":
            found[f"{key} data"] = section.data()
    return found


@pytest.mark.parametrize("name", ["alpha-libc", "ppc-libc"])
def test_new_sections_change_no_meaning(name: str) -> None:
    """For both classes and byte orders, as pyelftools reads it."""
    data = inputs.require(name).read_bytes()
    room = gap(read_headers(data, name), data, 0x1000)
    if room is None:
        pytest.skip("no room behind the code")
    start = room.start + -room.start % 64
    parts = (Part(TEXT, start, b"\1" * 256), Part(FRAMES, start + 256, b"\2" * 64))
    grown = grow(data, room, parts, name)
    before, after = _meanings(data), _meanings(grown)
    new = {key: after.pop(key) for key in list(after) if ".retune" in key}
    assert after == before
    assert {new[f"{TEXT}#0 data"], new[f"{FRAMES}#0 data"]} == {b"\1" * 256, b"\2" * 64}
    assert new_parts(grown, room, name) == parts
    addresses = [s.sh_addr for s in read_headers(grown, name).sections if s.sh_flags & 2]
    assert addresses == sorted(addresses)


def test_what_was_there_stays_where_it_was(original: Image, bare: bytes) -> None:
    """No program header more, no section elsewhere, and nothing of the file gone."""
    new = parse(bare, "new")
    kept = [s for s in new.sections if s.name not in ALIGNMENTS]
    places = [(s.name, s.sh_addr, s.sh_offset) for s in kept[:-1]]
    assert places == [(s.name, s.sh_addr, s.sh_offset) for s in original.sections[:-1]]
    assert [s.name for s in new.sections if s.name in ALIGNMENTS] == list(ALIGNMENTS)
    assert len(new.segments) == len(original.segments)
    changed = [
        (a.p_type, a.p_vaddr, b.p_vaddr)
        for a, b in zip(original.segments, new.segments, strict=True)
        if a != b
    ]
    assert [(kind, a == b) for kind, a, b in changed] == [
        (PT_LOAD, True),
        (entries.PT_GNU_EH_FRAME, False),
    ]


def test_readelf_has_nothing_to_complain_of(noted: Path) -> None:
    readelf = inputs.require_tool("readelf")
    done = subprocess.run((readelf, "-aW", str(noted)), capture_output=True, timeout=120)
    assert done.returncode == 0 and not done.stderr
    segment = next(x for x in done.stdout.decode().splitlines() if "GNU_EH_FRAME" in x)
    section = next(x for x in done.stdout.decode().splitlines() if SEARCH in x)
    assert segment.split()[2].endswith(section.split()[section.split().index("PROGBITS") + 1])


# Unwinding --------------------------------------------------------------------------------


def test_pyelftools_reads_the_new_entries(bare: bytes) -> None:
    """Each covers code of the new section; leaf routines without a frame have no rows."""
    elf = ELFFile(io.BytesIO(bare))
    section, text = elf.get_section_by_name(FRAMES), elf.get_section_by_name(TEXT)
    structs = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8)
    content = section.data()
    info = CallFrameInfo(io.BytesIO(content), len(content), section["sh_addr"], structs, True)
    frames = [entry for entry in info.get_entries() if isinstance(entry, FDE)]
    ranges = [(f["initial_location"], f["address_range"]) for f in frames]
    assert len(frames) > 15 and ranges == sorted(ranges)
    for start, size in ranges:
        assert text["sh_addr"] <= start and start + size <= text["sh_addr"] + text["sh_size"]
    rows = [[i.opcode for i in f.instructions if i.opcode] for f in frames]
    assert not any(rows)


@pytest.mark.parametrize(("name", "column"), [("alpha-libc", 26), ("ppc-libc", 65)])
def test_a_return_address_elsewhere_and_back(name: str, column: int) -> None:
    """Registers above 63 have another way to be restored (DWARF 5, 6.4.2.3)."""
    original = load(inputs.require(name))
    cie = next(iter(entries.frames(original))).cie
    assert cie.return_column == column
    rows = (FrameRow(0, 0, None), FrameRow(4, 0, 12), FrameRow(8, 0, None))
    content, _ = unwind.entries(original, [unwind.Body(0x1000, bytes(16), rows, cie)], 0x2000)
    little = original.byteorder == "little"
    structs = DWARFStructs(little, dwarf_format=32, address_size=original.bits // 8)
    info = CallFrameInfo(io.BytesIO(content), len(content), 0x2000, structs, True)
    (frame,) = (entry for entry in info.get_entries() if isinstance(entry, FDE))
    said = {row["pc"]: row.get(column) for row in frame.get_decoded().table}
    assert said.keys() == {0x1000, 0x1004, 0x1008}
    assert said[0x1000] is said[0x1008] is None
    assert (said[0x1004].type, said[0x1004].arg) == ("REGISTER", 12)


def test_the_search_table_leads_to_old_and_new(original: Image, bare: bytes) -> None:
    """Read as libgcc does, without our reader."""

    def pairs(data: bytes) -> tuple[list[tuple[int, int]], int]:
        elf = ELFFile(io.BytesIO(data))
        at = next(s for s in elf.iter_segments() if s["p_type"] == "PT_GNU_EH_FRAME")["p_vaddr"]
        assert data[at : at + 4] == b"\x01\x1b\x03\x3b"
        pointer, count = struct.unpack_from("<iI", data, at + 4)
        words = struct.unpack_from(f"<{2 * count}i", data, at + 12)
        return [(at + words[2 * n], at + words[2 * n + 1]) for n in range(count)], at + 4 + pointer

    (old, old_frames), (new, new_frames) = pairs(original.data), pairs(bare)
    assert old_frames == new_frames and new == sorted(new)
    assert set(old) < set(new)
    for start, fde in set(new) - set(old):
        length, pointer, begin = struct.unpack_from("<IIi", bare, fde)
        assert fde + 8 + begin == start and 8 < length < 64
        assert struct.unpack_from("<I", bare, fde + 4 - pointer + 4)[0] == 0  # it is a CIE


# Tools ------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", TOOLS)
def test_new_code_survives(tool: str, noted: Path, libc: Path, tmp_path: Path) -> None:
    """Code, entries and table as they were, and programs run on it, unwinding included."""
    target = tmp_path / libc.name
    data = processed(noted.read_bytes(), tool, target)
    before, after = (load(path) for path in (noted, target))
    for name in ALIGNMENTS:
        old, new = before.section(name), after.section(name)
        assert old is not None and new is not None and old.sh_addr == new.sh_addr
        content = data[new.sh_offset : new.file_end]
        assert content == before.data[old.sh_offset : old.file_end]
    for program in ("faults", "backtrace", "strings"):
        assert programs.run(program, target, "ev67") == programs.run(program, libc, "ev67")


def test_the_original_comes_back(noted: Path, libc: Path) -> None:
    data = noted.read_bytes()
    assert len(data) > len(libc.read_bytes())
    assert manifest.revert(data) == libc.read_bytes()


def test_the_original_comes_back_with_a_manifest_beside(noted: Path, libc: Path) -> None:
    whole, record = manifest.detach(noted.read_bytes())
    assert record.appended and whole.endswith(record.appended)
    assert manifest.revert_with(whole, manifest.parse(manifest.dump(record))) == libc.read_bytes()


def test_no_body_no_change(original: Image) -> None:
    target = targets.of(original)
    assert with_bodies(original, target, original.data, []) == original.data


# The verifier -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def known(libc_program: Program) -> Known:
    """The analysed original, shared by what follows: none of it depends on the new file."""
    return Known(libc_program)


def _findings(known: Known, data: bytes) -> tuple[str, ...]:
    """What the verifier says; nothing is tried, so that many files can be looked at."""
    program: Program = known.program
    try:
        new = replace(program.image, data=data)
        nobody = frozenset[object]()
        return verify(program, new, lambda *_: None, nobody, known=known, cpu=EV67).findings  # type: ignore[arg-type]
    except BadInput as error:
        return (str(error),)


def test_the_verifier_accepts_the_whole_file(original: Image, bare: bytes) -> None:
    target = targets.of(original)
    verdict = compare(original, parse(bare, "new"), target, lambda *_: None, cpu=EV67)
    assert not verdict.findings
    assert verdict.grades == {"TESTED": len(verdict.tried)} and len(verdict.tried) > 20
    assert all(evidence.cases >= 26 for evidence in verdict.tried.values())


def test_a_flipped_bit_anywhere_in_what_is_new_is_seen(known: Known, bare: bytes) -> None:
    """Code, entries, table, headers, names: nothing of it is beyond the verifier."""
    assert not _findings(known, bare)
    image = known.program.image
    room = room_of(image, known.program.target)
    assert room is not None
    parts = new_parts(bare, room)
    places = [
        room.offset + p.address - room.start + n for p in parts for n in range(len(p.content))
    ]
    headers = read_headers(bare, "new")
    tail = range(headers.sections[headers.e_shstrndx].sh_offset, len(bare))
    phdrs = range(headers.e_phoff, headers.e_phoff + 56 * len(headers.segments))
    chance = random.Random(20)
    chosen = chance.sample(places, BITS // 2) + chance.sample([*tail, *phdrs], BITS // 2)
    missed = []
    for place in chosen:
        data = bytearray(bare)
        data[place] ^= 1 << chance.randrange(8)
        if not _findings(known, bytes(data)):
            missed.append(hex(place))
    assert not missed


def test_new_code_that_nothing_leads_to_is_seen(known: Known, bare: bytes) -> None:
    """The old text with the new sections."""
    image = known.program.image
    text = image.section(".text")
    assert text is not None
    data = bytearray(bare)
    data[text.sh_offset : text.file_end] = image.data[text.sh_offset : text.file_end]
    assert any("nothing leads to" in finding for finding in _findings(known, bytes(data)))


def test_bytes_behind_the_end_are_seen(known: Known, bare: bytes) -> None:
    assert "the size changed" in _findings(known, bare + bytes(64))[0]
    assert "the size changed" in _findings(known, known.program.image.data + b"x")[0]
