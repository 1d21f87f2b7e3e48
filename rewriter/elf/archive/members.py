"""Files inside files: members of `ar` archives, and what Debian packages install.

Formats: `ar` as GNU binutils and BSD write it; a package as in deb(5): an archive of
`debian-binary`, `control.tar.*` and `data.tar.*`.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import importlib
import io
import lzma
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, cast

from rewriter.core.errors import BadInput
from rewriter.elf.headers import FOREIGN, printable

ARCHIVE, THIN, ELF = b"!<arch>\n", b"!<thin>\n", b"\x7fELF"
_HEADER = 60  # bytes in front of each member
_ZSTD_LEVEL = 19
_MEMBER = 1 << 34  # bytes of a member that is only passed over
_LARGEST = 1 << 29  # bytes of one file in a package: more is no program

DAMAGE = (EOFError, OSError, ValueError, lzma.LZMAError, tarfile.TarError)
"""What readers of compressed archives raise for damaged ones."""


@dataclass(frozen=True, slots=True)
class Part:
    """An ELF file; `inside` says where in the file that was given, empty for that file itself."""

    inside: str
    data: bytes


def parts(data: bytes, name: str) -> Iterator[Part]:
    """All ELF files in a file called `name`; BadInput when it is of no kind that holds any."""
    if data.startswith(ELF):
        yield Part("", data)
    elif data.startswith(ARCHIVE):
        yield from _archived(data, name)
    else:
        what = next((w for magic, w in FOREIGN.items() if data.startswith(magic)), "")
        raise BadInput(
            f"{name}: is {what}" if what else f"{name}: neither ELF, nor an archive, nor a package",
            hint="" if what else f"it starts with {data[:8].hex() or 'nothing'}",
        )


def _archived(data: bytes, name: str) -> Iterator[Part]:
    content = list(members(data, name))
    if content and content[0][0] == "debian-binary":
        yield from _packaged(content, name)
        return
    for member, inner in content:
        if inner.startswith(ELF):
            yield Part(f"({member})", inner)


def members(data: bytes, name: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of each member of an `ar` archive, without its tables; BadInput."""
    at, long_names = len(ARCHIVE), b""
    while at < len(data):
        header = data[at : at + _HEADER]
        if len(header) < _HEADER or header[58:] != b"`\n":
            raise BadInput(f"{name}: member header at {at:#x} is damaged")
        start, size = at + _HEADER, _number(header[48:58], name, at)
        if start + size > len(data):
            raise BadInput(
                f"{name}: member at {at:#x} of {size} bytes is cut off", hint="truncated"
            )
        content = data[start : start + size]
        at = start + size + size % 2
        label = header[:16].rstrip(b" ")
        if label == b"//":
            long_names = content
        elif label.startswith(b"#1/"):  # BSD: the name stands in front of the content
            length = _number(label[3:], name, start)
            yield _text(content[:length].rstrip(b"\0")), content[length:]
        elif label[:1] == b"/" and label[1:].isdigit():  # GNU: an offset in the table of names
            found = long_names[int(label[1:]) :].split(b"/\n", 1)[0]
            yield _text(found), content
        elif label not in (b"/", b"/SYM64/", b"__.SYMDEF"):
            yield _text(label.removesuffix(b"/")), content


def _number(field: bytes, name: str, at: int) -> int:
    text = field.strip()
    if not text.isdigit():
        raise BadInput(f"{name}: number in the member header at {at:#x} is damaged")
    return int(text)


def _text(label: bytes) -> str:
    return printable(label.decode("utf-8", "backslashreplace"))


def _packaged(content: list[tuple[str, bytes]], name: str) -> Iterator[Part]:
    """ELF files that a package installs, also those in its archives."""
    for member, packed in content:
        if member.startswith("data.tar"):
            with opened(packed, member.removeprefix("data.tar"), f"{name}({member})") as stream:
                for path, inner in _files(stream, f"{name}({member})"):
                    if inner.startswith(ELF):
                        yield Part(path, inner)
                    elif inner.startswith(ARCHIVE):
                        yield from (
                            Part(path + part.inside, part.data)
                            for part in _archived(inner, f"{name}({path})")
                        )
            return
    raise BadInput(f"{name}: a package without data.tar", hint="damaged")


def _files(stream: IO[bytes], name: str) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for entry in tar:
                # tarfile would go on to the end of such a member, past that of the file.
                if not 0 <= entry.size <= _MEMBER:
                    raise BadInput(f"{name}: a member has {entry.size} bytes", hint="damaged")
                if entry.isfile() and entry.size <= _LARGEST:
                    opened = tar.extractfile(entry)
                    assert opened is not None
                    yield printable(entry.name.removeprefix("./")), opened.read()
    except DAMAGE as error:
        raise BadInput(f"{name}: cannot be unpacked: {printable(str(error))}") from error


def opened(packed: bytes, suffix: str, name: str) -> IO[bytes]:
    """The decompressed stream of a package's member, by the suffix that deb(5) gives it."""
    source = io.BytesIO(packed)
    if suffix == ".zst":
        return _zstandard(source, name)
    openers: dict[str, Callable[[io.BytesIO], object]] = {
        "": lambda plain: plain,
        ".gz": lambda packed: gzip.GzipFile(fileobj=packed),
        ".xz": lzma.LZMAFile,
        ".lzma": lzma.LZMAFile,
        ".bz2": bz2.BZ2File,
    }
    if suffix not in openers:
        raise BadInput(f"{name}: packed in a way that retune does not know")
    return cast(IO[bytes], openers[suffix](source))


def _zstandard(source: io.BytesIO, name: str) -> IO[bytes]:
    """Python has zstd from 3.14 on; before that a library must be there."""
    for module, maker in (("compression.zstd", "ZstdFile"), ("zstandard", "open")):
        try:
            return cast(IO[bytes], getattr(importlib.import_module(module), maker)(source))
        except ImportError:
            continue
    raise _no_zstandard(name)


def zstandard_writer(target: io.BytesIO, name: str) -> IO[bytes]:
    """A stream that packs into `target` as dpkg-deb does, and leaves it open."""
    with contextlib.suppress(ImportError):
        file = importlib.import_module("compression.zstd").ZstdFile
        return cast(IO[bytes], file(target, "w", level=_ZSTD_LEVEL))
    try:
        compressor = importlib.import_module("zstandard").ZstdCompressor(level=_ZSTD_LEVEL)
    except ImportError:
        raise _no_zstandard(name) from None
    return cast(IO[bytes], compressor.stream_writer(target, closefd=False))


def _no_zstandard(name: str) -> BadInput:
    return BadInput(
        f"{name}: packed with zstd, which this Python cannot read",
        hint="pip install zstandard, or repack it with xz",
    )
