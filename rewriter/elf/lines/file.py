"""What a file says of source lines, and the file with other lines.

New opcodes take the place of the old ones where they fit; if a unit's do not, the whole section
moves to the end of the file: its header follows, and so do the offsets by which units of debug
information name their lines.  The old bytes stay where they are, and nobody reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rewriter.core.errors import BadInput
from rewriter.elf.dwarf import byte_format
from rewriter.elf.headers import SHF_ALLOC, SHT_NOBITS, Section, read_headers
from rewriter.elf.image import Image
from rewriter.elf.lines.table import NAME, Lines, Unit, units
from rewriter.elf.lines.units import line_offsets

SHF_COMPRESSED = 0x800
OTHERS = (".stab", ".mdebug", ".debug", ".line", ".zdebug_line")
"""Sections of other kinds of debug information with lines, which are not read."""

Part = tuple[int, int]
"""A sequence: the number of its unit and its own there."""


@dataclass(frozen=True)
class LineTable:
    """The lines of a file."""

    image: Image
    section: Section
    units: tuple[Unit, ...]

    @property
    def content(self) -> bytes:
        """The bytes of the section."""
        return self.image.data[self.section.sh_offset : self.section.file_end]

    @cached_property
    def named(self) -> tuple[tuple[int, int], ...]:
        """Where debug information names a unit, and its offset; BadInput if that is not known."""
        found, starts = line_offsets(self.image), {unit.offset for unit in self.units}
        if not {offset for _, offset in found} <= starts:
            raise BadInput(f"{self.image.name}: {NAME} has no unit where one is named")
        return found

    @cached_property
    def unwritten(self) -> str:
        """Why no other rows can be written, or nothing."""
        if self.image.section(".debug_frame") is not None:
            return f"{self.image.name}: .debug_frame is not written"
        try:
            _ = self.named
        except BadInput as strange:
            return str(strange)
        return ""

    @cached_property
    def _parts(self) -> list[tuple[Part, Lines]]:
        return [
            ((number, at), lines)
            for number, unit in enumerate(self.units)
            for at, lines in enumerate(unit.parts)
            if lines.rows
        ]

    @cached_property
    def _bounds(self) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
        pairs = [(lines.start, lines.end) for _, lines in self._parts]
        return np.array(pairs, dtype=np.uint64).reshape(-1, 2)

    def touching(self, start: int, end: int) -> list[tuple[Part, Lines]]:
        """The sequences with some of [start, end)."""
        low, high = np.uint64(start), np.uint64(end)
        found = (self._bounds[:, 0] < high) & (self._bounds[:, 1] > low)
        return [self._parts[n] for n in np.flatnonzero(found).tolist()]


def line_table(image: Image) -> LineTable | None:
    """The lines of a file; None where it has none, BadInput where they are not understood."""
    for name in OTHERS:
        if image.section(name) is not None:
            raise BadInput(f"{image.name}: {name} is not read")
    section = image.section(NAME)
    if section is None or section.sh_type == SHT_NOBITS or not section.sh_size:
        return None
    for name in (NAME, ".debug_info", ".debug_abbrev"):
        found = image.section(name)
        if found is not None and found.sh_flags & (SHF_COMPRESSED | SHF_ALLOC):
            raise BadInput(f"{image.name}: {name} is compressed or loaded")
    if image.byteorder != "little":
        raise BadInput(f"{image.name}: {NAME} of this byte order is not written")
    return LineTable(image, section, units(image, section.sh_offset, section.sh_size))


def with_lines(data: bytes, table: LineTable, new: Mapping[Part, Lines]) -> bytes:
    """A file with other rows in some sequences; `data` has the original's table so far."""
    if not new:
        return data
    image, section, (content, starts) = table.image, table.section, _content(table, new)
    if len(content) == section.sh_size:
        return data[: section.sh_offset] + content + data[section.file_end :]
    out = bytearray(data)
    form = byte_format("I", image.byteorder)
    for at, offset in table.named:
        form.pack_into(out, at, starts[offset])
    _place(out, image, len(out), len(content))
    return bytes(out + content)


def _content(table: LineTable, new: Mapping[Part, Lines]) -> tuple[bytes, dict[int, int]]:
    """The section, and where the unit that began at each offset begins in it."""
    image = table.image
    form, out, starts = byte_format("I", image.byteorder), bytearray(), dict[int, int]()
    for number, unit in enumerate(table.units):
        starts[unit.offset] = len(out)
        parts = [new.get((number, at), lines) for at, lines in enumerate(unit.parts)]
        old = table.content[unit.offset : unit.end]
        if parts == list(unit.parts):
            out += old
            continue
        head = unit.program - unit.offset
        code = unit.encoded(parts, image.bits // 8)
        out += form.pack(head + len(code) - form.size) + old[form.size : head] + code
    return bytes(out), starts


def _place(out: bytearray, image: Image, offset: int, size: int) -> None:
    """Writes another place and size into the section's header."""
    headers = read_headers(bytes(out), image.name)
    section = _lines_of(headers.sections)
    assert section is not None
    at = headers.e_shoff + headers.layout.shdr.size * section.index
    row = list(headers.layout.shdr.unpack_from(out, at))
    row[4:6] = offset, size
    headers.layout.shdr.pack_into(out, at, *row)


def _lines_of(sections: Sequence[Section]) -> Section | None:
    return next((s for s in sections if s.name == NAME), None)


def without_grown(data: bytes, old: Image) -> bytes:
    """A file as `with_lines` was given it, in all but what was written in place."""
    was = old.section(NAME)
    if was is None or len(data) <= len(old.data):
        return data
    try:
        now = _lines_of(read_headers(data, old.name).sections)
    except BadInput:
        return data
    if now is None or now.sh_offset == was.sh_offset or now.sh_offset < len(old.data):
        return data
    if now.sh_offset + now.sh_size != len(data) or now.sh_type != was.sh_type:
        return data
    out = bytearray(data)
    _place(out, old, was.sh_offset, was.sh_size)
    return bytes(out[: now.sh_offset])


def tables_of(old: Image, data: bytes) -> tuple[LineTable | None, LineTable | None]:
    """The lines of a file and of a new one made from it; BadInput where one is not understood."""
    before = line_table(old)
    if before is None:
        return None, None
    headers = read_headers(data, old.name)
    new = replace(old, data=data, sections=headers.sections, segments=headers.segments)
    return before, line_table(new)
