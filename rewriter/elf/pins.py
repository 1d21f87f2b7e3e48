"""Addresses in text that data, symbols or the unwinder rely on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

import numpy as np

from rewriter.core.addresses import addresses, contains
from rewriter.core.listing import Listing
from rewriter.core.program import Function, Pin
from rewriter.core.target import Target
from rewriter.elf.headers import SHF_ALLOC, SHF_EXECINSTR
from rewriter.elf.image import Image
from rewriter.elf.lsda import lsda_ranges
from rewriter.elf.unwind import Fde


def relocated(image: Image, target: Target) -> dict[int, int]:
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


def data_pins(
    image: Image,
    target: Target,
    listing: Listing,
    functions: Sequence[Function],
    frames: Iterable[Fde],
) -> tuple[Pin, ...]:
    """Every address in text that something outside text names, ascending, with the reason."""
    found = [(function.start, "function start") for function in functions]
    found.append((image.entry, "entry point"))
    found += [(s.st_value, f"symbol {s.name}") for s in image.symbols if s.st_shndx]
    for address, place in relocated(image, target).items():
        found.append((place, f"relocated word at {address:#x}"))
    for address, place in text_words(image, listing):
        found.append((place, f"word at {address:#x}"))
    for frame in frames:
        if frame.lsda is not None:
            for site in lsda_ranges(image, frame):
                if site.landing_pad is not None:
                    found.append((site.landing_pad, "landing pad"))
    inside = contains(listing.addresses, addresses(place % (1 << 64) for place, _ in found))
    return tuple(Pin(*pin) for pin in sorted(set(compress(found, inside.tolist()))))


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
