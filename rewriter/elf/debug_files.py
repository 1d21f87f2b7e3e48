"""Debug information in a file of its own: which file that is, and what it says of lines.

A stripped file names its debug file by `.gnu_debuglink` or by its build-id
(`.build-id/xx/yyyy.debug`), as gdb looks for it.  The debug file is only read: it describes the
code by addresses, and stays true for code that keeps its places.
"""

from __future__ import annotations

import stat
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from rewriter.core.errors import BadInput
from rewriter.elf.debug_identity import DEBUG_LINK, Link, build_id_of, link_of
from rewriter.elf.headers import (
    SHF_EXECINSTR,
    SHT_NOBITS,
    Section,
    printable,
    read_headers,
)
from rewriter.elf.image import Image
from rewriter.elf.lines.file import OTHERS, SHF_COMPRESSED
from rewriter.elf.lines.table import NAME as LINES

ROOT = "usr/lib/debug"
"""Where a system or the tree of a package keeps debug files."""
SHT_PROGBITS = 1
_ELFCOMPRESS_ZLIB = 1
_LARGEST = 1 << 30  # bytes of one line table when it is no longer compressed


def has_lines(image: Image) -> bool:
    """Whether a file carries line information itself."""
    found = image.section(LINES)
    return found is not None and found.sh_type != SHT_NOBITS and found.sh_size > 0


def find(image: Image, path: Path, roots: Iterable[Path] = (), inside: str = "") -> Path | None:
    """The debug file of the file at `path`; None where there is none.

    `roots` are folders that hold `usr/lib/debug` or `.build-id`; `inside` is the file's folder in
    such a tree (`usr/bin`).  It is looked for by build-id, then by debug link: in the roots, beside
    the file, and in `.debug` there.  Whether it is the right one shows when it is read.
    """
    if has_lines(image):
        return None
    found = _candidates(build_id_of(image), link_of(image), path.parent, tuple(roots), inside)
    return next((c for c in found if _is_file(c) and not c.samefile(path)), None)


def described_by(image: Image, path: Path) -> Image:
    """The image with what its debug file at `path` says of lines; BadInput as `read_lines`."""
    return with_lines(image, read_lines(image, path))


def read_lines(image: Image, path: Path) -> bytes:
    """The line table in the debug file of an image, decompressed; empty where it has none.

    BadInput where the file cannot be read, is of another build than the image, or is not wanted
    because the image has lines of its own.
    """
    if has_lines(image):
        raise BadInput(f"{image.name}: has debug information itself, and none in another file")
    debug = bare(_read(path), str(path))
    wrong = _mismatch(image, debug)
    if wrong:
        raise BadInput(f"{image.name}: its debug file {debug.name} is of another build: {wrong}")
    strange = next((name for name in OTHERS if debug.section(name) is not None), None)
    if strange is not None:
        raise BadInput(f"{debug.name}: {strange} is not read")
    section = debug.section(LINES)
    if section is None or section.sh_type == SHT_NOBITS:
        return b""
    if section.sh_flags & SHF_COMPRESSED:
        return _decompressed(debug, section)
    return debug.data[section.sh_offset : section.file_end]


def with_lines(image: Image, content: bytes) -> Image:
    """The image with a line table from its debug file."""
    lines = Section(0, LINES, SHT_PROGBITS, 0, 0, 0, len(content), 0, 0, 1, 0)
    other = replace(image, data=content, sections=(lines,), segments=(), symbols=(), relocations=())
    return replace(image, debug=other)


def is_debug_file(image: Image) -> bool:
    """Whether a file is a debug file: what would be code has no bytes in it."""
    code = [s for s in image.sections if s.sh_flags & SHF_EXECINSTR and s.sh_size]
    return bool(code) and all(s.sh_type == SHT_NOBITS for s in code)


def _candidates(
    build_id: str, link: Link | None, folder: Path, roots: tuple[Path, ...], inside: str
) -> Iterator[Path]:
    trees = [tree for root in roots for tree in (root / ROOT, root)]
    if len(build_id) > 2:
        yield from (t / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug" for t in trees)
    if link is not None:
        yield from (tree / inside / link.name for tree in trees)
        yield folder / link.name
        yield folder / ".debug" / link.name


def _mismatch(image: Image, debug: Image) -> str:
    """Why a file is not the debug file of an image, or nothing."""
    if debug.machine != image.machine:
        return "it is for another architecture"
    link, crc = link_of(image), zlib.crc32(debug.data)
    if link is not None and link.crc != crc:
        return f"its CRC-32 is {crc:08x}, {DEBUG_LINK} says {link.crc:08x}"
    wanted, found = build_id_of(image), build_id_of(debug)
    if link is None and wanted != found:
        return f"its build-id is {found or 'none'}, the file's {wanted or 'none'}"
    return ""


def bare(data: bytes, name: str) -> Image:
    """A file by its headers alone."""
    headers = read_headers(data, printable(name))
    return Image(
        name=printable(name), data=data, machine=headers.e_machine, bits=headers.layout.bits,
        byteorder=headers.layout.byteorder, e_type=headers.e_type, entry=headers.e_entry,
        sections=headers.sections, segments=(), symbols=(), relocations=(), e_flags=headers.e_flags,
    )  # fmt: skip


def _decompressed(debug: Image, section: Section) -> bytes:
    """The bytes of a section compressed as the gABI says (Elf_Chdr, ELFCOMPRESS_ZLIB)."""
    order = "<" if debug.byteorder == "little" else ">"
    form = struct.Struct(order + ("IIQQ" if debug.bits == 64 else "III"))
    content = debug.data[section.sh_offset : section.file_end]
    if len(content) < form.size:
        raise BadInput(f"{debug.name}: {section.name} is damaged")
    kind, *sizes = form.unpack_from(content)
    size = sizes[-2]
    if kind != _ELFCOMPRESS_ZLIB or size > _LARGEST:
        raise BadInput(f"{debug.name}: {section.name} is compressed in a way that is not read")
    inflate = zlib.decompressobj()
    try:
        plain = inflate.decompress(content[form.size :], size + 1)
    except zlib.error as error:
        raise BadInput(f"{debug.name}: {section.name} is damaged: {error}") from error
    if len(plain) != size or not inflate.eof:
        raise BadInput(f"{debug.name}: {section.name} has not the size that it says")
    return plain


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)  # no link: it may lead out of a package
    except OSError:
        return False


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{printable(str(path))}: cannot be read: {error.strerror}") from error
