"""Texts in several xz streams: read by ours and by Python's own reader, and bounded."""

from __future__ import annotations

import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.core.errors import BadInput
from rewriter.elf import streams


@given(st.binary(max_size=300), st.integers(1, 90))
def test_streams_give_the_text_back(text: bytes, stream: int) -> None:
    packed = streams.pack(text, stream)
    assert lzma.decompress(packed) == text
    assert streams.unpack(packed) == text


def test_a_second_stream_that_ends_early_or_goes_on() -> None:
    packed = streams.pack(b"ab", 1)
    for bad in (packed[:-1], packed + b"x"):
        with pytest.raises(BadInput, match="has no end or goes on"):
            streams.unpack(bad)


def test_streams_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LARGEST", 5)
    assert streams.unpack(streams.pack(b"abcde", 2)) == b"abcde"
    with pytest.raises(BadInput, match="has no end or goes on"):
        streams.unpack(streams.pack(b"abcdef", 2))
