"""A note section that nothing loads: added without moving a section, removed without a trace.

Layout, by where the section names (e_shstrndx) stand:

    names last      | ... | names     | pad | headers |            before
                    | ... | names+new | pad | note | pad | headers  after: the names grow in place
    names elsewhere | everything as it was | names+new | pad | note | pad | headers

In the second case the names move to the end of the file, and the old copies of names and headers
stay behind as bytes that nobody reads. Only ELF header fields e_shoff and e_shnum change before
the names (where a segment loads the ELF header, they change in memory too: nothing reads them
there); the new section header is the last, so no sh_link or st_shndx is renumbered.
The descriptor starts with what `detach` needs to give back the former bytes exactly.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from rewriter.core.errors import BadInput, RetuneError
from rewriter.elf.headers import SHF_ALLOC, SHN_LORESERVE, SHT_NOTE, Headers, Section, read_headers

NAME, OWNER = ".note.retune", "retune"
MAGIC, HEAD = b"RTN1", "4s4QIII"
NOTE_ALIGN = 4
"""Notes are read in 4-byte steps in both classes; only GNU property notes use 8 (binutils)."""


class NoSectionTable(RetuneError):
    """The file has no section headers to add a note to: keep the manifest in a file beside it."""

    exit_code = 3


class LaidOutAnew(BadInput):
    """Another tool laid the file out anew behind retune's back: the note is there, but not last."""


@dataclass(frozen=True, slots=True)
class Restore:
    """Front of the descriptor: the file before `attach`, as far as it cannot be read off.

    Offsets and sizes in bytes; `saved` is what stood after the names apart from the headers
    themselves: the padding before them and whatever followed them. `checksum` is the CRC-32 of
    what `detach` puts together again, the former headers and `saved`; not of code, so that edits
    may be reverted before the note is removed or after.
    """

    file_size: int
    e_shoff: int
    names_offset: int
    names_size: int
    in_place: bool
    checksum: int
    saved: bytes

    def pack(self, order: str) -> bytes:
        """Return the restore header followed by the saved bytes, padded to 4."""
        numbers = (self.file_size, self.e_shoff, self.names_offset, self.names_size)
        rest = (self.in_place, self.checksum, len(self.saved))
        head = struct.pack(order + HEAD, MAGIC, *numbers, *rest)
        return head + _pad(self.saved, NOTE_ALIGN)


HEAD_SIZE = struct.calcsize("<" + HEAD)


def attach(
    data: bytes,
    name: str = NAME,
    owner: str = OWNER,
    *,
    payload: bytes,
    note_type: int = 1,
    label: str = "input",
) -> bytes:
    """Return `data` with a note section `name` holding `payload`; the same input, the same bytes.

    `label` names the file in errors: NoSectionTable without section headers, BadInput when the
    section is already there or the section names are loaded memory.
    """
    headers = read_headers(data, label)
    _check_can_attach(headers, name, label)
    names = headers.sections[headers.e_shstrndx]
    names_end = names.file_end
    table_size = headers.layout.shdr.size * len(headers.sections)
    in_place = names_are_last(data, headers)
    saved = b""
    if in_place:
        saved = data[names_end : headers.e_shoff] + data[headers.e_shoff + table_size :]
    checksum = zlib.crc32(saved, zlib.crc32(data[headers.e_shoff : headers.e_shoff + table_size]))
    restore = Restore(
        len(data), headers.e_shoff, names.sh_offset, names.sh_size, in_place, checksum, saved
    )

    order = "<" if headers.layout.byteorder == "little" else ">"
    out = bytearray(data[:names_end] if in_place else data)
    names_offset = names.sh_offset
    if not in_place:
        names_offset = len(out)
        out += data[names.sh_offset : names_end]
    out += name.encode() + b"\0"
    names_size = len(out) - names_offset

    out += bytes(-len(out) % NOTE_ALIGN)
    note_offset = len(out)
    out += _note(order, owner, restore.pack(order) + payload, note_type)
    note_size = len(out) - note_offset
    out += bytes(-len(out) % 8)
    table = _table(data, headers, names_offset, names_size)
    table += headers.layout.shdr.pack(
        names.sh_size, SHT_NOTE, 0, 0, note_offset, note_size, 0, 0, NOTE_ALIGN, 0
    )
    _set_table(out, headers, len(out), len(headers.sections) + 1)
    return bytes(out + table)


def find(data: bytes, name: str = NAME, *, label: str = "input") -> bytes | None:
    """Return the payload of the note section `name`; None when there is none."""
    headers = read_headers(data, label)
    section = _section(headers, name)
    return None if section is None else _parse(data, headers, section, label).payload


def detach(data: bytes, name: str = NAME, *, label: str = "input") -> bytes:
    """Return exactly the bytes that `attach` was given.

    BadInput when there is no such note, or when the file is no longer laid out as `attach` left
    it (strip and objcopy lay sections out anew).
    """
    headers = read_headers(data, label)
    section = _section(headers, name)
    if section is None:
        raise BadInput(f"{label}: has no section {name} to remove")
    note = _parse(data, headers, section, label)
    before = _restored(data, headers, note.restore)
    # Attaching again is the whole check: it agrees with every byte or the file was changed.
    if before is None or not _attaches_to(before, data, name, note, label):
        last = section.index == len(headers.sections) - 1
        raise (BadInput if last else LaidOutAnew)(
            f"{label}: its layout changed after {name} was added, so the bytes before it are lost",
            hint="strip or objcopy has laid out the sections anew; use the file from before that",
        )
    return before


@dataclass(frozen=True, slots=True)
class _Note:
    owner: str
    note_type: int
    restore: Restore
    payload: bytes


def _attaches_to(before: bytes, data: bytes, name: str, note: _Note, label: str) -> bool:
    try:
        again = attach(
            before, name, note.owner, payload=note.payload, note_type=note.note_type, label=label
        )
    except RetuneError:
        return False
    return again == data


def _check_can_attach(headers: Headers, name: str, label: str) -> None:
    if len(headers.sections) < 2 or not headers.e_shstrndx:
        raise NoSectionTable(
            f"{label}: has no section headers, so a note cannot be added",
            hint="keep the manifest in a file beside it",
        )
    if _section(headers, name) is not None:
        raise BadInput(f"{label}: already has a section {name}", hint="remove it first")
    if headers.sections[headers.e_shstrndx].sh_flags & SHF_ALLOC:
        raise BadInput(f"{label}: its section names are loaded memory and cannot grow")
    if len(headers.sections) + 1 >= SHN_LORESERVE:
        raise BadInput(f"{label}: {len(headers.sections)} sections leave no room for another")


def names_are_last(data: bytes, headers: Headers) -> bool:
    """Whether only the section header table, with padding, stands after the section names."""
    names = headers.sections[headers.e_shstrndx]
    layout = headers.layout
    others = [s.file_end for s in headers.sections if s.index != names.index]
    others += [s.p_offset + s.p_filesz for s in headers.segments]
    others.append(headers.e_phoff + layout.phdr.size * len(headers.segments))
    table_end = headers.e_shoff + layout.shdr.size * len(headers.sections)
    # Much beyond the table is data of someone else (an appended archive): leave it where it is.
    return (
        names.file_end >= max(others)
        and headers.e_shoff >= names.file_end
        and headers.e_shoff - names.file_end < 64
        and len(data) - table_end < 64
    )


def _section(headers: Headers, name: str) -> Section | None:
    return next((s for s in headers.sections if s.name == name), None)


def _pad(data: bytes, alignment: int) -> bytes:
    return data + bytes(-len(data) % alignment)


def _note(order: str, owner: str, descriptor: bytes, note_type: int) -> bytes:
    name = owner.encode() + b"\0"
    head = struct.pack(f"{order}3I", len(name), len(descriptor), note_type)
    return head + _pad(name, NOTE_ALIGN) + _pad(descriptor, NOTE_ALIGN)


def _parse(data: bytes, headers: Headers, section: Section, label: str) -> _Note:
    order = "<" if headers.layout.byteorder == "little" else ">"
    content = data[section.sh_offset : section.file_end]
    damaged = BadInput(f"{label}: section {section.name} does not hold a note of retune")
    if len(content) < 12:
        raise damaged
    namesz, descsz, note_type = struct.unpack_from(f"{order}3I", content)
    start = 12 + namesz + -namesz % NOTE_ALIGN
    desc = content[start : start + descsz]
    if len(desc) != descsz or descsz < HEAD_SIZE or not desc.startswith(MAGIC):
        raise damaged
    _, *numbers, in_place, checksum, length = struct.unpack_from(order + HEAD, desc)
    payload_start = HEAD_SIZE + length + -length % NOTE_ALIGN
    if payload_start > descsz or namesz == 0 or max(numbers) >> headers.layout.bits:
        raise damaged
    owner = content[12 : 12 + namesz - 1].decode("utf-8", "replace")
    saved = desc[HEAD_SIZE : HEAD_SIZE + length]
    size, e_shoff, names, names_size = numbers
    restore = Restore(size, e_shoff, names, names_size, bool(in_place), checksum, saved)
    return _Note(owner, note_type, restore, desc[payload_start:])


def _table(data: bytes, headers: Headers, names_offset: int, names_size: int) -> bytearray:
    """Return the section header table with another place and size for the section names."""
    shdr = headers.layout.shdr
    table = bytearray(data[headers.e_shoff : headers.e_shoff + shdr.size * len(headers.sections)])
    at = shdr.size * headers.e_shstrndx
    row = list(shdr.unpack_from(table, at))
    row[4:6] = names_offset, names_size
    shdr.pack_into(table, at, *row)
    return table


def _set_table(out: bytearray, headers: Headers, e_shoff: int, e_shnum: int) -> None:
    ehdr = headers.layout.ehdr
    row = list(ehdr.unpack_from(out, 16))
    row[5], row[11] = e_shoff, e_shnum
    ehdr.pack_into(out, 16, *row)


def _restored(data: bytes, headers: Headers, restore: Restore) -> bytes | None:
    """Return the file as `restore` describes it, or None when it cannot be right."""
    names_end = restore.names_offset + restore.names_size
    table = _table(data, headers, restore.names_offset, restore.names_size)
    del table[-headers.layout.shdr.size :]
    if restore.in_place:
        gap = restore.e_shoff - names_end
        if not 0 <= gap <= len(restore.saved):
            return None
        after = restore.saved[:gap] + table + restore.saved[gap:]
        before = bytearray(data[:names_end] + after)
    else:
        before = bytearray(data[: restore.file_size])
    if len(before) != restore.file_size or restore.e_shoff >= restore.file_size:
        return None
    _set_table(before, headers, restore.e_shoff, len(headers.sections) - 1)
    return bytes(before)
