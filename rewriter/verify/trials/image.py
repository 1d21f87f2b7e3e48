"""What can be tried: a function of a linked file, or a routine that was assembled."""

from __future__ import annotations

import struct
from collections.abc import Callable

from rewriter.core.target.protocol import Assembled
from rewriter.elf.headers import PT_LOAD
from rewriter.elf.image import Image
from rewriter.elf.linking import R_RELR
from rewriter.verify.trials.engines.sweep import Code

_CODE = (0, 2)  # STT_NOTYPE, as assembly often has it, and STT_FUNC

Relocated = Callable[[int, int, int | None], int | None]


def code_at(routine: Assembled, base: int) -> Code:
    """An assembled routine at an address."""
    resumes = tuple((base + at, base + to) for at, to in routine.resumes)
    return Code(routine.name, ((base, routine.code),), base + routine.entry, resumes=resumes)


def code_of(
    image: Image,
    name: str,
    address: int,
    base: int,
    relocated: Relocated,
    shared: int = 0,
    outside: int = 0,
) -> Code:
    """The function at `address`, with the image loaded `base` bytes higher.

    `relocated` is the target's answer to what a relocation makes of its word; `shared` is the
    image's address that the register for shared data holds, `outside` that of other files' data.
    """
    parts = []
    for segment in image.segments:
        if segment.p_type == PT_LOAD:
            parts.append((segment.p_vaddr, bytearray(image.read(segment.p_vaddr, segment.p_memsz))))
    _relocate(image, parts, base, relocated, outside)
    return Code(
        name,
        tuple((base + start, bytes(data)) for start, data in parts),
        base + address,
        base + shared if shared else 0,
        outside=outside,
    )


def _relocate(
    image: Image,
    parts: list[tuple[int, bytearray]],
    base: int,
    relocated: Relocated,
    outside: int,
) -> None:
    """Applies what gives an address of the image, or of other files' data if that is anywhere."""
    word = struct.Struct(("<" if image.byteorder == "little" else ">") + "IQ"[image.bits // 64])
    for relocation in image.relocations:
        symbol = relocation.added
        if symbol is None and relocation.symbol and outside:
            symbol = outside - base
        value = relocated(relocation.r_type, relocation.r_addend, symbol)
        for start, data in parts if relocation.dynamic else ():
            at = relocation.r_offset - start
            if not 0 <= at <= len(data) - word.size:
                continue
            if relocation.r_type == R_RELR:  # the word itself is the address
                value = word.unpack_from(data, at)[0]
            if value is not None:
                word.pack_into(data, at, (base + value) % (1 << image.bits))


def function_named(image: Image, name: str) -> tuple[int, int] | None:
    """Address and size in bytes of a defined symbol; None if there is none.

    Where the symbol has no size, the function ends where the next one begins.
    """
    code = [s for s in image.symbols if s.st_shndx and s.st_type in _CODE]
    starts = sorted({image.code_address(s) for s in code})
    for symbol in code:
        if symbol.name == name:
            at = image.code_address(symbol)
            after = next((start for start in starts if start > at), at)
            return at, symbol.st_size or after - at
    return None
