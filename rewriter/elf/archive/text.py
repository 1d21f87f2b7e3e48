"""Code with the names that stand in it, from linked files and from relocatable objects alike."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from rewriter.core.errors import BadInput
from rewriter.core.target.ident import Ident, ident_of
from rewriter.elf.archive.members import Part, parts
from rewriter.elf.headers import (
    ET_REL,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHN_LORESERVE,
    SHT_NOBITS,
    SHT_REL,
    SHT_RELA,
    Layout,
)
from rewriter.elf.image import Image, parse
from rewriter.elf.linking import OPD
from rewriter.elf.unwind import entries as unwind

_STT_NOTYPE, _STT_FUNC, _STB_LOCAL = 0, 2, 0
_CODE = (_STT_NOTYPE, _STT_FUNC)  # assembly often gives no type
_SHT_SYMTAB = 2


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """A symbol in a text: offset from the text's start and size in bytes, zero if not said.

    `begins` says that a function begins there: assembly has plain labels, too.
    """

    offset: int
    size: int
    name: str
    begins: bool


@dataclass(frozen=True, slots=True)
class Text:
    """A stretch of code.

    `fields` are (offset, type) of the relocations that a linker has yet to apply; `bounds` are
    offsets at which some function begins.
    """

    data: bytes
    start: int
    symbols: tuple[Named, ...]
    bounds: tuple[int, ...]
    fields: tuple[tuple[int, int], ...]


class _Symbol(NamedTuple):
    """A record of the symbol table."""

    name: str
    st_type: int
    st_bind: int
    section: int
    value: int
    size: int


@dataclass(frozen=True, slots=True)
class Texts:
    """All code of one ELF file, and what made it, as its .comment says."""

    ident: Ident
    compiler: str
    texts: tuple[Text, ...]


def first_ident(data: bytes, name: str) -> Ident:
    """What the first ELF file inside is for; BadInput when there is none."""
    for part in parts(data, name):
        found = ident_of(part.data)
        if found is not None:
            return found
    raise BadInput(f"{name}: holds no ELF file")


def read(part: Part, name: str) -> Texts:
    """The code of an ELF file, linked or not; BadInput."""
    data = part.data
    inside = part.inside if part.inside.startswith("(") or not part.inside else f"({part.inside})"
    label = name + inside
    if len(data) < 64 or data[4] not in (1, 2) or data[5] not in (1, 2):
        raise BadInput(f"{label}: ELF header is damaged")
    layout = Layout(32 * data[4], "little" if data[5] == 1 else "big")
    e_type = struct.unpack_from("<H" if layout.byteorder == "little" else ">H", data, 16)[0]
    return _Object(data, label, layout).read() if e_type == ET_REL else _linked(parse(data, label))


def _linked(image: Image) -> Texts:
    try:
        starts = {frame.start for frame in unwind.frames(image)}
    except BadInput:
        starts = set()
    found = []
    code = [s for s in image.symbols if s.st_type in _CODE and s.st_shndx and s.name]
    places = [image.code_address(s) for s in code]
    for start, end in image.executable_ranges():
        symbols = {
            Named(at - start, s.st_size, s.name, _begins(s.st_type, s.st_bind, s.st_size))
            for at, s in zip(places, code, strict=True)
            if start <= at < end
        }
        bounds = {at - start for at in starts if start <= at < end}
        found.append(_text(image.read(start, end - start), start, symbols, bounds, ()))
    comment = image.section(".comment")
    said = image.data[comment.sh_offset : comment.file_end] if comment else b""
    return Texts(image.ident, _compiler(said), tuple(found))


def _text(
    data: bytes,
    start: int,
    symbols: set[Named],
    bounds: set[int],
    fields: tuple[tuple[int, int], ...],
) -> Text:
    every = bounds | {symbol.offset for symbol in symbols if symbol.begins}
    return Text(data, start, tuple(sorted(symbols)), tuple(sorted(every)), fields)


def _begins(st_type: int, st_bind: int, st_size: int) -> bool:
    return st_type == _STT_FUNC or st_bind != _STB_LOCAL or st_size > 0


def _compiler(comment: bytes) -> str:
    """The texts of a .comment, each once."""
    texts = (t.decode("ascii", "backslashreplace").strip() for t in comment.split(b"\0"))
    return "; ".join(dict.fromkeys(t for t in texts if t.isprintable() and t))


class _Object:
    """A relocatable object: sections instead of addresses, relocations still to be applied."""

    def __init__(self, data: bytes, name: str, layout: Layout) -> None:
        self.data, self.name, self.layout = data, name, layout
        ehdr = self._records(16, 1, layout.ehdr)[0]
        self.ident = Ident(ehdr[1], layout.bits, layout.byteorder, ehdr[6])
        e_shoff, e_shnum, self.names = ehdr[5], ehdr[11], ehdr[12]
        if e_shnum >= SHN_LORESERVE:
            raise BadInput(f"{name}: e_shnum {e_shnum:#x} is too large")
        self.sections = self._records(e_shoff, e_shnum, layout.shdr)

    def read(self) -> Texts:
        """Every section of code."""
        symbols = self._symbols()
        fields = self._fields()
        wanted, found, comment = SHF_ALLOC | SHF_EXECINSTR, [], b""
        for index, section in enumerate(self.sections):
            if section[1] == SHT_NOBITS:
                continue
            if self._name(section) == ".comment":
                comment = self._content(section)
            if section[2] & wanted == wanted and section[5]:
                content = self._content(section)
                inside = {s for at, s in symbols if at == index and s.offset < len(content)}
                found.append(_text(content, 0, inside, set(), tuple(fields.get(index, ()))))
        return Texts(self.ident, _compiler(comment), tuple(found))

    def _symbols(self) -> set[tuple[int, Named]]:
        """Code by the section it is in: what a symbol names, or what its descriptor does."""
        described = self._described()
        found = set()
        for symbol in self._records_of_symbols():
            if symbol.st_type in _CODE and 0 < symbol.section < SHN_LORESERVE and symbol.name:
                at = symbol.section, symbol.value
                section, offset = described.get(at, at) if symbol.st_type == _STT_FUNC else at
                begins = _begins(symbol.st_type, symbol.st_bind, symbol.size)
                found.add((section, Named(offset, symbol.size, symbol.name, begins)))
        return found

    def _records_of_symbols(self) -> list[_Symbol]:
        """The symbol table in its order."""
        found = []
        record = self.layout.record("IIIBBH", "IBBHQQ")
        for section in self.sections:
            if section[1] != _SHT_SYMTAB:
                continue
            strings = self._content(self._section(section[6]))
            count = section[5] // record.size
            for fields in self._records(section[4], count, record):
                if self.layout.wide:
                    st_name, st_info, _, st_shndx, st_value, st_size = fields
                else:
                    st_name, st_value, st_size, st_info, _, st_shndx = fields
                name = strings[st_name:].split(b"\0", 1)[0].decode("ascii", "backslashreplace")
                found.append(_Symbol(name, st_info & 15, st_info >> 4, st_shndx, st_value, st_size))
        return found

    def _described(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Section and offset of the code that each function descriptor will name."""
        table = {n for n, section in enumerate(self.sections) if self._name(section) == OPD}
        symbols = self._records_of_symbols() if table else []
        found = {}
        for section in self.sections:
            if section[1] != SHT_RELA or section[7] not in table or not self.layout.wide:
                continue
            record = self.layout.record("III", "QQQ")
            count = section[5] // record.size
            for offset, info, addend in self._records(section[4], count, record):
                number = info >> 32
                if 0 < number < len(symbols):  # that of the other word names nothing
                    symbol = symbols[number]
                    where = symbol.section, (symbol.value + addend) % (1 << 64)
                    found[section[7], offset] = where
        return found

    def _fields(self) -> dict[int, list[tuple[int, int]]]:
        """(offset, type) of the relocations of each section."""
        found: dict[int, list[tuple[int, int]]] = {}
        for section in self.sections:
            if section[1] in (SHT_REL, SHT_RELA):
                narrow, wide = ("III", "QQQ") if section[1] == SHT_RELA else ("II", "QQ")
                record = self.layout.record(narrow, wide)
                bits = (1 << 32) - 1 if self.layout.wide else 0xFF
                entries = self._records(section[4], section[5] // record.size, record)
                found.setdefault(section[7], []).extend((e[0], e[1] & bits) for e in entries)
        return found

    def _name(self, section: tuple[int, ...]) -> str:
        strings = self._content(self._section(self.names))
        return strings[section[0] :].split(b"\0", 1)[0].decode("ascii", "backslashreplace")

    def _section(self, index: int) -> tuple[int, ...]:
        if index >= len(self.sections):
            raise BadInput(f"{self.name}: section {index} is named, there are {len(self.sections)}")
        return self.sections[index]

    def _content(self, section: tuple[int, ...]) -> bytes:
        return self._bytes(section[4], section[5])

    def _records(self, offset: int, count: int, record: struct.Struct) -> list[tuple[int, ...]]:
        return list(record.iter_unpack(self._bytes(offset, count * record.size)))

    def _bytes(self, offset: int, size: int) -> bytes:
        if offset + size > len(self.data):
            raise BadInput(
                f"{self.name}: {size:#x} bytes at {offset:#x} are outside the file",
                hint="truncated or damaged",
            )
        return self.data[offset : offset + size]
