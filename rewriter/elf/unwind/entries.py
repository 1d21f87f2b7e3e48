"""Unwind tables: which addresses a function covers.

`.eh_frame` is DWARF 5 section 6.4 as changed by LSB 5.0 Core, section 10.6. Everything unknown is
BadInput: the caller then leaves the function alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from rewriter.elf.dwarf import (
    FIXED,
    DW_EH_PE_datarel,
    DW_EH_PE_indirect,
    DW_EH_PE_omit,
    DwarfReader,
    Mapped,
    byte_format,
)
from rewriter.elf.headers import SHT_NOBITS

PT_GNU_EH_FRAME = 0x6474E550


@dataclass(frozen=True, slots=True)
class Cie:
    """Common information entry; `instructions` is a range of file offsets."""

    offset: int
    augmentation: str
    code_alignment_factor: int
    data_alignment_factor: int
    return_column: int
    fde_encoding: int
    lsda_encoding: int
    instructions: tuple[int, int]

    @property
    def signal_frame(self) -> bool:
        """Augmentation `S`: the frame of a signal, interrupted between instructions."""
        return "S" in self.augmentation


@dataclass(frozen=True, slots=True)
class Fde:
    """Frame description entry of the code at addresses [start, end).

    `offset` is that of the record, `location_offset` that of its pc_begin, and `instructions` a
    range: file offsets all. `lsda` is an address.
    """

    start: int
    end: int
    cie: Cie
    lsda: int | None
    offset: int
    location_offset: int
    instructions: tuple[int, int]
    image: Mapped = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class SearchTable:
    """The binary search table of .eh_frame_hdr: entry i is at `offset + i * 2 * width`.

    `starts` and `fdes` are addresses; in the file each is `encoding` relative to `base`.
    """

    offset: int
    width: int
    encoding: int
    base: int
    starts: npt.NDArray[np.uint64]
    fdes: npt.NDArray[np.uint64]


def frames(image: Mapped) -> tuple[Fde, ...]:
    """Return every FDE of .eh_frame in file order; none when the file has no such table."""
    bounds = _bounds(image)
    if bounds is None:
        return ()
    offset, end, bias, terminated = bounds
    cies: dict[int, Cie] = {}
    return tuple(_records(DwarfReader(image, offset, end, bias, ".eh_frame"), cies, terminated))


class _Again(Mapping[int, Fde]):
    """Entries of one file in another, in which they stand as they did."""

    def __init__(self, known: Mapping[int, Fde], image: Mapped) -> None:
        self._known, self._image = known, image

    def __getitem__(self, start: int) -> Fde:
        return replace(self._known[start], image=self._image)

    def __iter__(self) -> Iterator[int]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def frames_again(image: Mapped, known: Mapping[int, Fde]) -> Mapping[int, Fde]:
    """Return what `frames` finds in a file whose headers are those of the file of `known` entries.

    Entries are by where they start.  They are parsed again if a byte of the table differs that is
    no call frame instruction.
    """
    entries = tuple(known.values())
    if not entries or not _only_instructions(entries[0].image, image, entries):
        return {frame.start: frame for frame in frames(image)}
    return _Again(known, image)


def _only_instructions(old: Mapped, new: Mapped, known: Sequence[Fde]) -> bool:
    """Whether two tables agree in all that `frames` looks at."""
    section = old.section(".eh_frame")
    encodings = {e for frame in known for e in (frame.cie.fde_encoding, frame.cie.lsda_encoding)}
    elsewhere = any(e & DW_EH_PE_indirect for e in encodings - {DW_EH_PE_omit})
    if section is None or section.sh_type == SHT_NOBITS or elsewhere:
        return False
    if (old.sections, len(old.data)) != (new.sections, len(new.data)):
        return False
    before, after = (
        np.frombuffer(image.data, np.uint8)[section.sh_offset : section.file_end]
        for image in (old, new)
    )
    changed = np.flatnonzero(before != after) + section.sh_offset
    spans = np.array(sorted(frame.instructions for frame in known))
    at = spans[:, 0].searchsorted(changed, side="right") - 1
    for cie in {frame.cie for frame in known}:  # nothing forbids one among instructions
        at[(changed >= cie.offset) & (changed < cie.instructions[1])] = -1
    return bool(np.all((at >= 0) & (changed < spans[at, 1])))


def search_table(image: Mapped) -> SearchTable | None:
    """Return the search table of .eh_frame_hdr; None when the file has none."""
    header = _header(image)
    if header is None:
        return None
    reader, _, count_encoding, encoding = header
    if DW_EH_PE_omit in (count_encoding, encoding):
        return None
    base = reader.bias + next(s.p_offset for s in image.segments if s.p_type == PT_GNU_EH_FRAME)
    count = reader.pointer(count_encoding, base)
    form = encoding & 0x0F
    if form not in FIXED or encoding & 0x70 != DW_EH_PE_datarel:
        raise reader.bad(f"search table encoding {encoding:#x} is not datarel of a fixed size")
    width = byte_format(FIXED[form], image.byteorder).size
    offset = reader.offset
    kind = "i" if FIXED[form].islower() else "u"
    dtype = np.dtype(f"{kind}{width}").newbyteorder(image.byteorder)
    table = np.frombuffer(reader.block(2 * width * count), dtype)
    # Sums wrap at 2**64 by definition of uint64; 32-bit addresses are cut below.
    sums = table.astype(np.int64).view(np.uint64) + np.uint64(base)
    pairs = (sums & np.uint64((1 << image.bits) - 1)).reshape(-1, 2)
    return SearchTable(offset, width, encoding, base, pairs[:, 0], pairs[:, 1])


def frames_address(image: Mapped) -> int | None:
    """Return the address of .eh_frame that .eh_frame_hdr gives; None without one."""
    header = _header(image)
    return None if header is None else header[1]


def _header(image: Mapped) -> tuple[DwarfReader, int, int, int] | None:
    """Return a reader behind the fixed part of .eh_frame_hdr, eh_frame_ptr, and encodings."""
    segment = next((s for s in image.segments if s.p_type == PT_GNU_EH_FRAME), None)
    if segment is None or not segment.p_filesz:
        return None
    start, bias = segment.p_offset, segment.p_vaddr - segment.p_offset
    reader = DwarfReader(image, start, start + segment.p_filesz, bias, ".eh_frame_hdr")
    version, pointer_encoding, count_encoding, table_encoding = reader.block(4)
    if version != 1:
        raise reader.bad(f"unknown version {version}")
    address = 0
    if pointer_encoding != DW_EH_PE_omit:
        address = reader.pointer(pointer_encoding, segment.p_vaddr)
    return reader, address, count_encoding, table_encoding


def _bounds(image: Mapped) -> tuple[int, int, int, bool] | None:
    """Return file offsets of .eh_frame, address minus offset, and whether a zero length ends it.

    With a section header its size is the bound, as the records of several linked files may each
    end in a zero; without one the first zero is the end (LSB 10.6.1).
    """
    section = image.section(".eh_frame")
    if section is not None and section.sh_type != SHT_NOBITS:
        start = section.sh_offset
        return start, section.file_end, section.sh_addr - start, False
    header = _header(image)
    if header is None or not header[1]:
        return None
    segment = image.segment_of(header[1])
    start = image.offset_of(header[1])
    assert segment is not None
    return start, segment.p_offset + segment.p_filesz, header[1] - start, True


def _records(reader: DwarfReader, cies: dict[int, Cie], terminated: bool) -> Iterator[Fde]:
    end = reader.end
    while reader.offset + 4 <= end:
        record = reader.offset
        length = reader.fixed("I")
        if length == 0:
            if terminated:
                return
            continue
        if length == 0xFFFFFFFF:
            raise reader.bad("64-bit DWARF")
        body = reader.offset
        if length < 4 or body + length > end:
            raise reader.bad(f"record length {length:#x}")
        reader.end = body + length
        back = reader.fixed("I")
        if back:
            yield _fde(reader, record, _cie(reader, body - back, cies, end))
        reader.offset, reader.end = body + length, end


def _cie(reader: DwarfReader, offset: int, cies: dict[int, Cie], end: int) -> Cie:
    found = cies.get(offset)
    if found is None:
        other = DwarfReader(reader.image, offset, end, reader.bias, reader.what)
        if not 0 <= offset < reader.offset:
            raise reader.bad("pointer to a CIE outside the section")
        found = cies[offset] = _parse_cie(other)
    return found


def _parse_cie(reader: DwarfReader) -> Cie:
    start = reader.offset
    length = reader.fixed("I")
    if not 4 <= length < 0xFFFFFFF0 or reader.offset + length > reader.end:
        raise reader.bad(f"CIE of length {length:#x}")
    reader.end = reader.offset + length
    if reader.fixed("I") != 0:
        raise reader.bad("pointer to a CIE that is none")
    version = reader.fixed("B")
    augmentation = reader.string().decode("latin-1")
    if version not in (1, 3, 4) or (augmentation and not augmentation.startswith("z")):
        raise reader.bad(f"CIE version {version}, augmentation {augmentation!r}")
    if version == 4:
        reader.block(2)
    code, data = reader.uleb(), reader.sleb()
    column = reader.fixed("B") if version == 1 else reader.uleb()
    encodings = {"R": 0, "L": DW_EH_PE_omit}
    instructions = reader.offset
    if code == 0:
        raise reader.bad("code_alignment_factor 0")
    if augmentation:
        size = reader.uleb()
        instructions = reader.offset + size
        _augmentation(reader, augmentation, encodings)
    return Cie(
        start, augmentation, code, data, column,
        encodings["R"], encodings["L"], (instructions, reader.end),
    )  # fmt: skip


def _augmentation(reader: DwarfReader, augmentation: str, encodings: dict[str, int]) -> None:
    for letter in augmentation[1:]:
        if letter in encodings:
            encodings[letter] = reader.fixed("B")
        elif letter == "P":
            encoding = reader.fixed("B")
            if encoding & 0x70 == 0x50:
                raise reader.bad("DW_EH_PE_aligned personality")
            reader.number(encoding)
        elif letter not in "SB":
            raise reader.bad(f"unknown augmentation {augmentation!r}")


def _fde(reader: DwarfReader, record: int, cie: Cie) -> Fde:
    location = reader.offset
    start = reader.pointer(cie.fde_encoding)
    size = reader.number(cie.fde_encoding & 0x07)
    lsda = None
    if cie.augmentation:
        after = reader.uleb()
        after += reader.offset
        if cie.lsda_encoding != DW_EH_PE_omit:
            lsda = reader.pointer(cie.lsda_encoding) or None
        reader.offset = after
    if reader.offset > reader.end:
        raise reader.bad("augmentation longer than its FDE")
    instructions = (reader.offset, reader.end)
    return Fde(start, start + size, cie, lsda, record, location, instructions, reader.image)
