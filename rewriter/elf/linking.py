"""What links an ELF file: its symbols and relocations.

LIEF reads the symbols, also where only the dynamic table leads to them.  Relocation entries are
read from their bytes: LIEF 1.0.0 has no relocation types for Alpha and IA-64 and gives 0xffffffff
for all of them.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile

import numpy as np

from rewriter.core.errors import BadInput
from rewriter.core.run.apart import apart
from rewriter.elf.headers import (
    PT_DYNAMIC,
    PT_LOAD,
    SHF_ALLOC,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_REL,
    SHT_RELA,
    SHT_RELR,
    Headers,
    Layout,
    Section,
    Segment,
    printable,
    want,
)

_DT_NULL, DT_PLTRELSZ, DT_HASH, DT_INIT, DT_FINI = 0, 2, 4, 12, 13
DT_PLTREL, DT_JMPREL = 20, 23
CALLED_ARRAYS = {25: 27, 26: 28, 32: 33}
"""DT_INIT_ARRAY, DT_FINI_ARRAY, DT_PREINIT_ARRAY: the tag of the size of each."""
DYNAMIC_TABLES = {7: (8, SHT_RELA), 17: (18, SHT_REL), 36: (35, SHT_RELR)}
"""DT_RELA, DT_REL, DT_RELR: the tag of its size, and the section type it would have."""

R_RELR = -1
"""`r_type` of an SHT_RELR entry, which has no type of its own: it is the relative one."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """One entry of .dynsym (`dynamic`) or .symtab, in table order with its null entry."""

    name: str
    st_value: int
    st_size: int
    st_type: int
    st_bind: int
    st_other: int
    st_shndx: int
    dynamic: bool


@dataclass(frozen=True, slots=True)
class Relocation:
    """One relocation; `dynamic` when the loader applies it, else left by `ld --emit-relocs`.

    r_addend is 0 for SHT_REL and SHT_RELR, whose addend is the word at r_offset.  `added` is what
    its symbol, which need not have a name, adds to the addend; None where this file defines none.
    """

    r_offset: int
    r_type: int
    r_sym: int
    symbol: str
    r_addend: int
    dynamic: bool
    added: int | None = None


def symbols_of(data: bytes, name: str) -> tuple[Symbol, ...]:
    """The dynamic symbols, then those of .symtab, as LIEF reads them.

    LIEF takes 50 MB, and several times the file to read it: for a large file another process does,
    unless this one has it already.
    """
    large = len(data) >= _LARGE and "lief" not in sys.modules
    read = partial(_read, data, name)
    return tuple(Symbol(*fields) for fields in (apart(read) if large else read()))


def with_counted_symbols(data: bytes, name: str, headers: Headers) -> bytes:
    """The file, where LIEF reads how many dynamic symbols there are.

    Without section headers DT_HASH says so, in its second word.  In some ABIs its words have 64
    bits, and LIEF reads a half of the first one: it gets both words as 32 bits.
    """
    layout, address = headers.layout, tags_of(data, headers.segments, headers.layout).get(DT_HASH)
    words, narrow = layout.record("II", "QQ"), layout.record("II", "II")
    at = [
        s.p_offset + address - s.p_vaddr
        for s in headers.segments
        if s.p_type == PT_LOAD
        and address is not None
        and s.p_vaddr <= address <= s.p_vaddr + s.p_filesz - words.size
    ]
    if not at or any(s.sh_type == SHT_DYNSYM for s in headers.sections):
        return data
    buckets, symbols = words.unpack_from(data, at[0])
    if buckets >= 1 << 32 or not layout.wide:
        return data  # the first two of words of 32 bits, each more than 0
    want(name, "nchain in DT_HASH", symbols, symbols < _MOST_SYMBOLS, f"under {_MOST_SYMBOLS}")
    return data[: at[0]] + narrow.pack(buckets, symbols) + data[at[0] + narrow.size :]


_MOST_SYMBOLS = 1_000_000
"""A library has some ten thousand; a larger count is damaged."""

_LARGE = 1 << 20
_Fields = tuple[str, int, int, int, int, int, int, bool]
"""The fields of a symbol."""


def _read(data: bytes, name: str) -> list[_Fields]:
    return list(_fields(data, name))


def _fields(data: bytes, name: str) -> Iterator[_Fields]:
    # LIEF takes half a second to import: `retune --help` shall not pay for it.
    import lief

    lief.logging.disable()
    config = lief.ELF.ParserConfig()
    config.parse_relocations = config.parse_notes = False
    config.parse_symbol_versions = config.parse_overlay = False
    try:
        binary = lief.ELF.parse(io.BytesIO(data), config)
        if binary is None:
            raise BadInput(f"{name}: LIEF cannot parse it", hint="damaged headers or tables")
        for table, dynamic in ((binary.dynamic_symbols, True), (binary.symtab_symbols, False)):
            for s in table:
                text = s.name
                if isinstance(text, bytes):
                    text = text.decode("utf-8", "backslashreplace")
                # Of a number without a name LIEF would warn on standard error: st_info has both.
                bind, kind = divmod(s.information, 16)
                yield text, s.value, s.size, kind, bind, s.other, s.shndx, dynamic
    except BadInput:
        raise
    except Exception as error:
        # The binding answers damage with RuntimeError, ValueError or SystemError (a symbol type
        # without a name), and promises none of them.
        raise BadInput(f"{name}: LIEF cannot parse it: {printable(str(error))}") from error


def name_of(data: bytes) -> str:
    """The name by which programs ask the loader for a library (DT_SONAME), or nothing."""
    import lief

    lief.logging.disable()
    try:
        binary = lief.ELF.parse(io.BytesIO(data))
        entry = binary.get(lief.ELF.DynamicEntry.TAG.SONAME) if binary is not None else None
        return str(getattr(entry, "name", ""))
    except Exception:  # as above: the binding promises no exception
        return ""


STT_FUNC, STT_GNU_IFUNC = 2, 10
OPD = ".opd"
"""The section of function descriptors, in ABIs that have them."""


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Function descriptors: what a function's symbol names in some ABIs, in the place of its code.

    The first word of one is the address of the code (64-bit ELF ABI for PowerPC, 3.2.5).  They are
    at `addresses`; `filled` are words that the loader fills, by their address.
    """

    addresses: range = range(0)
    filled: Mapping[int, int] = field(default_factory=dict)


def descriptors_of(sections: Iterable[Section], relocations: Iterable[Relocation]) -> Descriptors:
    """The function descriptors of a file, which stand in a section of their own."""
    table = next((s for s in sections if s.name == OPD and s.sh_type != SHT_NOBITS), None)
    if table is None:
        return Descriptors()
    here = range(table.sh_addr, table.sh_addr + table.sh_size)
    inside = (r for r in relocations if r.dynamic and r.r_offset in here)
    filled = {r.r_offset: (r.added or 0) + r.r_addend for r in inside}
    return Descriptors(here, {at: place for at, place in filled.items() if place})


def relocations_of(
    data: bytes, name: str, headers: Headers, symbols: tuple[Symbol, ...]
) -> Iterator[Relocation]:
    """Yield every relocation, of sections or of what the loader is told."""
    tables = {
        dynamic: [(s.name, _added(s, headers)) for s in symbols if s.dynamic == dynamic]
        for dynamic in (True, False)
    }
    # Without section headers the loader's own table must do: a missed relocation is a missed pin.
    for section in headers.sections or _dynamic_tables(data, name, headers):
        content = data[section.sh_offset : section.file_end]
        dynamic = bool(section.sh_flags & SHF_ALLOC)
        if section.sh_type == SHT_RELR:
            yield from _relative(content, headers.layout)
        elif section.sh_type in (SHT_RELA, SHT_REL):
            named = tables[dynamic] or _linked_names(data, headers, section)
            yield from _entries(content, name, headers.layout, section, named, dynamic)


_Named = tuple[str, int | None]
"""What a relocation takes from the symbol table: a name, and what is added to the addend."""


def _added(symbol: Symbol, headers: Headers) -> int | None:
    """What a symbol adds to the addend of a relocation, where this file defines it.

    On 32-bit PowerPC the linker has added the value of a local symbol, as that of a section,
    to the addend, and the loader does not (glibc, sysdeps/powerpc/powerpc32/dl-machine.h,
    elf_machine_rela; binutils, bfd/elf32-ppc.c, ppc_elf_relocate_section).
    """
    if not symbol.st_shndx:
        return None
    in_addend = headers.e_machine == _EM_PPC and symbol.st_bind == _STB_LOCAL
    return 0 if in_addend else symbol.st_value


_EM_PPC, _STB_LOCAL = 20, 0


def _linked_names(data: bytes, headers: Headers, section: Section) -> list[_Named]:
    """The names in the symbol table that a relocation section links to.

    LIEF finds dynamic symbols by PT_DYNAMIC, which a kernel that relocates itself need not have.
    What such a kernel adds is its own affair.
    """
    sections = dict(enumerate(headers.sections))
    table = sections.get(section.sh_link)
    strings = sections.get(table.sh_link) if table is not None else None
    if table is None or strings is None or table.sh_type != SHT_DYNSYM:
        return []
    named = data[strings.sh_offset : strings.file_end]
    content = data[table.sh_offset : table.file_end]
    size = 24 if headers.layout.wide else 16  # Elf64_Sym, Elf32_Sym: st_name comes first
    starts = (
        int.from_bytes(content[at : at + 4], headers.layout.byteorder)
        for at in range(0, len(content) - size + 1, size)
    )
    found = (named[start:].split(b"\0", 1)[0] for start in starts)
    return [(printable(text.decode("utf-8", "backslashreplace")), None) for text in found]


def tags_of(data: bytes, segments: Iterable[Segment], layout: Layout) -> dict[int, int]:
    """The dynamic section, as the loader reads it: the last of each kind, up to the end."""
    entry = layout.record("II", "QQ")
    found: dict[int, int] = {}
    for segment in segments:
        if segment.p_type == PT_DYNAMIC:
            content = data[segment.p_offset : segment.p_offset + segment.p_filesz]
            every = entry.iter_unpack(content[: len(content) // entry.size * entry.size])
            found.update(takewhile(lambda pair: pair[0] != _DT_NULL, every))
    return found


def _dynamic_tables(data: bytes, name: str, headers: Headers) -> Iterator[Section]:
    """Yield what PT_DYNAMIC says of relocation tables, as if sections said it."""
    loads = [s for s in headers.segments if s.p_type == PT_LOAD]
    tags = tags_of(data, headers.segments, headers.layout)
    tables = [(at, size, kind) for at, (size, kind) in DYNAMIC_TABLES.items()]
    tables.append((DT_JMPREL, DT_PLTRELSZ, SHT_RELA if tags.get(DT_PLTREL) == 7 else SHT_REL))
    covered = range(0)
    for tag, size_tag, kind in tables:
        address, size = tags.get(tag), tags.get(size_tag)
        # PowerPC's DT_RELASZ covers DT_JMPREL as well.
        if address is None or not size or address in covered:
            continue
        covered = range(address, address + size)
        inside = [s for s in loads if s.p_vaddr <= address <= s.p_vaddr + s.p_filesz - size]
        want(name, "relocation table in PT_DYNAMIC", address, bool(inside), "it in a segment")
        offset = inside[0].p_offset + address - inside[0].p_vaddr
        yield Section(0, "(dynamic)", kind, SHF_ALLOC, address, offset, size, 0, 0, 0, 0)


def _entries(
    content: bytes,
    name: str,
    layout: Layout,
    section: Section,
    named: list[_Named],
    dynamic: bool,
) -> Iterator[Relocation]:
    order, width = "<" if layout.byteorder == "little" else ">", layout.bits // 8
    fields = [("r_offset", f"{order}u{width}"), ("r_info", f"{order}u{width}")]
    if section.sh_type == SHT_RELA:
        fields.append(("r_addend", f"{order}i{width}"))
    dtype = np.dtype(fields)
    where = f"section {section.index} {section.name}"
    whole = len(content) % dtype.itemsize == 0
    want(name, f"{where} sh_size", len(content), whole, f"a multiple of {dtype.itemsize}")
    table = np.frombuffer(content, dtype)
    shift = 32 if layout.wide else 8
    syms = (table["r_info"] >> shift).tolist()
    types = (table["r_info"] & ((1 << shift) - 1)).tolist()
    addends = table["r_addend"].tolist() if "r_addend" in (dtype.names or ()) else [0] * len(table)
    for offset, r_type, r_sym, addend in zip(
        table["r_offset"].tolist(), types, syms, addends, strict=True
    ):
        if r_sym:
            want(name, f"{where} r_sym", r_sym, r_sym < len(named), f"under {len(named)}")
        symbol, added = named[r_sym] if r_sym else ("", None)
        yield Relocation(offset, r_type, r_sym, symbol, addend, dynamic, added)


def _relative(content: bytes, layout: Layout) -> Iterator[Relocation]:
    """Expand SHT_RELR (gABI): an even word is an address, an odd one a bitmap of what follows."""
    width = layout.bits // 8
    base = 0
    for start in range(0, len(content) - width + 1, width):
        word = int.from_bytes(content[start : start + width], layout.byteorder)
        if word & 1 == 0:
            yield Relocation(word, R_RELR, 0, "", 0, True)
            base = word + width
            continue
        for bit in range(1, layout.bits):
            if word >> bit & 1:
                yield Relocation(base + (bit - 1) * width, R_RELR, 0, "", 0, True)
        base += (layout.bits - 1) * width
