"""ELF headers, read and checked field by field.

A damaged file is refused with the name of the field.  Names and numbers are those of the gABI.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rewriter.core.errors import BadInput
from rewriter.core.readings.machine import ByteOrder

ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_PHDR, PT_GNU_RELRO = 1, 2, 3, 4, 6, 0x6474E552
PT_IA_64_UNWIND = 0x70000001
PF_X, PF_W, PN_XNUM = 1, 2, 0xFFFF
SHT_NULL, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL = 0, 3, 4, 7, 8, 9
SHT_DYNSYM, SHT_RELR = 11, 19
SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY = 14, 15, 16
SHF_ALLOC, SHF_EXECINSTR = 2, 4
SHN_LORESERVE = 0xFF00

FOREIGN = {
    b"!<arch>\ndebian-binary": "a Debian package; `retune batch FILE -o DIR` retunes what is in it",
    b"\xed\xab\xee\xdb": "an rpm package; its build tree is retuned, by brp-retune",
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


class WithSections(Protocol):
    """A file, and its sections by name."""

    @property
    def name(self) -> str: ...
    @property
    def data(self) -> bytes: ...
    @property
    def bits(self) -> int: ...
    @property
    def byteorder(self) -> ByteOrder: ...
    @property
    def sections(self) -> Sequence[Section]: ...

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        ...


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
    want(name, "e_type", e_type, e_type in (ET_EXEC, ET_DYN), "2 (EXEC) or 3 (DYN)")
    want(name, "e_version", e_version, e_version == 1, "1")
    want(name, "e_ehsize", e_ehsize, e_ehsize == 16 + ehdr.size, str(16 + ehdr.size))
    want(name, "e_phnum", e_phnum, 0 < e_phnum < PN_XNUM, "1 to 65534 program headers")
    sizes = {"e_phentsize": (e_phentsize, layout.phdr.size)}
    if e_shnum or e_shoff:
        sizes["e_shentsize"] = (e_shentsize, layout.shdr.size)
    for field, (value, size) in sizes.items():
        want(name, field, value, value == size, str(size))
    inside(name, "e_phoff", e_phoff, e_phnum * e_phentsize, len(data))
    segments = tuple(_segments(data, name, layout, e_phoff, e_phnum))
    sections: tuple[Section, ...] = ()
    if e_shnum or e_shoff:
        want(name, "e_shnum", e_shnum, 0 < e_shnum < SHN_LORESERVE, "1 to 65279 sections")
        inside(name, "e_shoff", e_shoff, e_shnum * e_shentsize, len(data))
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
    want(name, "e_ident[EI_CLASS]", ei_class, ei_class in (1, 2), "1 (32-bit) or 2 (64-bit)")
    want(name, "e_ident[EI_DATA]", ei_data, ei_data in (1, 2), "1 (little) or 2 (big endian)")
    want(name, "e_ident[EI_VERSION]", ei_version, ei_version == 1, "1")
    return Layout(32 * ei_class, "little" if ei_data == 1 else "big")


def want(name: str, field: str, value: int, good: bool, wanted: str) -> None:
    """Refuses a file in which a field has a value that is not good."""
    if not good:
        raise BadInput(f"{name}: {field} is {value:#x}, expected {wanted}")


def inside(name: str, field: str, offset: int, size: int, total: int) -> None:
    """Refuses a file that does not hold what a field says."""
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
            inside(name, f"segment {i} p_offset", p_offset, p_filesz, len(data))
        if p_type == PT_LOAD:
            want(name, f"segment {i} p_memsz", p_memsz, p_memsz >= p_filesz, "p_filesz or more")
            top = p_vaddr + p_memsz <= 1 << layout.bits
            want(name, f"segment {i} p_vaddr", p_vaddr, top, "p_vaddr + p_memsz in the space")
        yield Segment(p_type, p_flags, p_offset, p_vaddr, p_filesz, p_memsz, p_align)


def _sections(
    data: bytes, name: str, layout: Layout, e_shoff: int, e_shnum: int, e_shstrndx: int
) -> tuple[Section, ...]:
    shdr = layout.shdr
    want(name, "e_shstrndx", e_shstrndx, e_shstrndx < e_shnum, f"less than e_shnum {e_shnum}")
    rows = list(shdr.iter_unpack(data[e_shoff : e_shoff + e_shnum * shdr.size]))
    names_type, names_offset, names_size = (rows[e_shstrndx][i] for i in (1, 4, 5))
    named = names_type == SHT_STRTAB or e_shstrndx == 0
    want(name, "e_shstrndx", e_shstrndx, named, f"a string table, not sh_type {names_type:#x}")
    inside(name, "section names' sh_offset", names_offset, names_size, len(data))
    names = data[names_offset : names_offset + names_size] if e_shstrndx else b""
    return tuple(_section(data, name, layout, names, i, row) for i, row in enumerate(rows))


def _section(
    data: bytes, name: str, layout: Layout, names: bytes, index: int, row: tuple[int, ...]
) -> Section:
    sh_name, sh_type, _, _, sh_offset, sh_size, *_ = row
    if sh_name:
        want(name, f"section {index} sh_name", sh_name, sh_name < len(names), "a name in the file")
    text = names[sh_name:].split(b"\0", 1)[0].decode("ascii", "backslashreplace")
    text = printable(text)
    if sh_type not in (SHT_NULL, SHT_NOBITS) and sh_size:
        inside(name, f"section {index} {text} sh_offset", sh_offset, sh_size, len(data))
    if row[2] & SHF_ALLOC:
        top = row[3] + sh_size <= 1 << layout.bits
        want(name, f"section {index} {text} sh_addr", row[3], top, "sh_addr + sh_size in the space")
    return Section(index, text, *row[1:])
