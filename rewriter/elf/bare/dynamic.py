"""The tables that the loader reads, as the dynamic table leads to them (gABI; LSB 5.0 Core, 10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from rewriter.elf.dwarf import Mapped
from rewriter.elf.headers import PT_LOAD, Layout
from rewriter.elf.linking import (
    CALLED_ARRAYS,
    DT_FINI,
    DT_HASH,
    DT_INIT,
    DT_JMPREL,
    DT_PLTRELSZ,
    DYNAMIC_TABLES,
    Symbol,
    tags_of,
)

_DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT = 5, 6, 10, 11
_DT_GNU_HASH, _DT_VERSYM = 0x6FFFFEF5, 0x6FFFFFF0
_SIZED = {
    _DT_STRTAB: _DT_STRSZ,
    DT_JMPREL: DT_PLTRELSZ,
    **{tag: size for tag, (size, _) in DYNAMIC_TABLES.items()},
    **CALLED_ARRAYS,
}
"""Tables of which another tag says the size in bytes."""

_VERSIONS = {0x6FFFFFFC: (0x6FFFFFFD, "HHHHIII", 8), 0x6FFFFFFE: (0x6FFFFFFF, "HHIII", 16)}
"""DT_VERDEF and DT_VERNEED: the tag of how many records there are, the fields of one, and the bytes
of what hangs on it.  The last fields say where that begins and where the next record is, both from
the record on; the one before the last but two says how many of these there are."""


class WithSymbols(Mapped, Protocol):
    """A file with dynamic symbols."""

    @property
    def symbols(self) -> Sequence[Symbol]: ...


def called(image: Mapped) -> Iterator[int]:
    """What the loader calls at start and end by a tag of its own."""
    tags = _tags(image)
    yield from (tags[tag] for tag in (DT_INIT, DT_FINI) if tag in tags)


def tables(image: WithSymbols) -> Iterator[range]:
    """The addresses of each table whose size is known, if the file has all of it in a segment."""
    for found in _tables(image, _tags(image)):
        for s in image.segments:
            inside = s.p_vaddr <= found.start and found.stop <= s.p_vaddr + s.p_filesz
            if s.p_type == PT_LOAD and found and inside:
                yield found
                break


def _tags(image: Mapped) -> dict[int, int]:
    return tags_of(image.data, image.segments, Layout(image.bits, image.byteorder))


def _tables(image: WithSymbols, tags: Mapping[int, int]) -> Iterator[range]:
    count = sum(symbol.dynamic for symbol in image.symbols)
    for tag, size in _SIZED.items():
        if tag in tags:
            yield range(tags[tag], tags[tag] + tags.get(size, 0))
    for tag, each in ((_DT_SYMTAB, tags.get(_DT_SYMENT, 0)), (_DT_VERSYM, 2)):
        if tag in tags:
            yield range(tags[tag], tags[tag] + count * each)
    for tag, (number, fields, hanging) in _VERSIONS.items():
        if tag in tags:
            yield _versions(image, tags[tag], tags.get(number, 0), fields, hanging)
    if DT_HASH in tags:
        yield _hash(image, tags[DT_HASH])
    if _DT_GNU_HASH in tags:
        yield _gnu_hash(image, tags[_DT_GNU_HASH], count)


def _versions(image: Mapped, first: int, number: int, fields: str, hanging: int) -> range:
    """A chain of version records with what hangs on them."""
    record = Layout(image.bits, image.byteorder).record(fields, fields)
    at = end = first
    for _ in range(number):
        if not (image.is_mapped(at) and image.is_mapped(at + record.size - 1)):
            break
        *_, hung, _, aside, following = record.unpack(image.read(at, record.size))
        end = max(end, at + record.size, at + aside + hung * hanging)
        if not following:
            break
        at += following
    return range(first, end)


def _hash(image: Mapped, at: int) -> range:
    """DT_HASH: two counts, and a word for each of what they count; in some ABIs of 64 bits."""
    if not (image.is_mapped(at) and image.is_mapped(at + 15)):
        return range(0)
    head = image.read(at, 16)
    is_wide = image.bits == 64 and not int.from_bytes(head[:8], image.byteorder) >> 32
    size = 8 if is_wide else 4
    counts = (int.from_bytes(head[n : n + size], image.byteorder) for n in (0, size))
    return range(at, at + size * (2 + sum(counts)))


def _gnu_hash(image: Mapped, at: int, count: int) -> range:
    """DT_GNU_HASH: four counts, a filter of words, and buckets and the rest of the symbols."""
    if not (image.is_mapped(at) and image.is_mapped(at + 15)):
        return range(0)
    head = image.read(at, 16)
    fields = (int.from_bytes(head[n : n + 4], image.byteorder) for n in range(0, 16, 4))
    buckets, first, filters, _ = fields
    size = 16 + filters * image.bits // 8 + 4 * (buckets + max(count - first, 0))
    return range(at, at + size)
