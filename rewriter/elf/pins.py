"""Addresses in text that data, symbols or the unwinder rely on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import Addresses, addresses, contains, holders, shifted
from rewriter.core.code.listing import Listing, among
from rewriter.core.code.program import Function, Pin, extents
from rewriter.core.isa.flow import COMING_BACK, FALLING, To, leading
from rewriter.core.isa.operands import Words
from rewriter.core.target.protocol import Sequential
from rewriter.elf.headers import (
    ET_EXEC,
    PT_LOAD,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_DYNSYM,
    SHT_FINI_ARRAY,
    SHT_INIT_ARRAY,
    SHT_NOBITS,
    SHT_NULL,
    SHT_PREINIT_ARRAY,
    SHT_REL,
    SHT_RELA,
    SHT_RELR,
    Layout,
)
from rewriter.elf.image import Image
from rewriter.elf.linking import (
    CALLED_ARRAYS,
    DT_FINI,
    DT_INIT,
    R_RELR,
    STT_FUNC,
    STT_GNU_IFUNC,
    Symbol,
    tags_of,
)
from rewriter.elf.unwind.entries import Fde
from rewriter.elf.unwind.lsda import lsda_ranges

AT_RUN_TIME = (
    ".gopclntab",
    ".go.buildinfo",
    "xray_instr_map",
    "__patchable_function_entries",
)
"""Sections by which code is found, looked at or written over by its address while it runs.

The Go runtime stops threads anywhere and goes by tables of every instruction (and Go's functions
call each other by a standard of their own); LLVM's XRay and users of -fpatchable-function-entry
write calls over nops.
"""


def known_at_run_time(image: Image) -> str:
    """The name of such a section that a file has, or nothing."""
    return next((s.name for s in image.sections if s.name in AT_RUN_TIME and s.sh_size), "")


def relocated(image: Image, target: Sequential) -> dict[int, int]:
    """What the loader's relocations make of each word, where that is an address of this image."""
    found = {}
    for relocation in image.relocations:
        if relocation.r_type == R_RELR:  # of no machine: the word is an address of this image
            found[relocation.r_offset] = _word(image, relocation.r_offset)
        elif relocation.dynamic:
            place = target.relocated(relocation.r_type, relocation.r_addend, relocation.added)
            if place is not None:
                found[relocation.r_offset] = place % (1 << image.bits)  # addends have signs
    return found


def _word(image: Image, place: int) -> int:
    """A word as it is in the file."""
    return int.from_bytes(image.read(place, image.bits // 8), image.byteorder)


def fixed_words(image: Image, relocated: Mapping[int, int]) -> dict[int, int]:
    """Those of the relocated words that nothing writes once the file is loaded."""
    return {place: value for place, value in relocated.items() if image.is_fixed(place)}


def named_by_code(image: Image) -> Iterator[tuple[int, int]]:
    """What the loader's relocations may make in code: (where, what).

    They spread an address over instructions, each of which has a part of it.
    """
    for relocation in image.loaded_code:
        place = (relocation.added or 0) + relocation.r_addend
        yield relocation.r_offset, place % (1 << image.bits)  # addends have signs


SYMBOL = "symbol "
"""What stands before the name in the reason of a pin by a symbol."""

_AT = " at "

Source = tuple[int, str, str | int]
"""An address, what relies on it, and which one of these: a name, an address, or "" for neither."""


def _sources(
    image: Image,
    functions: Sequence[Function],
    words: Mapping[int, int],
    frames: Iterable[Fde],
) -> Iterator[Source]:
    yield from ((function.start, "function start", "") for function in functions)
    yield image.entry, "entry point", ""
    yield from ((place, "probe", "") for place in image.probes)
    yield from ((image.code_address(s), SYMBOL, s.name) for s in image.symbols if _is_somewhere(s))
    yield from ((place, "called by the loader", "") for place in _called(image, words))
    for frame in frames:
        if frame.lsda is not None:
            for site in lsda_ranges(image, frame):
                if site.landing_pad is not None:
                    yield site.landing_pad, "landing pad", ""


def _is_somewhere(symbol: Symbol) -> bool:
    """Whether a symbol has an address here: its own, or that of a stub which stands for it."""
    return bool(symbol.st_shndx or (symbol.dynamic and symbol.st_value))


def _called(image: Image, words: Mapping[int, int]) -> Iterator[int]:
    """What the loader calls without a symbol: code that runs at start and end, and resolvers.

    A relocation that names no symbol and makes no address that is known of its word may call its
    addend to ask for one (R_*_IRELATIVE, R_PPC64_JMP_IREL).  `words` are what the others make.
    """
    tags = tags_of(image.data, image.segments, Layout(image.bits, image.byteorder))
    resolvers = (
        r.r_addend
        for r in image.relocations
        if r.dynamic and not r.r_sym and r.r_offset not in words
    )
    for place in (*(tags[tag] for tag in (DT_INIT, DT_FINI) if tag in tags), *resolvers):
        yield _code(image, place)


def _code(image: Image, place: int) -> int:
    """Where the code of a function begins that is called at an address."""
    return image.code_address(Symbol("", place, 0, STT_FUNC, 0, 0, 0, True))


def begun(image: Image, words: Mapping[int, int]) -> Iterator[int]:
    """Where code begins that certainly runs, or may: the loader or a symbol of a function says so.

    A symbol without a type may name data, and so may a word.  `words` are what relocations make.
    """
    yield image.entry
    yield _code(image, image.entry)
    yield from _called(image, words)
    size = image.bits // 8
    for start, end in _arrays(image):
        for place in range(start, end - size + 1, size):
            yield _code(image, words.get(place, _word(image, place)))
    named = (s for s in image.symbols if s.st_shndx and s.st_type in (STT_FUNC, STT_GNU_IFUNC))
    yield from map(image.code_address, named)


def _arrays(image: Image) -> Iterator[_Extent]:
    """The arrays of functions that are called at start and end; some are found twice."""
    tags = tags_of(image.data, image.segments, Layout(image.bits, image.byteorder))
    sections = (s for s in image.sections if s.sh_type in _CALLED and s.sh_flags & SHF_ALLOC)
    found = [(s.sh_addr, s.sh_addr + s.sh_size) for s in sections]
    for tag, size in CALLED_ARRAYS.items():
        if tag in tags:
            found.append((tags[tag], tags[tag] + tags.get(size, 0)))
    loaded = list(_loaded(image))
    for first, behind in found:
        if any(start <= first and behind <= end for start, end in loaded):
            yield first, behind


def _words_of_data(
    image: Image, words: Mapping[int, int], listing: Listing, functions: Sequence[Function]
) -> Iterator[Source]:
    for address, place in words.items():
        yield place, "relocated word" + _AT, address
    for address, place in text_words(image, listing, functions):
        yield place, "word" + _AT, address
    for address, place in named_by_code(image):
        yield place, "relocated code" + _AT, address


def _inside(listing: Listing, sources: Sequence[Source]) -> list[bool]:
    """Which of the addresses are in text."""
    found: list[bool] = contains(
        listing.addresses, addresses(place % (1 << 64) for place, _, _ in sources)
    ).tolist()
    return found


def pinned(
    image: Image, listing: Listing, functions: Sequence[Function], words: Mapping[int, int]
) -> set[int]:
    """Every address in text that something outside text names, landing pads and words apart.

    `words` are what relocations make of words.
    """
    found = list(_sources(image, functions, words, ()))
    return {place for place, _, _ in compress(found, _inside(listing, found))}


def relied_on(
    image: Image,
    target: Sequential,
    listing: Listing,
    functions: Sequence[Function],
    frames: Iterable[Fde],
) -> set[Source]:
    """Every address in text that something outside text names, with each that does."""
    words = relocated(image, target)
    found = [
        *_sources(image, functions, words, frames),
        *_words_of_data(image, words, listing, functions),
    ]
    return set(compress(found, _inside(listing, found)))


def pins_of(sources: Iterable[Source]) -> tuple[Pin, ...]:
    """Such addresses with the reasons, ascending."""
    return tuple(Pin(*pin) for pin in sorted((at, why + _shown(of)) for at, why, of in sources))


def kinds_of(sources: Iterable[Source]) -> Counter[str]:
    """How many there are of each kind."""
    return Counter(why.removesuffix(_AT).rstrip() for _, why, _ in sources)


def _shown(which: str | int) -> str:
    return which if isinstance(which, str) else f"{which:#x}"


def text_words(
    image: Image, listing: Listing, functions: Sequence[Function]
) -> Iterator[tuple[int, int]]:
    """Words of data that read like an address in text, whoever put them there: (where, what).

    Data is all that is loaded, of whatever type its section is, also what lies in text and is no
    code of the functions, and all of a file that does not say what is which.  A file whose
    addresses are fixed may have them at any byte, in what is packed.  None of a file that is loaded
    anywhere: its addresses are relocated, and many a number reads like one.
    """
    size = image.bits // 8
    if image.is_placed_anywhere:
        return
    data = list(_sections(image, 0)) if image.sections else list(_loaded(image))
    entered = {function.start for function in functions}
    for shift in range(size if image.e_type == ET_EXEC else 1):
        for start, words in _words(image, data, size, shift):
            for place, what in _in_text(listing, start, size, words.astype(np.uint64)):
                entered.add(what)
                yield place, what
    for start, words in _words(image, _sections(image, SHF_EXECINSTR), size):
        named = list(_in_text(listing, start, size, words.astype(np.uint64)))
        yield from _beside_code(listing, functions, entered, named, size)


def _beside_code(
    listing: Listing,
    functions: Sequence[Function],
    entered: Iterable[int],
    named: Sequence[tuple[int, int]],
    size: int,
) -> Iterator[tuple[int, int]]:
    """Those of some words in text that are no code of a function.

    They are no instructions as a whole, or stand outside functions or where control does not come
    from any place that is `entered`: an address may read like an instruction of a vector unit.
    """
    if not named:
        return
    step = listing.table.size
    places = addresses(place for place, _ in named)
    code = holders(extents(functions), places) >= 0
    code &= _come_to(listing, entered)[listing.addresses.searchsorted(places)]
    for (place, what), is_code in zip(named, code.tolist(), strict=True):
        if not is_code or not all(_reads(listing, at) for at in range(place, place + size, step)):
            yield place, what


def _come_to(listing: Listing, entered: Iterable[int]) -> NDArray[np.bool_]:
    """At which positions control may be: behind places that are entered or branched to."""
    branches = listing.targets[among(listing.flows, leading(To.PLACE))]
    begins = contains(np.union1d(branches, addresses(entered)), listing.addresses)
    goes_on = among(listing.flows, FALLING | COMING_BACK)[:-1]
    goes_on &= np.diff(listing.addresses) == listing.table.size
    known = begins | ~np.concatenate(([False], goes_on))
    last = np.maximum.accumulate(np.where(known, np.arange(len(listing)), 0))
    return np.asarray(begins[last])


def _reads(listing: Listing, address: int) -> bool:
    return listing.has(address) and int(listing.rows[listing.index(address)]) >= 0


_DISTANCE = 4  # bytes


def site_words(image: Image, listing: Listing) -> Iterator[tuple[int, int]]:
    """Words of data that read like the distance from their place to an instruction."""
    for start, words in _words(image, _sections(image, 0), _DISTANCE):
        places = shifted(start, _DISTANCE * np.arange(len(words)))
        distances = words.astype(np.uint32).view(np.int32).astype(np.int64).astype(np.uint64)
        named = (places + distances) & np.uint64((1 << image.bits) - 1)
        yield from _in_text(listing, start, _DISTANCE, named)


_Extent = tuple[int, int]
"""The first address of some bytes of the file, and the one behind them."""


_CALLED = (SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY)
"""Sections of addresses of functions that are called at start and end."""

_APART, _RELOCATING = (SHT_NULL, SHT_NOBITS, SHT_DYNSYM), (SHT_RELA, SHT_REL, SHT_RELR)
"""Sections without content or of symbols, and those that say what to relocate."""


def _sections(image: Image, executable: int) -> Iterator[_Extent]:
    """Those that are loaded with content of their own and have this of SHF_EXECINSTR."""
    # What symbols and relocations say is read as such.
    apart = _APART if image.e_type == ET_EXEC else (*_APART, *_RELOCATING)
    for section in image.sections:
        loaded = section.sh_flags & SHF_ALLOC and section.sh_type not in apart
        here = loaded and section.sh_flags & SHF_EXECINSTR == executable
        if here and image.is_mapped(section.sh_addr):
            yield section.sh_addr, section.sh_addr + section.sh_size


def _loaded(image: Image) -> Iterator[_Extent]:
    """What of the file is in memory, of one without sections."""
    for segment in image.segments:
        if segment.p_type == PT_LOAD:
            yield segment.p_vaddr, segment.p_vaddr + segment.p_filesz


def _words(
    image: Image, extents: Iterable[_Extent], size: int, shift: int = 0
) -> Iterator[tuple[int, Words]]:
    """The words whose places divided by their size leave `shift`, with where the first is."""
    for first, behind in extents:
        start = first + (shift - first) % size
        end = start + max(behind - start, 0) // size * size
        yield start, image.words(start, end, size)


def _in_text(
    listing: Listing, start: int, size: int, named: Addresses
) -> Iterator[tuple[int, int]]:
    """Of words from an address on, each with what it names: those that name an instruction."""
    for n in np.flatnonzero(contains(listing.addresses, named)).tolist():
        yield start + size * n, int(named[n])
