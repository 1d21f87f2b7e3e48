"""A segment that grows over free bytes behind it, and section headers over what is new there.

GNU strip zeroes what no section covers, so new code and tables have headers of their own, in
address order; `sh_link`, `sh_info`, `st_shndx` and `e_shstrndx` are renumbered.  Section names and
the header table stand at the end of the file, or go there:

    names last      | ... | names     | pad | headers | becomes | ... | names+new | pad | headers |
    names elsewhere | all as it was   |                 becomes | ... | names+new | pad | headers |

Nothing that was in front of the names moves, and the file never gets shorter.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.core.errors import BadInput
from rewriter.elf.caves.room import Room
from rewriter.elf.headers import (
    PT_LOAD,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHN_LORESERVE,
    SHT_REL,
    SHT_RELA,
    Headers,
    Section,
    read_headers,
)
from rewriter.elf.note import names_are_last
from rewriter.elf.unwind.entries import PT_GNU_EH_FRAME

SHT_PROGBITS, SHT_SYMTAB, SHT_DYNSYM, SHT_SYMTAB_SHNDX = 1, 2, 11, 18
SHF_INFO_LINK = 0x40

TEXT, FRAMES, SEARCH = ".text.retune", ".eh_frame.retune", ".eh_frame_hdr.retune"
ALIGNMENTS = {TEXT: 64, FRAMES: 8, SEARCH: 4}
"""The parts that there may be, in address order, and their alignment in bytes."""


@dataclass(frozen=True, slots=True)
class Part:
    """New content at an address of the grown segment; its name is one of `ALIGNMENTS`."""

    name: str
    address: int
    content: bytes

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + len(self.content)


def grow(data: bytes, room: Room, parts: Sequence[Part], label: str = "input") -> bytes:
    """Return the file with `parts` in `room`, loaded with the segment in front of it.

    `parts` are in the order of their addresses.  A search table takes the place of the one that
    PT_GNU_EH_FRAME names; the old one stays where it is.
    """
    headers = read_headers(data, label)
    out = bytearray(data)
    for part in parts:
        at = room.offset + part.address - room.start
        out[at : at + len(part.content)] = part.content
    _segments(out, headers, room, parts)
    if not headers.sections:
        return bytes(out)
    if len(headers.sections) + len(parts) >= SHN_LORESERVE:
        raise BadInput(f"{label}: {len(headers.sections)} sections leave no room for more")
    return _with_headers(out, headers, room, parts)


def new_parts(data: bytes, room: Room, label: str = "input") -> tuple[Part, ...]:
    """Return the parts that a grown file has in `room`, by address."""
    headers = read_headers(data, label)
    found = []
    for s in headers.sections:
        if s.name in ALIGNMENTS and room.start <= s.sh_addr and s.sh_addr + s.sh_size <= room.end:
            at = room.offset + s.sh_addr - room.start
            found.append(Part(s.name, s.sh_addr, data[at : at + s.sh_size]))
    return tuple(sorted(found, key=lambda part: part.address))


def _segments(out: bytearray, headers: Headers, room: Room, parts: Sequence[Part]) -> None:
    """The segment in front of the room reaches to the last part's end."""
    layout = headers.layout
    at = (2, 5, 6) if layout.wide else (1, 4, 5)  # p_offset, p_filesz, p_memsz
    for number, segment in enumerate(headers.segments):
        place = headers.e_phoff + number * layout.phdr.size
        row = list(layout.phdr.unpack_from(out, place))
        ends = segment.p_vaddr + segment.p_filesz
        search = next((part for part in parts if part.name == SEARCH), None)
        if segment.p_type == PT_LOAD and ends == room.start and segment.p_filesz:
            row[at[1]] = row[at[2]] = parts[-1].end - segment.p_vaddr
        elif segment.p_type == PT_GNU_EH_FRAME and search is not None:
            offset = room.offset + search.address - room.start
            row[at[0] : at[0] + 3] = offset, search.address, search.address
            row[at[1]] = row[at[2]] = len(search.content)
        layout.phdr.pack_into(out, place, *row)


def _with_headers(out: bytearray, headers: Headers, room: Room, parts: Sequence[Part]) -> bytes:
    shdr, count, size = headers.layout.shdr, len(headers.sections), len(out)
    table = bytes(out[headers.e_shoff : headers.e_shoff + shdr.size * count])
    rows = [list(row) for row in shdr.iter_unpack(table)]
    first = _first_behind(headers, room.start)
    _renumber_symbols(out, headers, first, len(parts))
    names = headers.sections[headers.e_shstrndx]
    content, starts = _names(bytes(out[names.sh_offset : names.file_end]), parts)
    if names_are_last(bytes(out), headers):
        del out[names.sh_offset :]
    rows[headers.e_shstrndx][4:6] = len(out), len(content)
    out += content
    out += bytes(-len(out) % 8)
    # Where padding behind the headers was dropped, the file shall not get shorter.
    out += bytes(max(0, size - len(out) - shdr.size * (count + len(parts)) + 7) // 8 * 8)
    for row, section in zip(rows, headers.sections, strict=True):
        _renumber_links(row, section, first, len(parts))
    rows[first:first] = [_row(room, part, name) for part, name in zip(parts, starts, strict=True)]
    ehdr = list(headers.layout.ehdr.unpack_from(out, 16))
    ehdr[5], ehdr[11] = len(out), len(rows)
    ehdr[12] = _later(headers.e_shstrndx, first, len(parts))
    headers.layout.ehdr.pack_into(out, 16, *ehdr)
    return bytes(out) + b"".join(shdr.pack(*row) for row in rows)


def _later(index: int, first: int, count: int) -> int:
    """What a section's index becomes when `count` sections come in at `first`."""
    return index + count if first <= index < SHN_LORESERVE else index


def _first_behind(headers: Headers, address: int) -> int:
    """The index of a section at an address: behind the loaded ones in front of it."""
    before = [s.index for s in headers.sections if s.sh_flags & SHF_ALLOC and s.sh_addr < address]
    return max(before, default=0) + 1


def _names(content: bytes, parts: Sequence[Part]) -> tuple[bytes, list[int]]:
    """The section names with new ones behind them, and where these start."""
    starts = []
    for part in parts:
        starts.append(len(content))
        content += part.name.encode() + b"\0"
    return content, starts


def _row(room: Room, part: Part, name: int) -> list[int]:
    flags = SHF_ALLOC | (SHF_EXECINSTR if part.name == TEXT else 0)
    offset, align = room.offset + part.address - room.start, ALIGNMENTS[part.name]
    size = len(part.content)
    return [name, SHT_PROGBITS, flags, part.address, offset, size, 0, 0, align, 0]


def _renumber_links(row: list[int], section: Section, first: int, count: int) -> None:
    row[6] = _later(row[6], first, count)
    if section.sh_type in (SHT_REL, SHT_RELA) or section.sh_flags & SHF_INFO_LINK:
        row[7] = _later(row[7], first, count)


def _renumber_symbols(out: bytearray, headers: Headers, first: int, count: int) -> None:
    """Symbols name their section by number: st_shndx, or a table of its own."""
    order = "<" if headers.layout.byteorder == "little" else ">"
    short, long = struct.Struct(f"{order}H"), struct.Struct(f"{order}I")
    place, entry = (6, 24) if headers.layout.wide else (14, 16)
    for section in headers.sections:
        if section.sh_type in (SHT_SYMTAB, SHT_DYNSYM):
            places, form = range(section.sh_offset + place, section.file_end, entry), short
        elif section.sh_type == SHT_SYMTAB_SHNDX:
            places, form = range(section.sh_offset, section.file_end, long.size), long
        else:
            continue
        for at in places:
            form.pack_into(out, at, _later(form.unpack_from(out, at)[0], first, count))
