"""Room for new code in a file whose layout stays: zero bytes behind an executable segment.

A segment may grow over file bytes that belong to nothing, up to the page on which the next one
begins: from that page on, what the loader maps later would lie on top.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from rewriter.elf.headers import PF_X, PT_LOAD, Headers, Segment

_PF_W = 2


@dataclass(frozen=True, slots=True)
class Room:
    """Addresses [start, end) where nothing is; `offset` is the place of the first in the file."""

    start: int
    end: int
    offset: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.start


@dataclass
class Caves:
    """Hands out addresses of rooms, first fit, in the order in which they are asked for.

    Of the last room `each` bytes stay free for each address that was given.
    """

    rooms: tuple[Room, ...]
    reached: dict[Room, int] = field(default_factory=dict)
    each: int = 0
    given: int = 0

    def take(self, size: int, alignment: int) -> int | None:
        """The address of `size` free bytes on a multiple of `alignment`; None if there are none."""
        found = self._first(size, alignment)
        if found is None:
            return None
        room, start = found
        self.reached[room] = start + size
        self.given += 1
        return start

    def copy(self) -> Caves:
        """The same room, of which others take."""
        return replace(self, reached=dict(self.reached))

    def has(self, size: int, alignment: int) -> bool:
        """Whether there are so many free bytes."""
        return self._first(size, alignment) is not None

    def _first(self, size: int, alignment: int) -> tuple[Room, int] | None:
        for room in self.rooms:
            start = self.reached.get(room, room.start)
            start += -start % alignment
            kept = self.each * (self.given + 1) if room is self.rooms[-1] else 0
            if start + size + kept <= room.end:
                return room, start
        return None


def gap(headers: Headers, data: bytes, page: int) -> Room | None:
    """The zero bytes behind the first executable segment that has some; None if none has.

    `page` is the largest page size, in bytes, with which systems of this kind map files.
    """
    loads = [s for s in headers.segments if s.p_type == PT_LOAD]
    for segment in loads:
        whole = segment.p_filesz and segment.p_filesz == segment.p_memsz
        if whole and segment.p_flags & (PF_X | _PF_W) == PF_X:
            room = _behind(headers, segment, loads, data, page)
            if room.size > 0:
                return room
    return None


def _behind(
    headers: Headers, segment: Segment, loads: list[Segment], data: bytes, page: int
) -> Room:
    start, offset = segment.p_vaddr + segment.p_filesz, segment.p_offset + segment.p_filesz
    above = [s.p_vaddr & -page for s in loads if s.p_vaddr >= start]
    last = min((end for end in _used(headers, len(data)) if end >= offset), default=len(data))
    if any(low < offset < high for low, high in _ranges(headers, segment)):
        last = offset
    free = _zeros(data, offset, last)
    end = min([start + free, *above])
    return Room(start, max(start, end), offset)


def _used(headers: Headers, size: int) -> Iterator[int]:
    """File offsets at which something begins."""
    yield from (low for low, _ in _ranges(headers, None))
    yield size


def _ranges(headers: Headers, but: Segment | None) -> Iterator[tuple[int, int]]:
    """Ranges of the file that belong to something, less one segment."""
    layout = headers.layout
    for s in headers.segments:
        if s is not but and s.p_filesz:
            yield s.p_offset, s.p_offset + s.p_filesz
    for section in headers.sections:
        if section.file_end > section.sh_offset:
            yield section.sh_offset, section.file_end
    yield headers.e_phoff, headers.e_phoff + layout.phdr.size * len(headers.segments)
    if headers.sections:
        yield headers.e_shoff, headers.e_shoff + layout.shdr.size * len(headers.sections)


def _zeros(data: bytes, start: int, end: int) -> int:
    """How many zero bytes there are from `start` on."""
    stretch = data[start:end]
    return len(stretch) - len(stretch.lstrip(b"\0"))
