"""Every damaged file and odd use that was once answered wrongly, by the name of its entry.

| entry | what | where it is tested |
|---|---|---|
| D1 | a real library ended in a traceback | tests/passes/scheduling/test_schedule_stuck.py |
| D2, T1 | text of odd size | tests/laws/test_odd_sizes.py |
| D3, D4 | interrupts | test_interrupts.py |
| D5 | standard output full or closed, errors nobody foresaw | test_endings.py |
| D6 | a retuned file is retuned again | tests/commands/test_patch.py |
| D7 | OUT and its manifest are written together | test_outputs.py |
| D9, D10, D11, D15 | names that are empty, options that do nothing, usage | test_usage.py |
| D12 | debug information | tests/commands/test_debug_lines.py |
| T2 to T11, T14, T15, H1, M3 | damaged files | here |
"""

from __future__ import annotations

import gzip
import resource
import struct
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from fixtures import inputs, members
from fixtures.hostile import bases, kernel, powerpc
from fixtures.hostile.fields import elf_fields
from fixtures.hostile.kinds import Case
from fixtures.hostile.running import Outcome, run
from rewriter.elf import note
from rewriter.elf.image import parse
from rewriter.elf.unwind.entries import frames

PATCH = ("patch", "in", "-o", "out", "--cpu", "ev67", "-j1")
ONE = ("--funcs", "strchr")  # a routine that goes elsewhere and is soon tried
IA64_PATCH = ("patch", "in", "-o", "out", "--cpu", "itanium2", "-j1")


def ended(data: bytes, *arguments: str, **more: bytes) -> Outcome:
    """How a command ends; nothing may be wrong with it (see `running`)."""
    outcome = run(Case("made", (("in", data), *more.items()), arguments))
    assert outcome.problem == "", outcome
    return outcome


def changed(data: bytes, offset: int, content: bytes) -> bytes:
    return data[:offset] + content + data[offset + len(content) :]


def section(data: bytes, name: str, folder: Path) -> tuple[int, int]:
    """Offset of the header and of the content of a section, as pyelftools finds it."""
    path = folder / "elf"
    path.write_bytes(data)
    with path.open("rb") as file:
        elf = ELFFile(file)
        number = elf.get_section_index(name)
        found = elf.get_section(number)
        return elf["e_shoff"] + number * elf["e_shentsize"], found["sh_offset"]


def test_t2_an_unwind_entry_of_a_part_of_an_instruction(tmp_path: Path) -> None:
    data = bases.library()
    _, start = section(data, ".eh_frame", tmp_path)
    for field in elf_fields(data):
        if field.area == ".eh_frame" and field.size == 4:
            (size,) = struct.unpack_from("<I", data, field.offset)
            if size == 0x48:  # sample_copy's
                odd = changed(data, field.offset, struct.pack("<I", size - 1))
                assert start <= field.offset
                assert ended(odd, *PATCH, "--passes", "align").status == 0
                assert ended(odd, "identify", "in", "--known", "--like").status in (0, 4)
                return
    pytest.fail("the entry is not there")


@pytest.mark.parametrize("abi", ["alpha", "powerpc", "powerpc64", "powerpc64le"])
def test_an_unwind_entry_that_begins_outside_code(abi: str) -> None:
    """At address 0, with all text in its range: that is no function, and no path is followed from
    where it begins."""
    data = bases.library() if abi == "alpha" else powerpc.library(abi)
    cpu = "ev67" if abi == "alpha" else powerpc.CPUS[abi]
    begin, length = [field for field in elf_fields(data) if field.area == "entries"][:2]
    back = (1 << 32) - begin.offset  # which is its address, too
    odd = changed(data, begin.offset, back.to_bytes(4, begin.order))
    odd = changed(odd, length.offset, (0x1000_0000).to_bytes(4, length.order))
    assert any((f.start, f.end) == (0, 0x1000_0000) for f in frames(parse(odd, "in")))
    for arguments in (
        ("identify", "in"),
        ("patch", "in", "-o", "out", "--cpu", cpu, "-j1", "--passes", "align"),
        ("explain", "in", "0x700", "--cpu", cpu),
    ):
        assert ended(odd, *arguments).status in (0, 3, 4)


def test_a_note_whose_numbers_no_header_holds() -> None:
    """They have 64 bits in every file; headers of 32 bits cannot take them back."""
    new = bases.powerpc_retuned("powerpc")
    start = new.index(note.MAGIC) + len(note.MAGIC)
    for at in range(start, start + 32, 8):
        odd = changed(new, at, b"\1")
        assert ended(odd, "verify", "old", "in", "-j1", old=powerpc.library("powerpc")).status == 3
        assert ended(odd, "edits", "in").status == 3


def test_a_text_of_a_part_of_an_instruction(tmp_path: Path) -> None:
    data = short_text(3, tmp_path)
    for arguments in (("identify", "in"), PATCH, ("explain", "in", "f", "--cpu", "ev67")):
        assert "in: holds no code" in ended(data, *arguments).detail
    assert ended(data, "identify", "in", "--known").status == 4


def test_sections_with_code_that_overlap(tmp_path: Path) -> None:
    """What both hold is there once."""
    data = bases.library()
    header, _ = section(data, ".text", tmp_path)
    address, offset, size = struct.unpack_from("<QQQ", data, header + 16)
    other, _ = section(data, ".rodata", tmp_path)
    twice = changed(data, other + 8, struct.pack("<QQQQ", 6, address + 64, offset + 64, size - 64))
    assert parse(twice, "in").executable_ranges() == parse(data, "in").executable_ranges()
    assert ended(twice, *PATCH, *bases.FEW).status == 0


def executable(data: bytes, folder: Path) -> list[str]:
    """The names of the sections with code."""
    path = folder / "elf"
    path.write_bytes(data)
    with path.open("rb") as file:
        return [one.name for one in ELFFile(file).iter_sections() if one["sh_flags"] & 4]


def short_text(size: int, folder: Path) -> bytes:
    """The library with so many bytes of text."""
    short = bases.library()
    for name in executable(short, folder):
        header, _ = section(short, name, folder)
        if name == ".text":
            short = changed(short, header + 32, struct.pack("<Q", size))
        else:
            short = changed(short, header + 8, struct.pack("<Q", 2))  # no code any more
    return short


@pytest.mark.parametrize("words", [1, 4])
def test_t3_a_text_of_one_instruction(words: int, tmp_path: Path) -> None:
    short = short_text(4 * words, tmp_path)
    assert ended(short, "identify", "in").status in (0, 4)
    assert ended(short, *PATCH).status in (0, 3, 4)


def test_t4_a_segment_that_ends_with_the_space() -> None:
    """Its end is 2**64, which no unsigned number of 64 bits is."""
    data = bases.stub()
    (phoff,) = struct.unpack_from("<Q", data, 32)
    top = changed(data, phoff + 40, struct.pack("<Q", (1 << 64) - kernel.START + 0x2000))
    with_ends = [top]
    for number in range(struct.unpack_from("<H", data, 56)[0]):
        at = phoff + 56 * number
        kind, _, _, address = struct.unpack_from("<IIQQ", data, at)
        if kind == 1:
            size = struct.pack("<Q", (1 << 64) - address)
            with_ends.append(changed(data, at + 40, size))
    found = {ended(one, "identify", "in").status for one in with_ends}
    assert 0 in found


def test_t5_a_search_table_out_of_reach(tmp_path: Path) -> None:
    """No new routine goes where the table could not lead to it; the rest is tuned."""
    data = inputs.or_skip(members.library, "libroutines.so").read_bytes()
    _, start = section(data, ".eh_frame_hdr", tmp_path)
    for place in range(start + 12, start + 44, 4):
        far = changed(data, place, b"\xf8\x77\xfe\xff")
        assert ended(far, *PATCH, "--passes", "substitute,bytes", *ONE).status in (0, 3)
    assert ended(data, *PATCH, "--passes", "substitute", *ONE).status == 0


@pytest.mark.parametrize("content", ["00000004", "00100000", "00", "ffffffff", "00000000"])
def test_t6_to_t9_unwind_descriptors(content: str) -> None:
    """At every byte of the descriptors of a function."""
    data = bases.crossing()
    start = min(f.offset for f in elf_fields(data) if f.area == ".IA_64.unwind_info")
    assert data[start : start + 8] == bytes.fromhex("0100000000000100")
    for at in range(start, start + 16):
        odd = changed(data, at, bytes.fromhex(content))
        assert ended(odd, *IA64_PATCH).status in (0, 1)
        ended(odd, "verify", "old", "in", "-j1", old=data)


def test_t10_explain_where_no_instructions_are() -> None:
    data = bases.crossing()
    at = min(f.offset for f in elf_fields(data) if f.area == ".text") + 0x1C0  # at 0x460
    odd = changed(data, at, b"\x06")
    outcome = ended(odd, "explain", "in", "0x461", "--cpu", "itanium2")
    assert outcome.status == 0


@pytest.mark.parametrize("digits", [21, 4301, 100_000])
def test_t11_more_samples_than_a_number_has(digits: int) -> None:
    row = f"{'1' * digits} 24.9447  in sample_copy"
    text = f"samples  %        image name               symbol name\n{row}\n".encode()
    outcome = ended(bases.library(), *PATCH, *bases.FEW, "--profile", "p", p=text)
    assert outcome.status == 3
    assert "p: line 2 is not a row of opreport" in outcome.detail


@pytest.mark.parametrize("info", [0x32, 0x92, 0x17, 0x1B, 0xFF])
def test_t14_symbols_of_kinds_without_a_name(info: int) -> None:
    """LIEF would warn on standard error, which `ended` refuses."""
    data = bases.library()
    infos = [f.offset for f in elf_fields(data) if f.area == ".dynsym" and f.size == 1][::2]
    for at in infos[1:4]:
        assert ended(changed(data, at, bytes((info,))), "identify", "in").status == 0


def test_h1_a_table_of_half_a_terabyte(tmp_path: Path) -> None:
    """A section without bytes in the file has no entries, whatever its size says."""
    data = bases.stub()
    header, _ = section(data, "__ex_table", tmp_path)
    huge = changed(data, header + 4, struct.pack("<I", 8))  # SHT_NOBITS
    huge = changed(huge, header + 32, struct.pack("<Q", 1 << 39))
    (phoff,) = struct.unpack_from("<Q", data, 32)
    huge = changed(huge, phoff + 40, struct.pack("<Q", 1 << 40))
    outcome = ended(huge, "identify", "in")
    assert (outcome.status, outcome.seconds < 5) == (0, True)
    ended(huge, *PATCH, "--funcs", "f[1-3]")


def test_t15_code_that_goes_on_behind_the_last_address(tmp_path: Path) -> None:
    """An unwind table that says it is elsewhere speaks of code on both sides of address 0."""
    data = bases.library()
    header, _ = section(data, ".eh_frame", tmp_path)
    odd = changed(data, header + 16, struct.pack("<Q", 0x7FF))  # sh_addr
    assert any(frame.start < 1 << 64 < frame.end for frame in frames(parse(odd, "in")))
    for arguments in (("identify", "in"), (*PATCH, "--passes", "bytes,align")):
        ended(odd, *arguments)


def test_m3_a_gzip_bomb_is_refused() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bomb = gzip.compress(bases.library() + bytes(300 << 20), 1)
    assert len(bomb) < 2 << 20
    outcome = ended(bomb, "identify", "in")
    assert outcome.status == 3
    assert "its gzip data has more than" in outcome.detail
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700 << 10  # KiB


def test_a_gzip_file_of_four_times_its_size_is_none() -> None:
    assert ended(gzip.compress(bases.library()), "identify", "in").status == 0
