"""Gzip files around an ELF file: what goes in comes out, byte for byte, whoever compressed it."""

from __future__ import annotations

import gzip
import io
import struct
import subprocess
import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.errors import BadInput, VerificationFailed
from rewriter.elf import compressed
from rewriter.elf.compressed import GZIP, KEPT, ZLIB


def gnu(data: bytes, *options: str) -> bytes:
    """What the program gzip makes of a content on its standard input."""
    tool = inputs.require_tool("gzip")
    return subprocess.run(
        (tool, "-c", *options), input=data, capture_output=True, check=True
    ).stdout


def odd(data: bytes) -> bytes:
    """A gzip file that neither gzip nor zlib as programs call it would make."""
    engine = zlib.compressobj(9, zlib.DEFLATED, 31, 4, zlib.Z_FILTERED)
    return engine.compress(data) + engine.flush()


def there_and_back(raw: bytes, content: bytes) -> compressed.Wrapping:
    """Opens and closes: content, wrapping and file must agree; gives the wrapping."""
    opened = compressed.open_gzip(raw, "f")
    assert opened.content == content
    wrapping = compressed.wrapping_of(opened)
    assert compressed.from_json(compressed.as_json(wrapping)) == wrapping
    assert compressed.restore(content, wrapping, "f") == raw
    again = compressed.wrap(content + b"more", wrapping)
    assert gzip.decompress(again) == content + b"more"
    assert again.startswith(wrapping.header)
    return wrapping


@pytest.mark.parametrize(
    ("make", "by"),
    [
        (lambda d: gnu(d, "-1"), GZIP),
        (lambda d: gnu(d, "-6", "-n"), GZIP),
        (lambda d: gnu(d, "-9", "-n"), GZIP),
        (lambda d: gzip.compress(d, 9), ZLIB),
        (lambda d: gzip.compress(d, 3, mtime=0), ZLIB),
        (odd, KEPT),
    ],
    ids=["gnu-1", "gnu-6", "gnu-9", "python-9", "python-3", "odd"],
)
def test_a_real_file_comes_back(make: Callable[[bytes], bytes], by: str) -> None:
    """The libc, two megabytes, as different programs compress it."""
    data = inputs.require("alpha-libc").read_bytes()
    wrapping = there_and_back(make(data), data)
    assert wrapping.recipe.by == by
    assert bool(wrapping.recipe.stream) == (by == KEPT)


def test_a_real_kernel_comes_back() -> None:
    """vmlinux.gz as GNU gzip makes it, eleven megabytes."""
    data = inputs.require("alpha-vmlinux").read_bytes()
    assert there_and_back(gnu(data, "-4"), data).recipe == compressed.Recipe(GZIP, 4)


@settings(max_examples=60)
@given(
    content=st.binary(max_size=3000),
    name=st.none() | st.binary(max_size=30).map(lambda b: b.replace(b"\0", b"")),
    comment=st.none() | st.binary(max_size=30).map(lambda b: b.replace(b"\0", b"")),
    extra=st.none() | st.binary(max_size=30),
    checked=st.booleans(),
    numbers=st.tuples(st.integers(0, 2**32 - 1), st.sampled_from([0, 2, 4]), st.integers(0, 255)),
    padding=st.integers(0, 20),
    level=st.integers(1, 9),
)
def test_every_field_of_the_header_is_kept(
    content: bytes,
    name: bytes | None,
    comment: bytes | None,
    extra: bytes | None,
    checked: bool,
    numbers: tuple[int, int, int],
    padding: int,
    level: int,
) -> None:
    """Headers as RFC 1952 has them."""
    flags = 2 * checked | 4 * (extra is not None) | 8 * (name is not None)
    flags |= 16 * (comment is not None)
    time, hint, system = numbers
    header = struct.pack("<2sBBIBB", b"\x1f\x8b", 8, flags, time, hint, system)
    if extra is not None:
        header += struct.pack("<H", len(extra)) + extra
    for text in (name, comment):
        if text is not None:
            header += text + b"\0"
    if checked:
        header += struct.pack("<H", zlib.crc32(header) & 0xFFFF)
    engine = zlib.compressobj(level, zlib.DEFLATED, -15)
    stream = engine.compress(content) + engine.flush()
    trailer = struct.pack("<II", zlib.crc32(content), len(content))
    raw = header + stream + trailer + bytes(padding)
    wrapping = there_and_back(raw, content)
    assert wrapping.header == header


GOOD = gzip.compress(b"\x7fELF" + bytes(range(256)) * 40, mtime=0)
BAD = {
    "magic alone": (GOOD[:2], "header is damaged or truncated"),
    "header alone": (GOOD[:10], "gzip data is truncated"),
    "truncated": (GOOD[:-20], "gzip data is truncated"),
    "trailer": (GOOD[:-1], "checksum or length does not fit"),
    "checksum": (GOOD[:-8] + bytes(8), "checksum or length does not fit"),
    "method": (GOOD[:2] + b"\x07" + GOOD[3:], "method 7, flags 0x0, is not known"),
    "flags": (GOOD[:3] + b"\x80" + GOOD[4:], "method 8, flags 0x80, is not known"),
    "name": (GOOD[:3] + b"\x08" + b"x" * 30, "header is damaged or truncated"),
    "extra": (GOOD[:3] + b"\x04" + GOOD[4:10] + b"\xff\xff", "header is damaged or truncated"),
    "stream": (GOOD[:10] + b"\xff" * 40, "gzip data is damaged: "),
    "two members": (GOOD + GOOD, "bytes follow its gzip data"),
    "signature": (GOOD + b"~Module signature appended~\n", "28 bytes follow its gzip data"),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_a_bad_file_is_refused_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        compressed.open_gzip(data, "some/file")
    assert str(caught.value).startswith("some/file: ")


@settings(max_examples=150)
@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_a_damaged_file_never_gives_another_content(at: int, bits: int) -> None:
    """A checksum of 32 bits sees every change of one byte."""
    damaged = bytearray(GOOD)
    damaged[at] ^= bits
    try:
        opened = compressed.open_gzip(bytes(damaged), "f")
    except BadInput:
        return
    assert opened.content == gzip.decompress(GOOD)


def test_a_content_without_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "LARGEST", 1 << 20)
    bomb = gzip.compress(bytes(1 << 21))
    with pytest.raises(BadInput, match=r"^f: its gzip data has more than 1048576 bytes$"):
        compressed.open_gzip(bomb, "f")


def test_another_compressor_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose zlib or gzip gives other bytes, or that has no gzip, gives an error."""
    raw = gnu(b"a retuned kernel " * 1000, "-9")
    opened = compressed.open_gzip(raw, "f")
    wrapping = compressed.wrapping_of(opened)
    assert wrapping.recipe.by == GZIP
    other = replace(wrapping, recipe=compressed.Recipe(ZLIB, 1))
    with pytest.raises(VerificationFailed, match="content compressed again is not the original"):
        compressed.restore(opened.content + b"x", other, "f")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(VerificationFailed, match="the program gzip is missing or fails"):
        compressed.restore(opened.content, wrapping, "f")
    # Without the program the file can still be opened, and its bytes are kept.
    assert compressed.recipe_of(opened).by in (KEPT, ZLIB)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("header"),
        lambda d: d.update(by="zopfli"),
        lambda d: d.update(level=0),
        lambda d: d.update(level=True),
        lambda d: d.update(padding=-1),
        lambda d: d.update(padding=1 << 40),
        lambda d: d.update(stream="xy"),
        lambda d: d.update(sha256=None),
    ],
)
def test_a_malformed_wrapping_is_refused(change: Callable[[dict[str, object]], object]) -> None:
    wrapping = compressed.wrapping_of(compressed.open_gzip(GOOD, "f"))
    document = compressed.as_json(wrapping)
    change(document)
    with pytest.raises((ValueError, TypeError, LookupError)):
        compressed.from_json(document)


def test_the_oracle_reads_what_is_written() -> None:
    """Python's gzip module, which is not ours, agrees on name and content."""
    raw = gnu(b"content", "-9")
    opened = compressed.open_gzip(raw, "f")
    made = compressed.wrap(b"another content", compressed.wrapping_of(opened))
    with gzip.GzipFile(fileobj=io.BytesIO(made)) as file:
        assert file.read() == b"another content"
        assert file.mtime == struct.unpack_from("<I", raw, 4)[0]
