"""Unwind entries for new code, and the search table that leads to old and new ones.

The table of .eh_frame_hdr has no room for another entry, so a complete one is written behind the
new entries, and PT_GNU_EH_FRAME names it.  A CIE is written anew for each way of unwinding, with
the rules of the CIE of the routine that the code stands for.  (LSB 5.0 Core, 10.6.)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import addresses, distances
from rewriter.core.errors import BadInput
from rewriter.core.leb128 import sleb, uleb
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.protocol import FrameRow
from rewriter.elf.emit import Patch
from rewriter.elf.image import Image
from rewriter.elf.unwind.entries import Cie, Fde, SearchTable, frames_address
from rewriter.elf.unwind.rows import DW_CFA_advance_loc, DW_CFA_nop, DW_CFA_restore

DW_CFA_advance_loc1, DW_CFA_advance_loc2 = 0x02, 0x03
DW_CFA_restore_extended, DW_CFA_register, DW_CFA_def_cfa_offset = 0x06, 0x09, 0x0E
_PCREL_SDATA4, _DATAREL_SDATA4, _UDATA4 = 0x1B, 0x3B, 0x03
_REACH = 1 << 31


@dataclass(frozen=True, slots=True)
class Body:
    """New code at an address: unwound by a CIE's rules and its own rows."""

    address: int
    code: bytes
    rows: tuple[FrameRow, ...]
    cie: Cie | None

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + len(self.code)


def instructions(rows: Sequence[FrameRow], cie: Cie, order: ByteOrder) -> bytes:
    """Call frame instructions that make the rows; they begin as the CIE says."""
    out, before, cfa, link = bytearray(), 0, 0, None
    for row in rows:
        out += _advance((row.offset - before) // cie.code_alignment_factor, order)
        if row.cfa != cfa:
            out += bytes((DW_CFA_def_cfa_offset,)) + uleb(row.cfa)
        if row.link != link:
            column = cie.return_column
            kept = bytes((DW_CFA_register,)) + uleb(column) + uleb(row.link or 0)
            out += kept if row.link is not None else _restore(column)
        before, cfa, link = row.offset, row.cfa, row.link
    return bytes(out)


def _restore(column: int) -> bytes:
    """As the CIE says of a register; the short form has six bits for its number."""
    if column < 1 << 6:
        return bytes((DW_CFA_restore | column,))
    return bytes((DW_CFA_restore_extended,)) + uleb(column)


def replaced(frame: Fde, rows: Sequence[FrameRow], end: int) -> tuple[Patch, ...] | None:
    """Patches that make an entry describe other code from its start to `end` (or its own end).

    None when the rows need more bytes than the entry has.
    """
    data, order = frame.image.data, frame.image.byteorder
    first, last = frame.instructions
    new = instructions(rows, frame.cie, order)
    if len(new) > last - first:
        return None
    patches = [Patch(first, data[first:last], new.ljust(last - first, bytes((DW_CFA_nop,))))]
    if end > frame.end:
        if frame.cie.fde_encoding != _PCREL_SDATA4:
            return None
        at = frame.location_offset + 4
        size = (end - frame.start).to_bytes(4, order)
        patches.insert(0, Patch(at, data[at : at + 4], size))
    return tuple(patch for patch in patches if patch.old != patch.new)


def entries(image: Image, bodies: Sequence[Body], address: int) -> tuple[bytes, list[int]]:
    """Return CIEs and FDEs of the bodies, to stand at `address`, and the address of each FDE."""
    out = bytearray()
    cies: dict[tuple[int, int, int, bytes], int] = {}
    starts = []
    for body in bodies:
        assert body.cie is not None
        key = _key(image, body.cie)
        if key not in cies:
            cies[key] = len(out)
            out += _record(image, 0, _cie_body(key))
        starts.append(address + len(out))
        at = len(out) + 8  # behind length and CIE pointer
        begin = struct.pack(_order(image) + "iI", body.address - address - at, len(body.code))
        rest = begin + b"\0" + instructions(body.rows, body.cie, image.byteorder)
        out += _record(image, len(out) + 4 - cies[key], rest)
    return bytes(out), starts


def search_content(
    image: Image, old: SearchTable, new: Sequence[tuple[int, int]], address: int
) -> bytes:
    """Return a whole search table, to stand at `address`: the old entries and (start, FDE)."""
    every = sorted([*zip(old.starts.tolist(), old.fdes.tolist(), strict=True), *new])
    frames = frames_address(image)
    if frames is None:
        raise BadInput(f"{image.name}: has no search table for unwind entries")
    ahead, apart = frames - address - 4, distances(address, np.array(every, dtype=np.uint64))
    if not (_near(apart) and _near(np.array(ahead))):
        raise BadInput(f"{image.name}: unwind entries are too far apart for a search table")
    head = struct.pack(
        _order(image) + "4BiI",
        *(1, _PCREL_SDATA4, _UDATA4, _DATAREL_SDATA4),
        *(ahead, len(every)),
    )
    return head + apart.astype(np.dtype("i4").newbyteorder(image.byteorder)).tobytes()


def reaches(image: Image, table: SearchTable, *places: int) -> bool:
    """Whether a search table at any of these places can name all that an old one names."""
    named = np.concatenate((table.starts, table.fdes, addresses([frames_address(image) or 0])))
    return all(_near(distances(place, named)) for place in places)


def _near(far: NDArray[np.int64]) -> bool:
    """Whether distances fit the words of a search table."""
    return bool(np.all((far >= -_REACH) & (far < _REACH)))


def _key(image: Image, cie: Cie) -> tuple[int, int, int, bytes]:
    first, last = cie.instructions
    initial = image.data[first:last].rstrip(bytes((DW_CFA_nop,)))
    return cie.code_alignment_factor, cie.data_alignment_factor, cie.return_column, initial


def _cie_body(key: tuple[int, int, int, bytes]) -> bytes:
    code, data, column, initial = key
    numbers = uleb(code) + sleb(data) + bytes((column,))
    return b"\x01zR\0" + numbers + b"\x01" + bytes((_PCREL_SDATA4,)) + initial


def _record(image: Image, pointer: int, body: bytes) -> bytes:
    size = image.bits // 8
    padded = body + bytes(-(len(body) + 8) % size)
    return struct.pack(_order(image) + "II", len(padded) + 4, pointer) + padded


def _order(image: Image) -> str:
    return "<" if image.byteorder == "little" else ">"


def _advance(steps: int, order: ByteOrder) -> bytes:
    if steps < 0x40:
        return bytes((DW_CFA_advance_loc | steps,)) if steps else b""
    if steps < 0x100:
        return bytes((DW_CFA_advance_loc1, steps))
    return bytes((DW_CFA_advance_loc2,)) + steps.to_bytes(2, order)
