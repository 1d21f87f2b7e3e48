"""A linked ELF file as retune sees it: headers, symbols, relocations, and an address map."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rewriter.core.errors import BadInput
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.ident import Ident
from rewriter.elf.bare.data import certain, without
from rewriter.elf.headers import (
    ET_DYN,
    PF_W,
    PF_X,
    PT_DYNAMIC,
    PT_GNU_RELRO,
    PT_IA_64_UNWIND,
    PT_LOAD,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_NOBITS,
    Section,
    Segment,
    printable,
    read_headers,
)
from rewriter.elf.linking import (
    STT_FUNC,
    STT_GNU_IFUNC,
    Descriptors,
    Relocation,
    Symbol,
    descriptors_of,
    relocations_of,
    symbols_of,
    with_counted_symbols,
)
from rewriter.elf.probes import probes

Words: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]

_NO_DESCRIPTORS = Descriptors()

_SIDES = ("__start_", "__stop_")

_ALONE = {".dynamic": PT_DYNAMIC, ".IA_64.unwind": PT_IA_64_UNWIND}
"""Sections that have a segment of their own."""

LARGEST_FILL = 1 << 26
"""Bytes that may be read beyond what the file has: a damaged header shall not fill the memory."""


@dataclass(frozen=True)
class Image:
    """A linked ELF file; addresses are virtual, offsets are in the file, sizes in bytes.

    `debug` is its debug information where that is in another file (`elf/debug_files`);
    `descriptors` are what symbols of functions name, where that is not their code.
    """

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
    debug: Image | None = None
    descriptors: Descriptors = _NO_DESCRIPTORS

    @property
    def ident(self) -> Ident:
        """What its header says of the machine that it is for."""
        return Ident(self.machine, self.bits, self.byteorder, self.e_flags)

    def section(self, name: str) -> Section | None:
        """Return the first section of that name, or None."""
        return next((s for s in self.sections if s.name == name), None)

    def table(self, name: str) -> range:
        """Return the addresses of the section of that name; empty where there is none of it.

        A section without bytes in the file is zeros in memory, of a size that nothing bounds.
        Without section headers a segment may be nothing but such a section.
        """
        found = self.section(name)
        if found is None and not self.is_sectioned:
            return self._segment(_ALONE.get(name))
        if found is None or found.sh_type == SHT_NOBITS:
            return range(0)
        return range(found.sh_addr, found.sh_addr + found.sh_size)

    def _segment(self, p_type: int | None) -> range:
        """The addresses of what the file has of a segment; empty where there is none."""
        found = next((s for s in self.segments if s.p_type == p_type), None)
        return range(0) if found is None else range(found.p_vaddr, found.p_vaddr + found.p_filesz)

    def enclosed(self, name: str) -> range:
        """Return the addresses between the symbols __start_`name` and __stop_`name`.

        By these code finds what several objects put in a section; empty where one is not defined.
        """
        start, stop = (self._bounds.get(side + name) for side in _SIDES)
        return range(0) if start is None or stop is None else range(start, stop)

    @cached_property
    def _bounds(self) -> dict[str, int]:
        """Where the symbols are by which code finds what several objects put in a section."""
        bounds = (s for s in self.symbols if s.name.startswith(_SIDES) and s.st_shndx)
        return {symbol.name: symbol.st_value for symbol in bounds}

    @cached_property
    def is_sectioned(self) -> bool:
        """Whether section headers say, by names, what stands where."""
        return any(section.name for section in self.sections)

    @property
    def is_placed_anywhere(self) -> bool:
        """Whether the loader chooses its addresses, is told of each, and writes none into code.

        Then no number in code or data is the address of anything, but where a relocation says so.
        """
        told = any(relocation.dynamic for relocation in self.relocations)
        return self.e_type == ET_DYN and told and not self.loaded_code

    @cached_property
    def loaded_code(self) -> tuple[Relocation, ...]:
        """The relocations by which the loader writes into code: what runs there is not in the file.

        They are where code was compiled for one place and linked for any (DT_TEXTREL).
        """
        text = self.executable_ranges()
        behind = max((end for _, end in text), default=0)
        told = (r for r in self.relocations if r.dynamic and r.r_offset < behind)
        return tuple(r for r in told if any(start <= r.r_offset < end for start, end in text))

    @property
    def writable_code(self) -> tuple[range, ...]:
        """The addresses of code that the program may write over, as it is loaded."""
        both = PF_W | PF_X
        parts = (
            range(max(start, s.p_vaddr), min(end, s.p_vaddr + s.p_memsz))
            for start, end in self.executable_ranges()
            for s in self.segments
            if s.p_type == PT_LOAD and s.p_flags & both == both
        )
        return tuple(part for part in parts if part)

    @property
    def probes(self) -> tuple[int, ...]:
        """Return the addresses of instructions at which debuggers stop to look at operands."""
        return probes(self)

    def code_address(self, symbol: Symbol) -> int:
        """Return where the code of a symbol begins: there, or where a function descriptor says.

        A symbol of data is where it is.
        """
        at, there = symbol.st_value, self.descriptors
        if at not in there.addresses or symbol.st_type not in (STT_FUNC, STT_GNU_IFUNC):
            return at
        known = there.filled.get(at)
        if known is not None:
            return known
        return int.from_bytes(self.read(at, self.bits // 8), self.byteorder)

    def segment_of(self, address: int) -> Segment | None:
        """Return the PT_LOAD segment whose memory holds `address`, or None."""
        for s in self.segments:
            if s.p_type == PT_LOAD and s.p_vaddr <= address < s.p_vaddr + s.p_memsz:
                return s
        return None

    def is_mapped(self, address: int) -> bool:
        """Whether a loaded segment, zero-filled part included, holds `address`."""
        return self.segment_of(address) is not None

    def is_fixed(self, address: int) -> bool:
        """Whether nothing writes over a byte once the file is loaded and relocated."""
        return any(
            s.p_vaddr <= address < s.p_vaddr + s.p_memsz
            for s in self.segments
            if s.p_type == PT_GNU_RELRO or (s.p_type == PT_LOAD and not s.p_flags & PF_W)
        )

    def read(self, address: int, size: int) -> bytes:
        """Return memory as loaded, before relocation; BadInput when not in one segment."""
        s = self.segment_of(address)
        if s is None or size < 0 or address + size > s.p_vaddr + s.p_memsz:
            raise BadInput(f"{self.name}: no segment holds {size} bytes at {address:#x}")
        if size > len(self.data) + LARGEST_FILL:
            raise BadInput(f"{self.name}: {size} bytes at {address:#x} are more than can be read")
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

    def executable_ranges(self) -> tuple[tuple[int, int], ...]:
        """Return (start, end) addresses of code: sections, or PF_X segments without sections.

        They ascend and do not overlap: sections that do are one range.  What of such segments is
        certainly data is left out.
        """
        return self._code

    @cached_property
    def _code(self) -> tuple[tuple[int, int], ...]:
        wanted = SHF_ALLOC | SHF_EXECINSTR
        ranges = [
            (s.sh_addr, s.sh_addr + s.sh_size)
            for s in self.sections
            if s.sh_flags & wanted == wanted and s.sh_type != SHT_NOBITS and s.sh_size
        ] or [(code.start, code.stop) for code in self._loaded_to_execute()]
        found: list[tuple[int, int]] = []
        for start, end in sorted(ranges):
            if found and start < found[-1][1]:
                start, end = found[-1][0], max(end, found.pop()[1])
            found.append((start, end))
        return tuple(found)

    def _loaded_to_execute(self) -> Iterator[range]:
        """What of the segments with code may be code."""
        segments = [
            range(s.p_vaddr, s.p_vaddr + s.p_filesz)
            for s in self.segments
            if s.p_type == PT_LOAD and s.p_flags & PF_X and s.p_filesz
        ]
        return without(segments, certain(self)) if segments else iter(())

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
    symbols = symbols_of(with_counted_symbols(data, name, headers), name)
    relocations = tuple(relocations_of(data, name, headers, symbols))
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
        relocations=relocations,
        e_flags=headers.e_flags,
        descriptors=descriptors_of(headers.sections, relocations),
    )
