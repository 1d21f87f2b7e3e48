"""A gzip file around an ELF file, as kernels are kept (vmlinux.gz): opened, and closed again.

The header of RFC 1952 (name, time, system) is kept byte for byte. What it does not say is who
compressed the content and how hard: `recipe_of` tries the program gzip and zlib, and where neither
gives the same bytes, the compressed bytes themselves are kept, so that the file can be given back.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rewriter.core.errors import BadInput, VerificationFailed

MAGIC = b"\x1f\x8b"
DEFLATE = 8
FHCRC, FEXTRA, FNAME, FCOMMENT = 2, 4, 8, 16
FIXED = struct.Struct("<2sBBIBB")
"""Magic, method, flags, time, hint of the level, system."""

LARGEST = 1 << 29
"""Bytes that a content may have: a damaged or hostile file shall not fill the memory."""
LEAST, RATIO = 1 << 26, 40
"""A content of more bytes than LEAST is at most so many times as large as its file: kernels are
four or five times as large, and a file of zeros a thousand times."""
PROBE = 1 << 20
"""Bytes of content by which a way to compress is judged before all of it is tried."""
ZLIB, GZIP, KEPT = "zlib", "gzip", "kept"
MEMORIES = (8, 9)
"""zlib's memLevel: its default, and the other that programs ask for."""


@dataclass(frozen=True)
class Recipe:
    """How a stream is made from a content: by the library zlib, by the program gzip, or kept.

    `level` is 1 to 9, `memory` is zlib's memLevel, `stream` the bytes of what is kept.
    """

    by: str
    level: int
    memory: int = 8
    stream: bytes = b""


@dataclass(frozen=True)
class Wrapping:
    """All of a gzip file but its content: what gives the file back, and its SHA-256.

    `header` goes up to the compressed stream; `padding` zero bytes follow the trailer.
    """

    header: bytes
    recipe: Recipe
    padding: int
    sha256: str


@dataclass(frozen=True)
class Opened:
    """A gzip file taken apart; `stream` is the compressed content."""

    raw: bytes
    header: bytes
    stream: bytes
    padding: int
    content: bytes


def is_gzip(data: bytes) -> bool:
    """Whether `data` starts as a gzip file does."""
    return data.startswith(MAGIC)


def open_gzip(data: bytes, label: str) -> Opened:
    """Take a gzip file of one member apart, or BadInput; its checksum and length are compared."""
    header = data[: _header_size(data, label)]
    engine = zlib.decompressobj(-zlib.MAX_WBITS)
    largest = min(LARGEST, max(LEAST, RATIO * len(data)))
    try:
        content = engine.decompress(data[len(header) :], largest)
    except zlib.error as error:
        raise BadInput(f"{label}: its gzip data is damaged: {error}") from error
    if not engine.eof:
        what = f"has more than {largest} bytes" if len(content) >= largest else "is truncated"
        raise BadInput(f"{label}: its gzip data {what}")
    trailer, rest = engine.unused_data[:8], engine.unused_data[8:]
    if trailer != _trailer(content):
        raise BadInput(f"{label}: its gzip data is damaged: checksum or length does not fit")
    if any(rest):
        raise BadInput(
            f"{label}: {len(rest)} bytes follow its gzip data",
            hint="several gzip members, or a signature that a change would break",
        )
    stream = data[len(header) : len(data) - len(rest) - len(trailer)]
    return Opened(data, header, stream, len(rest), content)


def wrapping_of(opened: Opened) -> Wrapping:
    """What gives the file back from its content; tries up to some thirty ways to compress."""
    digest = hashlib.sha256(opened.raw).hexdigest()
    return Wrapping(opened.header, recipe_of(opened), opened.padding, digest)


def recipe_of(opened: Opened) -> Recipe:
    """The way that gives the same stream from the same content; else the stream is kept."""
    for recipe in _likely(opened.header):
        start = _compressed(opened.content[:PROBE], recipe)
        # The last block of a part ends otherwise than that of the whole.
        if start is None or not opened.stream.startswith(start[: len(start) // 2]):
            continue
        if _compressed(opened.content, recipe) == opened.stream:
            return recipe
    return Recipe(KEPT, 9, stream=opened.stream)


def wrap(content: bytes, wrapping: Wrapping) -> bytes:
    """Compress a content as the original was, its header kept: same content, same file."""
    recipe = wrapping.recipe
    if recipe.by == KEPT:
        recipe = Recipe(ZLIB, recipe.level, recipe.memory)
    return _file(content, wrapping, _must(_compressed(content, recipe)))


def restore(content: bytes, wrapping: Wrapping, label: str) -> bytes:
    """Return the original gzip file from its content, or VerificationFailed."""
    recipe = wrapping.recipe
    stream = recipe.stream if recipe.by == KEPT else _must(_compressed(content, recipe))
    found = _file(content, wrapping, stream)
    if hashlib.sha256(found).hexdigest() != wrapping.sha256:
        raise VerificationFailed(
            f"{label}: its content compressed again is not the original gzip file",
            hint=f"this machine's {recipe.by} compresses otherwise than the one before",
        )
    return found


def as_json(wrapping: Wrapping) -> dict[str, Any]:
    """A wrapping as JSON values."""
    recipe = wrapping.recipe
    return {
        "header": wrapping.header.hex(), "padding": wrapping.padding, "sha256": wrapping.sha256,
        "by": recipe.by, "level": recipe.level, "memory": recipe.memory,
        "stream": recipe.stream.hex(),
    }  # fmt: skip


def from_json(document: Mapping[str, Any]) -> Wrapping:
    """The wrapping that `as_json` described; ValueError, TypeError or LookupError otherwise."""
    by, sha256 = document["by"], document["sha256"]
    level, memory, padding = (document[name] for name in ("level", "memory", "padding"))
    if any(type(number) is not int for number in (level, memory, padding)):
        raise TypeError("not int")
    if by not in (ZLIB, GZIP, KEPT) or type(sha256) is not str:
        raise ValueError("wrapping")
    if not (1 <= level <= 9 and 1 <= memory <= 9 and 0 <= padding < LARGEST):
        raise ValueError("wrapping")
    recipe = Recipe(by, level, memory, bytes.fromhex(document["stream"]))
    return Wrapping(bytes.fromhex(document["header"]), recipe, padding, sha256)


def _header_size(data: bytes, label: str) -> int:
    damaged = BadInput(f"{label}: its gzip header is damaged or truncated")
    if len(data) < FIXED.size or not is_gzip(data):
        raise damaged
    _, method, flags, *_ = FIXED.unpack_from(data)
    if method != DEFLATE or flags & 0xE0:
        raise BadInput(f"{label}: gzip data of method {method}, flags {flags:#x}, is not known")
    at = FIXED.size
    if flags & FEXTRA:
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for flag in (FNAME, FCOMMENT):
        if flags & flag:
            at = data.find(b"\0", at) + 1
            if not at:
                raise damaged
    if flags & FHCRC:
        if data[at : at + 2] != struct.pack("<H", zlib.crc32(data[:at]) & 0xFFFF):
            raise damaged
        at += 2
    if at > len(data):
        raise damaged
    return at


def _trailer(content: bytes) -> bytes:
    return struct.pack("<II", zlib.crc32(content), len(content) & 0xFFFFFFFF)


def _file(content: bytes, wrapping: Wrapping, stream: bytes) -> bytes:
    return wrapping.header + stream + _trailer(content) + bytes(wrapping.padding)


def _likely(header: bytes) -> Iterator[Recipe]:
    """Every way that is tried; the levels that the header hints at (2: 9, 4: 1) come first."""
    hint = {2: 9, 4: 1}.get(header[8], 6)
    levels = sorted(range(1, 10), key=lambda level: (level != hint, -level))
    for level in levels:
        yield Recipe(GZIP, level)
        for memory in MEMORIES:
            yield Recipe(ZLIB, level, memory)


def _compressed(content: bytes, recipe: Recipe) -> bytes | None:
    """A raw deflate stream; None when the program is not there or fails."""
    if recipe.by == ZLIB:
        engine = zlib.compressobj(recipe.level, zlib.DEFLATED, -zlib.MAX_WBITS, recipe.memory)
        return engine.compress(content) + engine.flush()
    program = shutil.which("gzip")
    if program is None:
        return None
    # gzip takes further options from a variable of its name.
    settings = {name: value for name, value in os.environ.items() if name != "GZIP"}
    command = (program, "-n", "-c", f"-{recipe.level}")
    done = subprocess.run(command, input=content, capture_output=True, env=settings, check=False)
    made = done.stdout
    if done.returncode or len(made) < FIXED.size + 8 or made[3] or made[-8:] != _trailer(content):
        return None
    return made[FIXED.size : -8]


def _must(stream: bytes | None) -> bytes:
    if stream is None:
        raise VerificationFailed(
            "the file cannot be compressed as it was: the program gzip is missing or fails",
            hint="install gzip, or decompress the file and work on its content",
        )
    return stream
