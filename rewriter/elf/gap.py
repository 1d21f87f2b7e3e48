"""The zero bytes between a kernel's text and its read-only data, which one segment loads.

No section covers them, and strip would clear them: where code stands there, the section in front
of it gets longer.  What is freed after the boot (`.init`, `.exit`) is no place for code.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from rewriter.elf.headers import PT_LOAD, SHF_ALLOC, SHF_EXECINSTR, Section, read_headers
from rewriter.elf.image import Image

_FREED = (".init", ".exit")
"""How the names of sections begin that a kernel gives back: with what it starts by go, where it
cannot be taken out again, those by which it would end (Linux 6.1 kernel/vmlinux.lds.S)."""
_SH_SIZE = 5  # field of a section header


@dataclass(frozen=True, slots=True)
class TextGap:
    """Addresses [start, end) behind the text section `before`."""

    before: Section
    start: int
    end: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.start


def text_gap(image: Image) -> TextGap | None:
    """The gap behind the text that stays, where the file holds zero; None if there is none."""
    loaded = sorted(
        (s for s in image.sections if s.sh_flags & SHF_ALLOC and s.sh_size),
        key=lambda s: s.sh_addr,
    )
    for before, after in pairwise(loaded):
        runs = before.sh_flags & SHF_EXECINSTR and not before.name.startswith(_FREED)
        if runs and not after.sh_flags & SHF_EXECINSTR:
            start = before.sh_addr + before.sh_size
            return _gap(image, before, start, after.sh_addr)
    return None


def freed(image: Image, address: int) -> bool:
    """Whether a kernel gives the memory at an address back when it has started."""
    return any(
        one.name.startswith(_FREED) and one.sh_addr <= address < one.sh_addr + one.sh_size
        for one in image.sections
    )


def _gap(image: Image, before: Section, start: int, end: int) -> TextGap | None:
    if start >= end or not any(
        s.p_type == PT_LOAD and s.p_vaddr <= before.sh_addr and end <= s.p_vaddr + s.p_filesz
        for s in image.segments
    ):
        return None
    found = image.read(start, end - start)
    zeros = len(found) - len(found.lstrip(b"\0"))
    return TextGap(before, start, start + zeros) if zeros else None


def covering(image: Image, gap: TextGap, end: int) -> tuple[int, bytes]:
    """(File offset, new bytes) of the section header that covers the gap's code up to `end`."""
    headers = read_headers(image.data, image.name)
    record = headers.layout.shdr
    offset = headers.e_shoff + record.size * gap.before.index
    fields = list(record.unpack_from(image.data, offset))
    fields[_SH_SIZE] = end - gap.before.sh_addr
    return offset, record.pack(*fields)
