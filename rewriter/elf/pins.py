"""Addresses in text that data, symbols or the unwinder rely on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

import numpy as np

from rewriter.core.addresses import addresses, contains
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function, Pin
from rewriter.core.target.protocol import Sequential
from rewriter.elf.headers import SHF_ALLOC, SHF_EXECINSTR
from rewriter.elf.image import Image
from rewriter.elf.unwind.entries import Fde
from rewriter.elf.unwind.lsda import lsda_ranges


def relocated(image: Image, target: Sequential) -> dict[int, int]:
    """What the loader's relocations make of each word, where that is an address of this image."""
    defined = {s.name: s.st_value for s in image.symbols if s.dynamic and s.st_shndx}
    found = {}
    for relocation in image.relocations:
        if relocation.dynamic:
            value = defined.get(relocation.symbol) if relocation.r_sym else None
            place = target.relocated(relocation.r_type, relocation.r_addend, value)
            if place is not None:
                found[relocation.r_offset] = place
    return found


_Source = tuple[int, str, str | int]
"""An address, what relies on it, and which one of these: a name, an address, or "" for neither."""


def _sources(
    image: Image,
    target: Sequential,
    listing: Listing,
    functions: Sequence[Function],
    frames: Iterable[Fde],
) -> Iterator[_Source]:
    yield from ((function.start, "function start", "") for function in functions)
    yield image.entry, "entry point", ""
    yield from ((image.code_address(s), "symbol ", s.name) for s in image.symbols if s.st_shndx)
    for address, place in relocated(image, target).items():
        yield place, "relocated word at ", address
    for address, place in text_words(image, listing):
        yield place, "word at ", address
    for frame in frames:
        if frame.lsda is not None:
            for site in lsda_ranges(image, frame):
                if site.landing_pad is not None:
                    yield site.landing_pad, "landing pad", ""


def _inside(listing: Listing, sources: Sequence[_Source]) -> list[bool]:
    """Which of the addresses are in text."""
    found: list[bool] = contains(
        listing.addresses, addresses(place % (1 << 64) for place, _, _ in sources)
    ).tolist()
    return found


def pinned(
    image: Image,
    target: Sequential,
    listing: Listing,
    functions: Sequence[Function],
    frames: Iterable[Fde],
) -> set[int]:
    """Every address in text that something outside text names."""
    found = list(_sources(image, target, listing, functions, frames))
    return {place for place, _, _ in compress(found, _inside(listing, found))}


def data_pins(
    image: Image,
    target: Sequential,
    listing: Listing,
    functions: Sequence[Function],
    frames: Iterable[Fde],
) -> tuple[Pin, ...]:
    """The same, ascending, with each reason."""
    found = list(_sources(image, target, listing, functions, frames))
    named = compress(found, _inside(listing, found))
    return tuple(
        Pin(*pin) for pin in sorted({(at, why + _shown(which)) for at, why, which in named})
    )


def _shown(which: str | int) -> str:
    return which if isinstance(which, str) else f"{which:#x}"


_DATA_TYPES = (1, 14, 15, 16)
"""SHT_PROGBITS, and the arrays of functions that run at start and end."""


def text_words(image: Image, listing: Listing) -> Iterator[tuple[int, int]]:
    """Words of data that read like an address in text, whoever put them there: (where, what)."""
    size = image.bits // 8
    for section in image.sections:
        code = section.sh_flags & SHF_EXECINSTR
        if section.sh_type not in _DATA_TYPES or code or not section.sh_flags & SHF_ALLOC:
            continue
        start = section.sh_addr + -section.sh_addr % size
        end = start + max(section.sh_addr + section.sh_size - start, 0) // size * size
        words = image.words(start, end, size).astype(np.uint64)
        at = np.minimum(np.searchsorted(listing.addresses, words), len(listing) - 1)
        for n in np.flatnonzero(listing.addresses[at] == words).tolist():
            yield start + size * n, int(words[n])
