"""Puts new code into a file's free room, with all that makes it findable."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.core.errors import BadInput
from rewriter.core.target.protocol import Sequential
from rewriter.elf.caves.room import Caves, Room, gap
from rewriter.elf.caves.sections import ALIGNMENTS, FRAMES, SEARCH, TEXT, Part, grow
from rewriter.elf.caves.unwind import Body, entries, reaches, search_content
from rewriter.elf.headers import Headers, read_headers
from rewriter.elf.image import Image
from rewriter.elf.unwind import entries as unwind

_HEAD, _PAIR, _ENTRY, _CIES = 12, 8, 32, 96  # bytes of tables: those of a leaf routine, four CIEs
_MARGIN = 64  # bytes: what a table says is counted from places near its start


def room_of(image: Image, target: Sequential) -> Room | None:
    """The room that a file has behind its code."""
    return gap(_headers(image), image.data, target.page)


def caves_of(image: Image, target: Sequential) -> Caves:
    """Room for code, less what tables take, and what they take more for each routine."""
    room, table = room_of(image, target), _table(image)
    # Without section headers strip would take new code away; without a table none would unwind.
    if room is None or not image.sections or (_has_frames(image) and table is None):
        return Caves(())
    if table is not None and not reaches(image, table, room.start - _MARGIN, room.end):
        return Caves(())
    old = 0 if table is None else len(table.starts)
    tables = _HEAD + _PAIR * old + _CIES
    left = Room(room.start, max(room.start, room.end - tables), room.offset)
    return Caves((left,), each=_PAIR + _ENTRY)


def with_bodies(image: Image, target: Sequential, data: bytes, bodies: Sequence[Body]) -> bytes:
    """Return the file `data`, of the layout of `image`, with bodies in its room."""
    room = room_of(image, target)
    if room is None or not bodies:
        return data
    parts = parts_for(image, target, bodies)
    if parts[-1].end > room.end:
        raise BadInput(f"{image.name}: unwind entries of new code do not fit behind it")
    return grow(data, room, parts)


def parts_for(image: Image, target: Sequential, bodies: Sequence[Body]) -> list[Part]:
    """Return what a file gets for bodies: code, unwind entries, and a table that leads to all."""
    bodies = sorted(bodies, key=lambda body: body.address)
    text = bytearray()
    start = bodies[0].address
    for body in bodies:
        between = target.nops(body.address - start - len(text))
        text += b"".join(map(target.encode, between)) + body.code
    parts = [Part(TEXT, start, bytes(text))]
    unwound = [body for body in bodies if body.cie is not None]
    table = unwind.search_table(image)
    if unwound and table is not None:
        address = _aligned(parts[-1].end, FRAMES)
        content, starts = entries(image, unwound, address)
        parts.append(Part(FRAMES, address, content))
        address = _aligned(parts[-1].end, SEARCH)
        new = [(body.address, at) for body, at in zip(unwound, starts, strict=True)]
        parts.append(Part(SEARCH, address, search_content(image, table, new, address)))
    return parts


def _aligned(address: int, name: str) -> int:
    return address + -address % ALIGNMENTS[name]


def _table(image: Image) -> unwind.SearchTable | None:
    try:
        return unwind.search_table(image)
    except BadInput:
        return None  # of a kind that no entry can be added to


def _has_frames(image: Image) -> bool:
    return image.section(".eh_frame") is not None


def _headers(image: Image) -> Headers:
    return read_headers(image.data, image.name)
