"""Texts in several xz streams, as older manifests have them: read, and bounded."""

from __future__ import annotations

import lzma
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.core.errors import BadInput
from rewriter.elf.manifest import streams


def pack(text: bytes, stream: int) -> bytes:
    """The text as streams of so many bytes each."""
    parts = [text[at : at + stream] for at in range(0, len(text), stream)] or [b""]
    return b"".join(map(lzma.compress, parts))


@given(st.binary(max_size=300), st.integers(9, 90))
def test_streams_give_the_text_back(text: bytes, stream: int) -> None:
    assert streams.unpack(pack(text, stream)) == text


def test_a_second_stream_that_ends_early_or_goes_on() -> None:
    packed = pack(b"ab", 1)
    for bad in (packed[:-1], packed + b"x"):
        with pytest.raises(BadInput, match="has no end or goes on"):
            streams.unpack(bad)


def test_streams_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LARGEST", 5)
    assert streams.unpack(pack(b"abcde", 2)) == b"abcde"
    with pytest.raises(BadInput, match="has no end or goes on"):
        streams.unpack(pack(b"abcdef", 2))


def test_a_short_one_does_not_become_a_long_text() -> None:
    with pytest.raises(BadInput, match="has no end or goes on"):
        streams.unpack(lzma.compress(bytes(streams.AT_LEAST + 1)))


def test_a_hundred_thousand_streams_are_refused_at_once() -> None:
    many = lzma.compress(b"") * 100_000
    started = time.process_time()
    with pytest.raises(BadInput):
        streams.unpack(many)
    assert time.process_time() - started < 2
