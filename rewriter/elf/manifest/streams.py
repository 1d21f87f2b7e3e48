"""Texts in xz streams, one behind another, as `xz` itself writes and reads them."""

from __future__ import annotations

import lzma

from rewriter.core.errors import BadInput

LARGEST = 1 << 28
"""Bytes that a text may have."""
AT_LEAST, TIMES = 16 << 20, 64
"""Bytes that a short one may have, and times its packed size that another may."""
STREAMS = 64
"""Streams of a text: one was written for each 6 MiB."""
_MEMORY = 64 << 20
"""Bytes that a decoder may take: dictionaries of 6 MiB were written."""


def unpack(packed: bytes) -> bytes:
    """The text; BadInput for streams that end early, go on, are too many or give too much."""
    found: list[bytes] = []
    left = min(LARGEST, max(AT_LEAST, TIMES * len(packed)))
    while packed or not found:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
        found.append(stream.decompress(packed, left))
        left -= len(found[-1])
        packed = stream.unused_data
        if not stream.eof or len(found) > STREAMS:
            raise BadInput("the manifest is malformed: its stream has no end or goes on after it")
    return b"".join(found)
