"""Language-specific data: what `.gcc_except_table` says of one function.

The LSDA of GCC: gcc/except.cc, libgcc unwind-pe.h.
"""

from __future__ import annotations

from typing import NamedTuple

from rewriter.elf.dwarf import DW_EH_PE_omit, DwarfReader
from rewriter.elf.image import Image
from rewriter.elf.unwind.entries import Fde


class CallSite(NamedTuple):
    """[start, end) of one call-site record of an LSDA; all are addresses."""

    start: int
    end: int
    landing_pad: int | None
    action: int


def lsda_ranges(image: Image, fde: Fde) -> list[CallSite]:
    """Return the call sites of the function in table order; empty without an LSDA."""
    if fde.lsda is None:
        return []
    segment = image.segment_of(fde.lsda)
    offset = image.offset_of(fde.lsda)
    assert segment is not None
    end = segment.p_offset + segment.p_filesz
    reader = DwarfReader(image, offset, end, fde.lsda - offset, f"LSDA of {fde.start:#x}")
    pads_encoding = reader.fixed("B")
    pads = fde.start
    if pads_encoding != DW_EH_PE_omit:
        pads = reader.pointer(pads_encoding)
    if reader.fixed("B") != DW_EH_PE_omit:
        reader.uleb()
    encoding = reader.fixed("B")
    size = reader.uleb()
    if reader.offset + size > end:
        raise reader.bad(f"call-site table of {size:#x} bytes")
    reader.end = reader.offset + size
    sites: list[CallSite] = []
    while reader.offset < reader.end:
        start = fde.start + reader.number(encoding)
        stop = start + reader.number(encoding)
        pad = reader.number(encoding)
        sites.append(CallSite(start, stop, pads + pad if pad else None, reader.uleb()))
    return sites
