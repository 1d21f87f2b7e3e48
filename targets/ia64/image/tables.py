"""What data says about addresses of code: kernel tables, jump tables, words that read like it.

The kernel's tables are those of Linux 6.1 (arch/ia64: asm/asmmacro.h, asm/uaccess.h, patch.c,
extable.c, mca.c): words of 32 bits, each a distance from its own place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import Addresses, addresses, shifted
from rewriter.core.target.bundling import Linked
from targets.ia64.image.text import Text
from targets.ia64.isa.fields import BUNDLE

ET_DYN = 3
PT_LOAD = 1
SHF_ALLOC, SHF_EXECINSTR = 2, 4
_APART, _RELOCATING = (0, 8, 11), (4, 9, 19)
"""Sections without content (SHT_NULL, SHT_NOBITS) or of symbols (SHT_DYNSYM), and those that say
what to relocate (SHT_RELA, SHT_REL, SHT_RELR)."""
R_FPTR64LSB, R_DIR64LSB, R_REL64LSB, R_IPLTLSB = 0x47, 0x27, 0x6F, 0x81
_UNWINDING = (".IA_64.unwind", ".IA_64.unwind_info")
DT_PLTGOT, DT_INIT, DT_FINI = 3, 12, 13
WORD = 8  # bytes of an address, and of an entry of a jump table
_RESULT = 4  # the bit of a continuation that says what the handler sets
_IVT, _IVT_SIZE = "ia64_ivt", 0x8000

# Tables of instructions that the kernel writes over: what they are for, and bundles each.  Kernels
# before 2.6.36 have one dot less in their names [RECALL].
_PATCHES = {"vtop": 1, "rse": 1, "mckinley_e9": 2, "phys_stack_reg": 1}
PATCHED = {
    f".data{dots}patch.{name}": bundles
    for dots in ("..", ".")
    for name, bundles in _PATCHES.items()
}
EXCEPTIONS, CHECKS = "__ex_table", "__mca_table"


@dataclass(frozen=True, slots=True)
class Held:
    """Bundles from `start` to before `end` that stay as they are, and why."""

    start: int
    end: int
    reason: str


def words(image: Linked, table: range) -> Addresses:
    """Where the words of a table lead: slots' numbers are added to the addresses of bundles."""
    start = table.start + -table.start % 4
    count = max(table.stop - start, 0) // 4
    raw: NDArray[np.int32] = image.words(start, start + 4 * count, 4).view(np.dtype("<i4"))
    return shifted(shifted(start, 4 * np.arange(count)), raw)


def held(image: Linked) -> Iterator[Held]:
    """The bundles that a kernel's tables name."""
    for name, bundles in PATCHED.items():
        for address in words(image, image.table(name)).tolist():
            start = address - address % BUNDLE
            yield Held(start, start + BUNDLE * bundles, "the kernel writes over it when it boots")
    for address in words(image, image.table(EXCEPTIONS)).tolist():
        start = address - address % BUNDLE
        yield Held(start, start + BUNDLE, "the exception table names it")
    ends = words(image, image.table(CHECKS)).tolist()
    for start, last in zip(ends[::2], ends[1::2], strict=False):
        bundle = last - last % BUNDLE
        yield Held(start - start % BUNDLE, bundle + BUNDLE, "a machine check may go on there")
    for symbol in image.symbols:
        if symbol.name == _IVT and symbol.st_shndx:
            start = symbol.st_value
            yield Held(start, start + _IVT_SIZE, "an interruption vector has its place")


def named(image: Linked) -> Iterator[tuple[str, int]]:
    """Each table of a kernel, and the slots that it names; all of bundles that are written over."""
    for table in (EXCEPTIONS, CHECKS):
        for address in words(image, image.table(table)).tolist():
            yield table, address - (address & _RESULT if table == EXCEPTIONS else 0)
    for table, bundles in PATCHED.items():
        for address in words(image, image.table(table)).tolist():
            start = address - address % BUNDLE
            for bundle in range(start, start + BUNDLE * bundles, BUNDLE):
                yield from ((table, bundle + slot) for slot in range(3))


def relocated(image: Linked) -> dict[int, int]:
    """What the loader makes of words of data, where that is an address of this image."""
    found = {}
    for r in image.relocations:
        if not r.dynamic:
            continue
        if r.r_type == R_REL64LSB:
            found[r.r_offset] = r.r_addend
        elif r.r_type in (R_FPTR64LSB, R_DIR64LSB) and r.added is not None:
            found[r.r_offset] = r.added + r.r_addend
    return found


def pointed(image: Linked, text: Text) -> Addresses:
    """Every address in text that words of data or symbols may be.

    Where a file may be loaded anywhere (ET_DYN), a word is none unless a relocation changes it; a
    file whose addresses are fixed may have them at any byte, in what is packed.
    """
    found = [
        addresses([*called(image), *relocated(image).values()]),
        addresses(s.st_value for s in image.symbols if s.st_shndx or (s.dynamic and s.st_value)),
    ]
    if image.e_type == ET_DYN:
        changed = [r for r in image.relocations if r.dynamic]
        found.append(addresses(r.r_addend % (1 << 64) for r in changed))
        places = addresses(r.r_offset for r in changed)
        found += [values[np.isin(at, places)] for at, values in _data(image)]
    else:
        found += [v for shift in range(WORD) for _, v in _data(image, shift)]
    every = np.concatenate(found)
    return np.unique(every[_inside(text, every)])


def called(image: Linked) -> list[int]:
    """Where a program begins, and what the loader calls at start and end without a symbol."""
    tags = _tags(image)
    return [image.entry % (1 << 64), *(tags[tag] for tag in (DT_INIT, DT_FINI) if tag in tags)]


def words_into(
    image: Linked, relocated: Mapping[int, int], low: int, high: int
) -> Iterator[tuple[int, int]]:
    """The words of data that read like an address behind `low` and before `high`: where, what."""
    yield from ((place, value) for place, value in relocated.items() if low < value < high)
    for places, values in _data(image):
        at = (values > low) & (values < high)
        yield from zip(places[at].tolist(), values[at].tolist(), strict=True)


def distances(image: Linked, text: Text) -> tuple[Addresses, Addresses]:
    """The words of data that read like a distance from themselves to a bundle: where, whereto."""
    places, targets = [], []
    for place, values in _data(image):
        leads = place + values
        at = _inside(text, leads) & (leads % np.uint64(BUNDLE) == 0)
        places.append(place[at])
        targets.append(leads[at])
    if not places:
        none = np.empty(0, dtype=np.uint64)
        return none, none
    return np.concatenate(places), np.concatenate(targets)


def _inside(text: Text, every: Addresses) -> NDArray[np.bool_]:
    """Which addresses are of slots."""
    at = np.minimum(np.searchsorted(text.addresses, every), len(text.addresses) - 1)
    return np.asarray(text.addresses[at] == every)


def _data(image: Linked, shift: int = 0) -> Iterator[tuple[Addresses, Addresses]]:
    """The words of data, with their addresses, which divided by a word's size leave `shift`.

    Data is all that is loaded and no code, of whatever type its section is, but for what symbols,
    relocations and the unwind table say, which is read as such.
    """
    for extent in _sections(image) if image.is_sectioned else _loaded(image):
        start = extent.start + (shift - extent.start) % WORD
        count = max(extent.stop - start, 0) // WORD
        values = image.words(start, start + WORD * count, WORD).astype(np.uint64)
        yield shifted(start, WORD * np.arange(count)), values


def _sections(image: Linked) -> Iterator[range]:
    """The addresses of each section of data."""
    described = {image.table(name).start for name in _UNWINDING}
    apart = _APART if image.e_type != ET_DYN else (*_APART, *_RELOCATING)
    for section in image.sections:
        code = section.sh_flags & SHF_EXECINSTR or not section.sh_flags & SHF_ALLOC
        if not code and section.sh_type not in apart and section.sh_addr not in described:
            yield range(section.sh_addr, section.sh_addr + section.sh_size)


def _loaded(image: Linked) -> Iterator[range]:
    """What of the file is in memory, of one that does not say what is code, but unwind tables."""
    unwound = image.table(_UNWINDING[0])
    for s in image.segments:
        if s.p_type == PT_LOAD:
            loaded = range(s.p_vaddr, s.p_vaddr + s.p_filesz)
            yield range(loaded.start, min(max(unwound.start, loaded.start), loaded.stop))
            yield range(min(max(unwound.stop, loaded.start), loaded.stop), loaded.stop)


def shared_pointer(image: Linked) -> int | None:
    """What gp holds in all code of the file; None where that is not known."""
    for symbol in image.symbols:
        if symbol.name == "__gp" and symbol.st_shndx:
            return symbol.st_value
    return _tags(image).get(DT_PLTGOT)


def _tags(image: Linked) -> dict[int, int]:
    """What the dynamic section says, by its tags."""
    table = image.table(".dynamic")
    stop = table.start + len(table) // WORD * WORD
    pairs: list[int] = image.words(table.start, stop, WORD).tolist() if len(table) else []
    return dict(zip(pairs[::2], pairs[1::2], strict=False))


def led(image: Linked, place: int) -> int:
    """Where a word that is a distance from itself leads."""
    return (place + int.from_bytes(image.read(place, WORD), "little")) % (1 << 64)


def word(place: int, target: int) -> bytes:
    """The word at a place that leads to a target."""
    return ((target - place) % (1 << 64)).to_bytes(WORD, "little")


def entries(image: Linked, text: Text, table: int) -> tuple[int, ...]:
    """Where a table of distances leads, as far as its words lead to bundles."""
    found: list[int] = []
    at = table
    while at % WORD == 0 and image.is_mapped(at) and image.is_mapped(at + WORD - 1):
        place = led(image, at)
        if place % BUNDLE or text.index(place) is None:
            break
        found.append(place)
        at += WORD
    return tuple(found)
