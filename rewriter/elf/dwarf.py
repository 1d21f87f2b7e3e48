"""Numbers of DWARF and its pointer encodings, as unwind tables have them (LSB 5.0 Core, 10.5)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Protocol

from rewriter.core.errors import BadInput
from rewriter.core.readings.machine import ByteOrder
from rewriter.elf.headers import Segment, WithSections

DW_EH_PE_omit, DW_EH_PE_indirect = 0xFF, 0x80
DW_EH_PE_pcrel, DW_EH_PE_datarel, DW_EH_PE_funcrel = 0x10, 0x30, 0x40
DW_EH_PE_uleb128, DW_EH_PE_sleb128 = 0x01, 0x09
FIXED = {0x02: "H", 0x03: "I", 0x04: "Q", 0x0A: "h", 0x0B: "i", 0x0C: "q"}
"""DW_EH_PE_udata2 to sdata8: their struct formats."""


@cache
def byte_format(code: str, byteorder: ByteOrder) -> struct.Struct:
    """A `struct` format in a byte order."""
    return struct.Struct(("<" if byteorder == "little" else ">") + code)


class Mapped(WithSections, Protocol):
    """A file whose tables are read where they are loaded."""

    @property
    def segments(self) -> Sequence[Segment]: ...

    def segment_of(self, address: int) -> Segment | None:
        """The loaded segment that holds an address."""
        ...

    def is_mapped(self, address: int) -> bool:
        """Whether anything is loaded there."""
        ...

    def offset_of(self, address: int) -> int:
        """The file offset of the byte that is loaded at an address."""
        ...

    def read(self, address: int, size: int) -> bytes:
        """Bytes as loaded, before relocation."""
        ...


class DwarfReader:
    """Reads at `offset` in the file and moves on; BadInput past `end`."""

    __slots__ = ("bias", "data", "end", "image", "offset", "what")

    def __init__(self, image: Mapped, offset: int, end: int, bias: int, what: str) -> None:
        self.image, self.data, self.what = image, image.data, what
        self.offset, self.end, self.bias = offset, min(end, len(image.data)), bias

    def bad(self, why: str) -> BadInput:
        """An error that says where in the file."""
        return BadInput(f"{self.image.name}: {self.what}: {why} at file offset {self.offset:#x}")

    def fixed(self, code: str) -> int:
        """A number of a `struct` format."""
        form = byte_format(code, self.image.byteorder)
        after = self.offset + form.size
        if after > self.end:
            raise self.bad("ends too early")
        value: int = form.unpack_from(self.data, self.offset)[0]
        self.offset = after
        return value

    def block(self, size: int) -> bytes:
        """So many bytes."""
        if not 0 <= size <= self.end - self.offset:
            raise self.bad("ends too early")
        self.offset += size
        return self.data[self.offset - size : self.offset]

    def uleb(self) -> int:
        """An unsigned LEB128 number."""
        value = shift = 0
        while True:
            byte = self.fixed("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise self.bad("LEB128 number of more than 64 bits")

    def sleb(self) -> int:
        """A signed LEB128 number."""
        start = self.offset
        value = self.uleb()
        sign = 1 << (7 * (self.offset - start) - 1)
        return value - 2 * sign if value & sign else value

    def string(self) -> bytes:
        """Bytes up to a zero, without it."""
        end = self.data.find(b"\0", self.offset, self.end)
        if end < 0:
            raise self.bad("string without end")
        return self.block(end + 1 - self.offset)[:-1]

    def number(self, encoding: int) -> int:
        """Read a value in the format half of a DW_EH_PE encoding."""
        form = encoding & 0x0F
        if form in FIXED:
            return self.fixed(FIXED[form])
        if form == DW_EH_PE_uleb128:
            return self.uleb()
        if form == DW_EH_PE_sleb128:
            return self.sleb()
        if form == 0:
            return self.fixed("Q" if self.image.bits == 64 else "I")
        raise self.bad(f"unknown pointer encoding {encoding:#x}")

    def pointer(self, encoding: int, data_base: int | None = None) -> int:
        """Read an encoded address; 0 means none, as in the unwinder of GCC."""
        place = self.offset + self.bias
        value = self.number(encoding)
        if value == 0:
            return 0
        application = encoding & 0x70
        if application == DW_EH_PE_pcrel:
            value += place
        elif application == DW_EH_PE_datarel and data_base is not None:
            value += data_base
        elif application:
            raise self.bad(f"pointer encoding {encoding:#x} has an unknown base")
        value &= (1 << self.image.bits) - 1
        if encoding & DW_EH_PE_indirect:
            return int.from_bytes(
                self.image.read(value, self.image.bits // 8), self.image.byteorder
            )
        return value
