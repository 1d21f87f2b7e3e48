"""What ties a file to its debug file, and another identity for one that no longer fits.

A stripped file names its debug file by a build-id, a note that linkers make of the file's content,
and by `.gnu_debuglink`: a name, and the CRC-32 of the debug file.  The debug file describes code by
addresses.  Where code went to other addresses and the debug file cannot follow, debuggers would
show the lines of other code, and nothing would tell them.  Such a file gets another build-id and
another CRC-32, both made from what it loads: the same file gets the same ones, debuggers refuse
the debug file of the original, and who compares both files can tell that nothing else was written.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rewriter.core.errors import BadInput
from rewriter.elf.headers import (
    PT_LOAD,
    PT_NOTE,
    SHF_ALLOC,
    SHT_NOBITS,
    SHT_NOTE,
    Section,
    read_headers,
)
from rewriter.elf.image import Image

DEBUG_LINK = ".gnu_debuglink"
_NT_GNU_BUILD_ID, _OWNER = 3, b"GNU\0"
_IDENT = 16  # bytes in front of the fields of the ELF header


@dataclass(frozen=True)
class Link:
    """What `.gnu_debuglink` says: the debug file's name and the CRC-32 of its bytes.

    `at` is the file offset of the CRC-32.
    """

    name: str
    crc: int
    at: int


def link_of(image: Image) -> Link | None:
    """The debug link of a file; None where it has none, BadInput where it is damaged."""
    section = _link_section(image)
    link = None if section is None else _link(image, section)
    if section is not None and link is None:
        raise BadInput(f"{image.name}: {DEBUG_LINK} is damaged")
    return link


def build_id_of(image: Image) -> str:
    """The build-id of a file in hexadecimal digits; empty where it has none."""
    found = next(_build_ids(image), None)
    return "" if found is None else image.data[found[1].start : found[1].stop].hex()


def with_new_identity(old: Image, data: bytes) -> bytes:
    """A new file made from `old`, whose debug file does not fit it and is refused by debuggers."""
    return _with(data, _identity(old, data))


def with_old_identity(old: Image, data: bytes) -> bytes:
    """A new file as it was before `with_new_identity`; as it is where that did not make it.

    Tools that lay a file out anew may have kept one of the two: each is taken for itself.
    """
    places = _places(old)
    if len(data) < len(old.data) or all(_bytes(data, p) == _bytes(old.data, p) for p in places):
        return data
    before = _with(data, {place: _bytes(old.data, place) for place in places})
    if before == old.data:
        return data  # a file in which nothing else changed keeps its own
    try:
        ours = _identity(old, before)
    except BadInput:
        return data
    known = all(_bytes(data, p) in (_bytes(old.data, p), ours[p]) for p in places)
    return before if known else data


def has_identity(image: Image) -> bool:
    """Whether there is anything by which a debug file is found."""
    return bool(_places(image))


def _identity(old: Image, data: bytes) -> dict[range, bytes]:
    """What takes the place of build-id and CRC-32 in a new file that still has the old ones.

    It follows from what the file loads, without the ELF header, which says where sections are:
    strip lays these out anew.
    """
    digest, headers, view = hashlib.shake_256(), read_headers(data, old.name), memoryview(data)
    for segment in headers.segments:
        if segment.p_type == PT_LOAD:
            first = max(segment.p_offset, _IDENT + headers.layout.ehdr.size)
            digest.update(view[first : segment.p_offset + segment.p_filesz])
    return {
        place: _other(_bytes(old.data, place), digest.digest(len(place))) for place in _places(old)
    }


def _with(data: bytes, changes: Mapping[range, bytes]) -> bytes:
    """The bytes with others at some places, which do not meet; copied once."""
    view, parts, done = memoryview(data), list[bytes | memoryview](), 0
    for place in sorted(changes, key=lambda place: place.start):
        parts += [view[done : place.start], changes[place]]
        done = place.stop
    return b"".join([*parts, view[done:]])


def _other(old: bytes, new: bytes) -> bytes:
    """The new bytes, or others where they happen to be the old ones."""
    return new if new != old else bytes(byte ^ 0xFF for byte in old)


def _places(image: Image) -> list[range]:
    """The file offsets of build-id and of the link's CRC-32, where nothing else can stand."""
    places = [
        place
        for section, place in _build_ids(image)
        if _alone(image, section) and _is_note(image, section, place)
    ][:1]
    section = _link_section(image)
    link = None if section is None else _link(image, section)
    if section is not None and link is not None and _alone(image, section):
        places.append(range(link.at, link.at + 4))
    return places


def _is_note(image: Image, section: Section, place: range) -> bool:
    """Whether program headers, too, call something a note and nothing else, if it is loaded."""
    if not section.sh_flags & SHF_ALLOC:
        return True
    kinds = {
        s.p_type for s in image.segments if _meet(place, range(s.p_offset, s.p_offset + s.p_filesz))
    }
    return PT_NOTE in kinds <= {PT_LOAD, PT_NOTE}


def _alone(image: Image, section: Section) -> bool:
    """Whether no other section and no header has any of a section's bytes."""
    others = [_bytes_of(other) for other in image.sections if other.index != section.index]
    return not any(_meet(_bytes_of(section), other) for other in (*others, *_headers(image)))


def _headers(image: Image) -> Iterator[range]:
    """The file offsets of the ELF header and of both tables that it names."""
    found = read_headers(image.data, image.name)
    layout = found.layout
    yield range(_IDENT + layout.ehdr.size)
    yield range(found.e_phoff, found.e_phoff + layout.phdr.size * len(found.segments))
    yield range(found.e_shoff, found.e_shoff + layout.shdr.size * len(found.sections))


def _link_section(image: Image) -> Section | None:
    section = image.section(DEBUG_LINK)
    return None if section is None or section.sh_type == SHT_NOBITS else section


def _link(image: Image, section: Section) -> Link | None:
    """What a section says as a debug link; None where it is damaged."""
    content = image.data[section.sh_offset : section.file_end]
    name, ended, _ = content.partition(b"\0")
    at = (len(name) + 4) & ~3  # the CRC is behind the name, aligned to 4 bytes
    if not name or not ended or b"/" in name or len(content) < at + 4:
        return None
    (crc,) = struct.unpack_from(f"{_order(image)}I", content, at)
    return Link(os.fsdecode(name), crc, section.sh_offset + at)


def _build_ids(image: Image) -> Iterator[tuple[Section, range]]:
    """Each build-id: the section of notes that it is in, and its file offsets."""
    for section in image.sections:
        if section.sh_type == SHT_NOTE:
            for kind, owner, place in _notes(image, section):
                if (kind, owner) == (_NT_GNU_BUILD_ID, _OWNER) and place:
                    yield section, place


def _notes(image: Image, section: Section) -> Iterator[tuple[int, bytes, range]]:
    """Type, owner and the file offsets of the descriptor of each note, as far as they are whole."""
    head = struct.Struct(f"{_order(image)}3I")
    step = 8 if section.sh_addralign == 8 else 4  # GNU property notes alone use 8 (binutils)
    at, end = section.sh_offset, min(section.file_end, len(image.data))
    while at + head.size <= end:
        owner_size, size, kind = head.unpack_from(image.data, at)
        first = at + _aligned(head.size + owner_size, step)
        if first + size > end:
            return
        owner = image.data[at + head.size : at + head.size + owner_size]
        yield kind, owner, range(first, first + size)
        at = first + _aligned(size, step)


def _aligned(size: int, step: int) -> int:
    return -(-size // step) * step


def _bytes_of(section: Section) -> range:
    return range(section.sh_offset, section.file_end)


def _meet(one: range, other: range) -> bool:
    return max(one.start, other.start) < min(one.stop, other.stop)


def _order(image: Image) -> str:
    return "<" if image.byteorder == "little" else ">"


def _bytes(data: bytes, place: range) -> bytes:
    return data[place.start : place.stop]
