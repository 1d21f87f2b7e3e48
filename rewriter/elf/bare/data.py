"""What of a file is certainly data, also where a segment makes it executable.

Linkers put what is only read into the segment of code, before and behind it.  With section headers
one knows what is code; without them what headers, the loader's tables and the unwinder's describe
is known to be none.  Constants of the program stay: nothing tells them from code.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Protocol

from rewriter.core.errors import BadInput
from rewriter.elf.bare import dynamic, unwinding
from rewriter.elf.bare.dynamic import WithSymbols
from rewriter.elf.headers import PT_DYNAMIC, PT_INTERP, PT_LOAD, PT_NOTE, PT_PHDR, Layout
from rewriter.elf.linking import STT_FUNC, STT_GNU_IFUNC
from rewriter.elf.unwind.entries import PT_GNU_EH_FRAME, Fde, frames

_READ_ONLY = (PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_PHDR, PT_GNU_EH_FRAME)
"""Segments of what others than the program read."""


class Bare(WithSymbols, Protocol):
    """A file that is described by its program headers alone."""

    @property
    def entry(self) -> int: ...


def without(extents: Iterable[range], holes: Iterable[range]) -> Iterator[range]:
    """What is left of each of some ranges of addresses without some others."""
    apart = sorted(holes, key=lambda hole: hole.start)
    for extent in extents:
        start = extent.start
        for hole in apart:
            if hole.stop > start and hole.start < extent.stop:
                if hole.start > start:
                    yield range(start, hole.start)
                start = hole.stop
        if start < extent.stop:
            yield range(start, extent.stop)


def certain(image: Bare) -> Iterator[range]:
    """The addresses of what is data, and none of what headers, symbols or unwinding call code."""
    try:
        described = frames(image)
        unwound = list(unwinding.tables(image, described))
    except BadInput:  # where code is read by these tables, their damage is told
        described, unwound = (), []
    found = [*_headers(image), *dynamic.tables(image), *unwound]
    found.extend(
        range(s.p_vaddr, s.p_vaddr + s.p_filesz)
        for s in image.segments
        if s.p_type in _READ_ONLY and s.p_filesz
    )
    code = sorted(_code(image, described))
    starts, ends = [start for start, _ in code], list(accumulate((end for _, end in code), max))
    for extent in found:
        before = bisect_left(starts, extent.stop)
        if not (before and ends[before - 1] > extent.start):
            yield extent


def _code(image: Bare, described: Iterable[Fde]) -> Iterator[tuple[int, int]]:
    """Where code is that the file itself names: its first address, and the one behind it."""
    yield from ((at, at + 1) for at in (image.entry, *dynamic.called(image)) if at)
    yield from ((frame.start, frame.end) for frame in described)
    for symbol in image.symbols:
        if symbol.st_shndx and symbol.st_type in (STT_FUNC, STT_GNU_IFUNC):
            yield symbol.st_value, symbol.st_value + max(symbol.st_size, 1)


def _headers(image: Bare) -> Iterator[range]:
    """Where the ELF header and the program headers are loaded."""
    layout = Layout(image.bits, image.byteorder)
    e_phoff = layout.ehdr.unpack_from(image.data, _IDENT)[4]
    sizes = ((0, _IDENT + layout.ehdr.size), (e_phoff, layout.phdr.size * len(image.segments)))
    for offset, size in sizes:
        for s in image.segments:
            if s.p_type == PT_LOAD and 0 <= offset - s.p_offset <= s.p_filesz - size:
                start = s.p_vaddr + offset - s.p_offset
                yield range(start, start + size)


_IDENT = 16  # bytes of e_ident
