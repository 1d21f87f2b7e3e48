"""A file that a tool laid out anew, in the layout of the original that it came from.

strip and objcopy keep what is loaded where it is, and lay out the rest anew: sections that nothing
loads, their names and headers.  The program is what is loaded; the rest is taken from the original.
"""

from __future__ import annotations

from rewriter.core.errors import BadInput
from rewriter.core.target.protocol import Target
from rewriter.elf.caves.build import room_of
from rewriter.elf.caves.sections import grow, new_parts
from rewriter.elf.headers import PT_LOAD, Headers, read_headers
from rewriter.elf.image import Image

_E_SHOFF, _E_SHENTSIZE, _E_SHNUM, _E_SHSTRNDX = 5, 10, 11, 12
_IDENT = 16  # bytes in front of the fields of the ELF header


def in_layout_of(old: Image, data: bytes, target: Target) -> bytes | None:
    """What `data` loads, in a file that has all else from its original `old`.

    Every loaded byte, the program headers and the ELF header are those of `data`, but for the three
    fields of the ELF header that say where section headers are.  None where what is loaded stands
    elsewhere in the file than in `old`.
    """
    new = read_headers(data, old.name)
    before = read_headers(old.data, old.name)
    if not _same_places(before, new):
        return None
    out = bytearray(_grown(old, data, target))
    layout, tables = new.layout, read_headers(bytes(out), old.name)
    for segment in new.segments:
        if segment.p_type == PT_LOAD:
            end = segment.p_offset + segment.p_filesz
            if end > len(out):
                return None
            out[segment.p_offset : end] = data[segment.p_offset : end]
    size = layout.phdr.size * len(new.segments)
    out[new.e_phoff : new.e_phoff + size] = data[new.e_phoff : new.e_phoff + size]
    row = list(layout.ehdr.unpack_from(data, _IDENT))
    row[_E_SHOFF], row[_E_SHSTRNDX] = tables.e_shoff, tables.e_shstrndx
    row[_E_SHNUM] = len(tables.sections)
    row[_E_SHENTSIZE] = layout.ehdr.unpack_from(out, _IDENT)[_E_SHENTSIZE]
    out[:_IDENT] = data[:_IDENT]
    layout.ehdr.pack_into(out, _IDENT, *row)
    return bytes(out)


def _same_places(old: Headers, new: Headers) -> bool:
    """Whether what is loaded begins where it did, in the file and in memory."""
    places = [
        [(s.p_type, s.p_offset, s.p_vaddr) for s in side.segments if s.p_type == PT_LOAD]
        for side in (old, new)
    ]
    same = old.e_phoff == new.e_phoff and len(old.segments) == len(new.segments)
    return same and old.layout == new.layout and places[0] == places[1]


def _grown(old: Image, data: bytes, target: Target) -> bytes:
    """The original with the sections that `data` has over new code."""
    room = room_of(old, target.sequential) if target.sequential is not None else None
    if room is None:
        return old.data
    try:
        parts = new_parts(data, room)
        return grow(old.data, room, parts, old.name) if parts else old.data
    except BadInput:
        return old.data
