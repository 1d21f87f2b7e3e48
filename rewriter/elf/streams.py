"""Long texts packed as xz streams, one behind another, as `xz` itself reads them."""

from __future__ import annotations

import lzma
from concurrent.futures import ThreadPoolExecutor

from rewriter.core.errors import BadInput

STREAM = 6 << 20
"""Bytes that a stream packs: what is alike is near, and a kernel's text gives both threads one."""

_FILTERS = (
    {
        "id": lzma.FILTER_LZMA2,
        "preset": 1,
        "dict_size": STREAM,
        "mode": lzma.MODE_FAST,
        "mf": lzma.MF_HC4,
        "nice_len": 32,
        "depth": 8,
    },
)
"""The fast mode takes 0.4 of the normal one's time and 8 % more bytes, for a third of a kernel; the
dictionary reaches over the whole stream."""

_THREADS = 2

LARGEST = 1 << 28
"""Bytes that a text may have: a damaged or hostile one shall not fill the memory."""


def pack(text: bytes, stream: int = STREAM) -> bytes:
    """The text as streams of so many bytes each; the same text, the same bytes."""
    parts = [text[at : at + stream] for at in range(0, len(text), stream)] or [b""]
    with ThreadPoolExecutor(_THREADS) as threads:
        return b"".join(threads.map(_packed, parts))


def _packed(part: bytes) -> bytes:
    return lzma.compress(part, filters=_FILTERS)


def unpack(packed: bytes) -> bytes:
    """What `pack` packed; BadInput for streams that end early, go on, or give too much."""
    found: list[bytes] = []
    left = LARGEST
    while packed or not found:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        found.append(stream.decompress(packed, left))
        left -= len(found[-1])
        packed = stream.unused_data
        if not stream.eof:
            raise BadInput("the manifest is malformed: its stream has no end or goes on after it")
    return b"".join(found)
