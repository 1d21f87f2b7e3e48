"""A linked ELF file as retune sees it: headers, symbols, relocations, and an address map.

Headers are read here and checked field by field, so that a damaged file is refused with the name
of the field; LIEF then reads the symbols, also where only the dynamic table leads to them.
Relocation entries are read from their bytes: LIEF 1.0.0 has no relocation types for Alpha and
IA-64 and gives 0xffffffff for all of them. Names and numbers are those of the gABI.
"""

from __future__ import annotations

import io
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rewriter.core.addresses import NOWHERE, Addresses, shifted
from rewriter.core.errors import BadInput

ByteOrder: TypeAlias = Literal["little", "big"]
Words: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]

ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4
PT_LOAD, PT_DYNAMIC, PF_X, PN_XNUM = 1, 2, 1, 0xFFFF
SHT_NULL, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL = 0, 3, 4, 7, 8, 9
SHT_DYNSYM, SHT_RELR = 11, 19
SHF_ALLOC, SHF_EXECINSTR = 2, 4
SHN_LORESERVE = 0xFF00

DT_PLTRELSZ, DT_PLTREL, DT_JMPREL = 2, 20, 23
DYNAMIC_TABLES = {7: (8, SHT_RELA), 17: (18, SHT_REL), 36: (35, SHT_RELR)}
"""DT_RELA, DT_REL, DT_RELR: the tag of its size, and the section type it would have."""

R_RELR = -1
"""`r_type` of an SHT_RELR entry, which has no type of its own: it is the relative one."""

FOREIGN = {
    b"!<arch>\n": "an archive (ar); retune works on linked files",
    b"!<thin>\n": "a thin archive (ar); retune works on linked files",
    b"\x1f\x8b": "gzip data; decompress it first",
    b"\xfd7zXZ\x00": "xz data; decompress it first",
    b"BZh": "bzip2 data; decompress it first",
    b"\x28\xb5\x2f\xfd": "zstd data; decompress it first",
    b"#!": "a script, not an ELF file",
    b"MZ": "a PE/COFF image, not an ELF file",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Struct formats of one ELF class and byte order; sizes in bytes."""

    bits: int
    byteorder: ByteOrder

    @property
    def wide(self) -> bool:
        """ELFCLASS64."""
        return self.bits == 64

    def record(self, narrow: str, wide: str) -> struct.Struct:
        """Return the Struct of a record from its 32-bit and its 64-bit format."""
        order = "<" if self.byteorder == "little" else ">"
        return struct.Struct(order + (wide if self.wide else narrow))

    @property
    def ehdr(self) -> struct.Struct:
        """Elf_Ehdr after e_ident."""
        return self.record("HHIIIIIHHHHHH", "HHIQQQIHHHHHH")

    @property
    def phdr(self) -> struct.Struct:
        """Elf_Phdr; its field order differs by class."""
        return self.record("IIIIIIII", "IIQQQQQQ")

    @property
    def shdr(self) -> struct.Struct:
        """Elf_Shdr."""
        return self.record("IIIIIIIIII", "IIQQQQIIQQ")


@dataclass(frozen=True, slots=True)
class Section:
    """One section header."""

    index: int
    name: str
    sh_type: int
    sh_flags: int
    sh_addr: int
    sh_offset: int
    sh_size: int
    sh_link: int
    sh_info: int
    sh_addralign: int
    sh_entsize: int

    @property
    def file_end(self) -> int:
        """File offset after the last byte that the section has in the file."""
        return self.sh_offset + (0 if self.sh_type in (SHT_NULL, SHT_NOBITS) else self.sh_size)


@dataclass(frozen=True, slots=True)
class Segment:
    """One program header."""

    p_type: int
    p_flags: int
    p_offset: int
    p_vaddr: int
    p_filesz: int
    p_memsz: int
    p_align: int


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

    r_addend is 0 for SHT_REL and SHT_RELR, whose addend is the word at r_offset.
    """

    r_offset: int
    r_type: int
    r_sym: int
    symbol: str
    r_addend: int
    dynamic: bool


@dataclass(frozen=True, slots=True)
class Headers:
    """The checked headers of a file, without symbols."""

    layout: Layout
    e_type: int
    e_machine: int
    e_entry: int
    e_phoff: int
    e_shoff: int
    e_flags: int
    e_shstrndx: int
    sections: tuple[Section, ...]
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Image:
    """A linked ELF file; addresses are virtual, offsets are in the file, sizes in bytes."""

    name: str
    data: bytes
    machine: int
    bits: int
    byteorder: ByteOrder
    e_type: int
    entry: int
    sections: tuple[Section, ...]
    segments: tuple[Segment, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]
    e_flags: int = 0

    def section(self, name: str) -> Section | None:
        """Return the first section of that name, or None."""
        return next((s for s in self.sections if s.name == name), None)

    def table(self, name: str) -> range:
        """Return the addresses of the section of that name; empty where there is none."""
        found = self.section(name)
        return range(found.sh_addr, found.sh_addr + found.sh_size) if found else range(0)

    def segment_of(self, address: int) -> Segment | None:
        """Return the PT_LOAD segment whose memory holds `address`, or None."""
        for s in self.segments:
            if s.p_type == PT_LOAD and s.p_vaddr <= address < s.p_vaddr + s.p_memsz:
                return s
        return None

    def is_mapped(self, address: int) -> bool:
        """Whether a loaded segment, zero-filled part included, holds `address`."""
        return self.segment_of(address) is not None

    def read(self, address: int, size: int) -> bytes:
        """Return memory as loaded, before relocation; BadInput when not in one segment."""
        s = self.segment_of(address)
        if s is None or size < 0 or address + size > s.p_vaddr + s.p_memsz:
            raise BadInput(f"{self.name}: no segment holds {size} bytes at {address:#x}")
        start = s.p_offset + address - s.p_vaddr
        return self.data[start : min(start + size, s.p_offset + s.p_filesz)].ljust(size, b"\0")

    def offset_of(self, address: int) -> int:
        """Return the file offset of the byte loaded at `address`; BadInput if there is none."""
        s = self.segment_of(address)
        if s is None or address >= s.p_vaddr + s.p_filesz:
            raise BadInput(f"{self.name}: no byte of the file is loaded at {address:#x}")
        return s.p_offset + address - s.p_vaddr

    def address_of(self, offset: int) -> int:
        """Return the address where the byte at file offset `offset` is loaded, or BadInput."""
        for s in self.segments:
            if s.p_type == PT_LOAD and s.p_offset <= offset < s.p_offset + s.p_filesz:
                return s.p_vaddr + offset - s.p_offset
        raise BadInput(f"{self.name}: the byte at file offset {offset:#x} is not loaded")

    def addresses_of(self, offsets: npt.NDArray[np.int64]) -> Addresses:
        """Return where bytes at file offsets are loaded; NOWHERE for those that are not."""
        addresses = np.full(offsets.shape, NOWHERE, dtype=np.uint64)
        for s in self.segments:
            if s.p_type == PT_LOAD:
                inside = (offsets >= s.p_offset) & (offsets < s.p_offset + s.p_filesz)
                addresses[inside] = shifted(s.p_vaddr, offsets[inside] - s.p_offset)
        return addresses

    def executable_ranges(self) -> tuple[tuple[int, int], ...]:
        """Return (start, end) addresses of code: sections, or PF_X segments without sections."""
        wanted = SHF_ALLOC | SHF_EXECINSTR
        ranges = [
            (s.sh_addr, s.sh_addr + s.sh_size)
            for s in self.sections
            if s.sh_flags & wanted == wanted and s.sh_type != SHT_NOBITS and s.sh_size
        ] or [
            (s.p_vaddr, s.p_vaddr + s.p_filesz)
            for s in self.segments
            if s.p_type == PT_LOAD and s.p_flags & PF_X and s.p_filesz
        ]
        return tuple(sorted(ranges))

    def words(self, start: int, end: int, size: int) -> Words:
        """Return [start, end) as unsigned words of `size` bytes: a read-only view of the file."""
        if size not in (1, 2, 4, 8) or end < start or (end - start) % size:
            raise ValueError(f"no words of {size} bytes in {start:#x}..{end:#x}")
        dtype = np.dtype(f"u{size}").newbyteorder(self.byteorder)
        if start == end:
            return np.empty(0, dtype)
        offset = self.offset_of(start)
        if self.offset_of(end - 1) - offset != end - 1 - start:
            raise BadInput(f"{self.name}: {start:#x}..{end:#x} is not in one segment")
        return np.frombuffer(self.data, dtype, (end - start) // size, offset)


def load(path: str | os.PathLike[str]) -> Image:
    """Read and parse a file; anything wrong with it is BadInput."""
    name = printable(os.fspath(path))
    try:
        # Opening a FIFO would wait for a writer for ever.
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise BadInput(f"{name}: is a directory")
        if not stat.S_ISREG(mode):
            raise BadInput(f"{name}: is not a regular file")
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{name}: cannot be read: {reason}") from error
    return parse(data, name)


def parse(data: bytes, name: str) -> Image:
    """Parse the bytes of a file called `name`; anything wrong with them is BadInput."""
    name = printable(name)
    headers = read_headers(data, name)
    symbols = tuple(_symbols(data, name))
    return Image(
        name=name,
        data=data,
        machine=headers.e_machine,
        bits=headers.layout.bits,
        byteorder=headers.layout.byteorder,
        e_type=headers.e_type,
        entry=headers.e_entry,
        sections=headers.sections,
        segments=headers.segments,
        symbols=symbols,
        relocations=tuple(_relocations(data, name, headers, symbols)),
        e_flags=headers.e_flags,
    )


def printable(name: str) -> str:
    """Return a file name fit for one line of text."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def read_headers(data: bytes, name: str) -> Headers:
    """Read and check ELF header, program headers and section headers; BadInput names the field."""
    layout = _identify(data, name)
    ehdr = layout.ehdr
    if len(data) < 16 + ehdr.size:
        raise BadInput(f"{name}: truncated: {len(data)} bytes, the ELF header has {16 + ehdr.size}")
    (
        e_type, e_machine, e_version, e_entry, e_phoff, e_shoff, e_flags,
        e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx,
    ) = ehdr.unpack_from(data, 16)  # fmt: skip
    if e_type == ET_REL:
        raise BadInput(f"{name}: not linked; retune works on executables and shared libraries")
    _want(name, "e_type", e_type, e_type in (ET_EXEC, ET_DYN), "2 (EXEC) or 3 (DYN)")
    _want(name, "e_version", e_version, e_version == 1, "1")
    _want(name, "e_ehsize", e_ehsize, e_ehsize == 16 + ehdr.size, str(16 + ehdr.size))
    _want(name, "e_phnum", e_phnum, 0 < e_phnum < PN_XNUM, "1 to 65534 program headers")
    sizes = {"e_phentsize": (e_phentsize, layout.phdr.size)}
    if e_shnum or e_shoff:
        sizes["e_shentsize"] = (e_shentsize, layout.shdr.size)
    for field, (value, size) in sizes.items():
        _want(name, field, value, value == size, str(size))
    _inside(name, "e_phoff", e_phoff, e_phnum * e_phentsize, len(data))
    segments = tuple(_segments(data, name, layout, e_phoff, e_phnum))
    sections: tuple[Section, ...] = ()
    if e_shnum or e_shoff:
        _want(name, "e_shnum", e_shnum, 0 < e_shnum < SHN_LORESERVE, "1 to 65279 sections")
        _inside(name, "e_shoff", e_shoff, e_shnum * e_shentsize, len(data))
        sections = _sections(data, name, layout, e_shoff, e_shnum, e_shstrndx)
    return Headers(
        layout, e_type, e_machine, e_entry, e_phoff, e_shoff, e_flags, e_shstrndx,
        sections, segments,
    )  # fmt: skip


def _identify(data: bytes, name: str) -> Layout:
    if not data:
        raise BadInput(f"{name}: is empty")
    for magic, what in FOREIGN.items():
        if data.startswith(magic):
            raise BadInput(f"{name}: is {what}")
    if not data.startswith(b"\x7fELF"):
        raise BadInput(f"{name}: not an ELF file: it starts with {data[:4].hex()}, not 7f454c46")
    if len(data) < 16:
        raise BadInput(f"{name}: truncated: {len(data)} bytes, e_ident alone has 16")
    ei_class, ei_data, ei_version = data[4:7]
    _want(name, "e_ident[EI_CLASS]", ei_class, ei_class in (1, 2), "1 (32-bit) or 2 (64-bit)")
    _want(name, "e_ident[EI_DATA]", ei_data, ei_data in (1, 2), "1 (little) or 2 (big endian)")
    _want(name, "e_ident[EI_VERSION]", ei_version, ei_version == 1, "1")
    return Layout(32 * ei_class, "little" if ei_data == 1 else "big")


def _want(name: str, field: str, value: int, good: bool, wanted: str) -> None:
    if not good:
        raise BadInput(f"{name}: {field} is {value:#x}, expected {wanted}")


def _inside(name: str, field: str, offset: int, size: int, total: int) -> None:
    if offset + size > total:
        raise BadInput(
            f"{name}: {field} {offset:#x} + {size:#x} bytes is outside the file ({total:#x} bytes)",
            hint="truncated or damaged",
        )


def _segments(
    data: bytes, name: str, layout: Layout, e_phoff: int, e_phnum: int
) -> Iterator[Segment]:
    phdr = layout.phdr
    table = data[e_phoff : e_phoff + e_phnum * phdr.size]
    for i, fields in enumerate(phdr.iter_unpack(table)):
        if layout.wide:
            p_type, p_flags, p_offset, p_vaddr, _, p_filesz, p_memsz, p_align = fields
        else:
            p_type, p_offset, p_vaddr, _, p_filesz, p_memsz, p_flags, p_align = fields
        if p_filesz:
            _inside(name, f"segment {i} p_offset", p_offset, p_filesz, len(data))
        if p_type == PT_LOAD:
            _want(name, f"segment {i} p_memsz", p_memsz, p_memsz >= p_filesz, "p_filesz or more")
            top = p_vaddr + p_memsz <= 1 << layout.bits
            _want(name, f"segment {i} p_vaddr", p_vaddr, top, "p_vaddr + p_memsz in the space")
        yield Segment(p_type, p_flags, p_offset, p_vaddr, p_filesz, p_memsz, p_align)


def _sections(
    data: bytes, name: str, layout: Layout, e_shoff: int, e_shnum: int, e_shstrndx: int
) -> tuple[Section, ...]:
    shdr = layout.shdr
    _want(name, "e_shstrndx", e_shstrndx, e_shstrndx < e_shnum, f"less than e_shnum {e_shnum}")
    rows = list(shdr.iter_unpack(data[e_shoff : e_shoff + e_shnum * shdr.size]))
    names_type, names_offset, names_size = (rows[e_shstrndx][i] for i in (1, 4, 5))
    named = names_type == SHT_STRTAB or e_shstrndx == 0
    _want(name, "e_shstrndx", e_shstrndx, named, f"a string table, not sh_type {names_type:#x}")
    _inside(name, "section names' sh_offset", names_offset, names_size, len(data))
    names = data[names_offset : names_offset + names_size] if e_shstrndx else b""
    return tuple(_section(data, name, names, i, row) for i, row in enumerate(rows))


def _section(data: bytes, name: str, names: bytes, index: int, row: tuple[int, ...]) -> Section:
    sh_name, sh_type, _, _, sh_offset, sh_size, *_ = row
    if sh_name:
        _want(name, f"section {index} sh_name", sh_name, sh_name < len(names), "a name in the file")
    text = names[sh_name:].split(b"\0", 1)[0].decode("ascii", "backslashreplace")
    text = printable(text)
    if sh_type not in (SHT_NULL, SHT_NOBITS) and sh_size:
        _inside(name, f"section {index} {text} sh_offset", sh_offset, sh_size, len(data))
    return Section(index, text, *row[1:])


def _symbols(data: bytes, name: str) -> Iterator[Symbol]:
    """Yield the dynamic symbols, then those of .symtab, as LIEF reads them."""
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
                yield Symbol(
                    text, s.value, s.size, int(s.type), int(s.binding), s.other, s.shndx, dynamic
                )
    except BadInput:
        raise
    except Exception as error:
        # The binding answers damage with RuntimeError, ValueError or SystemError (a symbol type
        # without a name), and promises none of them.
        raise BadInput(f"{name}: LIEF cannot parse it: {printable(str(error))}") from error


def _relocations(
    data: bytes, name: str, headers: Headers, symbols: tuple[Symbol, ...]
) -> Iterator[Relocation]:
    tables = {
        True: [s.name for s in symbols if s.dynamic],
        False: [s.name for s in symbols if not s.dynamic],
    }
    # Without section headers the loader's own table must do: a missed relocation is a missed pin.
    for section in headers.sections or _dynamic_tables(data, name, headers):
        content = data[section.sh_offset : section.file_end]
        dynamic = bool(section.sh_flags & SHF_ALLOC)
        if section.sh_type == SHT_RELR:
            yield from _relative(content, headers.layout)
        elif section.sh_type in (SHT_RELA, SHT_REL):
            names = tables[dynamic] or _linked_names(data, headers, section)
            yield from _entries(content, name, headers.layout, section, names, dynamic)


def _linked_names(data: bytes, headers: Headers, section: Section) -> list[str]:
    """The names in the symbol table that a relocation section links to.

    LIEF finds dynamic symbols by PT_DYNAMIC, which a kernel that relocates itself need not have.
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
    return [printable(text.decode("utf-8", "backslashreplace")) for text in found]


def _dynamic_tables(data: bytes, name: str, headers: Headers) -> Iterator[Section]:
    """Yield what PT_DYNAMIC says of relocation tables, as if sections said it."""
    layout, loads = headers.layout, [s for s in headers.segments if s.p_type == PT_LOAD]
    entry = layout.record("II", "QQ")
    found = [s for s in headers.segments if s.p_type == PT_DYNAMIC and s.p_filesz]
    content = data[found[0].p_offset : found[0].p_offset + found[0].p_filesz] if found else b""
    tags = dict(entry.iter_unpack(content[: len(content) // entry.size * entry.size]))
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
        _want(name, "relocation table in PT_DYNAMIC", address, bool(inside), "it in a segment")
        offset = inside[0].p_offset + address - inside[0].p_vaddr
        yield Section(0, "(dynamic)", kind, SHF_ALLOC, address, offset, size, 0, 0, 0, 0)


def _entries(
    content: bytes,
    name: str,
    layout: Layout,
    section: Section,
    names: list[str],
    dynamic: bool,
) -> Iterator[Relocation]:
    order, width = "<" if layout.byteorder == "little" else ">", layout.bits // 8
    fields = [("r_offset", f"{order}u{width}"), ("r_info", f"{order}u{width}")]
    if section.sh_type == SHT_RELA:
        fields.append(("r_addend", f"{order}i{width}"))
    dtype = np.dtype(fields)
    where = f"section {section.index} {section.name}"
    whole = len(content) % dtype.itemsize == 0
    _want(name, f"{where} sh_size", len(content), whole, f"a multiple of {dtype.itemsize}")
    table = np.frombuffer(content, dtype)
    shift = 32 if layout.wide else 8
    syms = (table["r_info"] >> shift).tolist()
    types = (table["r_info"] & ((1 << shift) - 1)).tolist()
    addends = table["r_addend"].tolist() if "r_addend" in (dtype.names or ()) else [0] * len(table)
    for offset, r_type, r_sym, addend in zip(
        table["r_offset"].tolist(), types, syms, addends, strict=True
    ):
        if r_sym:
            _want(name, f"{where} r_sym", r_sym, r_sym < len(names), f"under {len(names)}")
        yield Relocation(offset, r_type, r_sym, names[r_sym] if r_sym else "", addend, dynamic)


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
