"""Language-specific data: what `.gcc_except_table` says of one function.

The LSDA of GCC: gcc/except.cc, libgcc unwind-pe.h.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rewriter.core.leb128 import padded_uleb
from rewriter.elf.dwarf import FIXED, DW_EH_PE_omit, DW_EH_PE_uleb128, DwarfReader, Mapped
from rewriter.elf.emit import Patch
from rewriter.elf.unwind.entries import Fde


class CallSite(NamedTuple):
    """[start, end) of one call-site record of an LSDA; all are addresses."""

    start: int
    end: int
    landing_pad: int | None
    action: int


class Field(NamedTuple):
    """Where a number of a table stands in the file, and how: offset, bytes, DW_EH_PE encoding."""

    offset: int
    size: int
    encoding: int


class Record(NamedTuple):
    """A call site with the fields of its start, its length and its landing pad.

    Landing pads are counted from `pads`.  The record ends before offset `end` of the file.
    """

    site: CallSite
    fields: tuple[Field, Field, Field]
    pads: int
    end: int


def lsda_ranges(image: Mapped, fde: Fde) -> list[CallSite]:
    """Return the call sites of the function in table order; empty without an LSDA."""
    return [record.site for record in records(image, fde)]


def records(image: Mapped, fde: Fde) -> list[Record]:
    """Return the call-site records of the function in table order; empty without an LSDA."""
    if fde.lsda is None:
        return []
    reader, pads, encoding, _ = _header(image, fde, fde.lsda)
    found: list[Record] = []
    while reader.offset < reader.end:
        (start, first), (length, second), (pad, third) = (_read(reader, encoding) for _ in "123")
        start += fde.start
        site = CallSite(start, start + length, pads + pad if pad else None, reader.uleb())
        found.append(Record(site, (first, second, third), pads, reader.offset))
    return found


def area(image: Mapped, fde: Fde) -> range:
    """The addresses of an LSDA: up to the last type, or to the last call site where it has none.

    What a function may throw, where it says so, stands behind, and how much that is says nobody.
    """
    if fde.lsda is None:
        return range(0)
    reader, _, _, types = _header(image, fde, fde.lsda)
    return range(fde.lsda, max(reader.end, types) + reader.bias)


def _header(image: Mapped, fde: Fde, place: int) -> tuple[DwarfReader, int, int, int]:
    """Return a reader of the call sites alone, what pads count from, the encoding, and the types.

    Those end at an offset of the file; it is 0 where there are none.
    """
    segment = image.segment_of(place)
    offset = image.offset_of(place)
    assert segment is not None
    end = segment.p_offset + segment.p_filesz
    reader = DwarfReader(image, offset, end, place - offset, f"LSDA of {fde.start:#x}")
    pads_encoding = reader.fixed("B")
    pads = fde.start
    if pads_encoding != DW_EH_PE_omit:
        pads = reader.pointer(pads_encoding)
    types = 0
    if reader.fixed("B") != DW_EH_PE_omit:
        distance = reader.uleb()
        types = reader.offset + distance
    encoding = reader.fixed("B")
    size = reader.uleb()
    if reader.offset + size > end:
        raise reader.bad(f"call-site table of {size:#x} bytes")
    reader.end = reader.offset + size
    return reader, pads, encoding, types


def _read(reader: DwarfReader, encoding: int) -> tuple[int, Field]:
    at = reader.offset
    value = reader.number(encoding)
    return value, Field(at, reader.offset - at, encoding)


def retime(
    fde: Fde,
    start: Callable[[int], int],
    end: Callable[[int], int],
    pad_at: Callable[[int], int],
) -> list[Patch] | None:
    """Return patches that make the ranges and landing pads follow moved code.

    `start` says where a range begins now that began at an address, `end` where one ends that ended
    there, `pad_at` where the instruction at an address is.  None where a number does not fit the
    bytes that its field has.
    """
    patches: list[Patch] = []
    for site, fields, pads, _ in records(fde.image, fde):
        first = start(site.start)
        pad = 0 if site.landing_pad is None else pad_at(site.landing_pad) - pads
        if site.landing_pad is not None and not pad:
            return None  # it would be none
        numbers = (first - fde.start, max(end(site.end) - first, 0), pad)
        for (offset, size, encoding), number in zip(fields, numbers, strict=True):
            new = _written(number, size, encoding, fde.image)
            if new is None:
                return None
            old = fde.image.data[offset : offset + size]
            if new != old:
                patches.append(Patch(offset, old, new))
    return patches


def _written(number: int, size: int, encoding: int, image: Mapped) -> bytes | None:
    """A number in a field; None where it does not fit, or the field is not understood."""
    if number < 0:
        return None
    if encoding == DW_EH_PE_uleb128:
        return padded_uleb(number, size)
    if encoding not in FIXED or number >> 8 * size - FIXED[encoding].islower():
        return None
    return number.to_bytes(size, image.byteorder)
