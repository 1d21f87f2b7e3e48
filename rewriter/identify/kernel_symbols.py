"""Symbols as a kernel and `nm` list them: an address, a letter, a name."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from rewriter.elf.image import Image
from rewriter.elf.linking import Symbol

LETTERS = frozenset("AaBbCcDdGgIiNnPpRrSsTtUuVvWw?-")
"""What nm(1) may print as the type of a symbol."""

CODE = frozenset("Tt")
WEAK = frozenset("WwVv")
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
STT_NOTYPE, STT_FUNC = 0, 2
SHN_ABS = 0xFFF1


@dataclass(frozen=True, slots=True, order=True)
class KernelSymbol:
    """One line of System.map or one entry of kallsyms; `letter` is nm's."""

    address: int
    letter: str
    name: str


def as_symbols(found: Iterable[KernelSymbol], image: Image) -> tuple[Symbol, ...]:
    """Entries of .symtab that say the same of `image`, by address.

    Lists have no sizes: what lies in code reaches to the next symbol or to the end of that code,
    padding included. nm's letter does not tell a function from a label, so both are functions.
    """
    ordered = sorted(found)
    addresses = sorted({entry.address for entry in ordered})
    ranges = image.executable_ranges()
    return tuple(_symbol(entry, _size(entry, addresses, ranges), image) for entry in ordered)


def _size(
    entry: KernelSymbol, addresses: list[int], ranges: tuple[tuple[int, int], ...]
) -> int | None:
    """Bytes from a symbol in code to the next one; None outside code."""
    if entry.letter not in CODE | WEAK:
        return None
    end = next((end for start, end in ranges if start <= entry.address < end), None)
    if end is None:
        return None
    following = bisect_right(addresses, entry.address)
    after = addresses[following] if following < len(addresses) else end
    return min(after, end) - entry.address


def _symbol(entry: KernelSymbol, size: int | None, image: Image) -> Symbol:
    bind = STB_GLOBAL if entry.letter.isupper() else STB_LOCAL
    return Symbol(
        name=entry.name,
        st_value=entry.address,
        st_size=size or 0,
        st_type=STT_NOTYPE if size is None else STT_FUNC,
        st_bind=STB_WEAK if entry.letter in WEAK else bind,
        st_other=0,
        st_shndx=_section_of(entry.address, image),
        dynamic=False,
    )


def _section_of(address: int, image: Image) -> int:
    for section in image.sections:
        if section.sh_addr and section.sh_addr <= address < section.sh_addr + section.sh_size:
            return section.index
    return SHN_ABS
