"""Columns of bytes as one block, each packed in the way that makes it shortest.

    number of columns
    for each: its number, how it is packed, its size, its size packed
    the packed columns, one behind another

All numbers are those of `rewriter/core/varints.py`. What is read may be anything: ValueError says
what is wrong, before a size that cannot be right costs any memory.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from rewriter.core.run.ledger import beside
from rewriter.core.varints import packed, unpacked

PLAIN, DEFLATE, LZMA, LZMA_WORDS = range(4)
_CONTEXTS = {LZMA: (0, 0, 0), LZMA_WORDS: (1, 2, 2)}
"""lc, lp and pb: what a literal depends on, for bytes and text, and for 32-bit words."""
_LEAST, _MOST = 1 << 12, 1 << 23
"""Bytes of LZMA's dictionary: an encoder takes twelve times as much memory."""
_SMALL, _LONG = 200, 20_000
"""Bytes from which LZMA is tried, which ends with a mark of six, and up to which Deflate is."""
_THREADS = 2

AT_LEAST, TIMES = 1 << 20, 16
"""Bytes that all columns together may have: AT_LEAST, or as many as the block times TIMES."""
_DIRECTORY = 1 << 10
"""Bytes within which the directory ends."""
_ROW = 4


class Packing:
    """Columns of one block, which other threads pack while more are made.

    Those that are empty are left out; the same columns in the same order give the same bytes.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS)
        self._columns: dict[int, bytes] = {}
        self._tried: dict[int, list[tuple[int, Future[bytes]]]] = {}

    def __enter__(self) -> Packing:
        return self

    def __exit__(self, *error: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def add(self, columns: Mapping[int, bytes]) -> None:
        """Begins with more columns, by number."""
        kept = {number: column for number, column in columns.items() if column}
        self._columns |= kept
        submit, packing = self._threads.submit, beside(_packed)
        # The longest first, or it would end alone.
        for number, column in sorted(kept.items(), key=lambda one: -len(one[1])):
            self._tried[number] = [(how, submit(packing, column, how)) for how in _ways(column)]

    def block(self) -> bytes:
        """The block, each column in the first of the ways that make it shortest."""
        columns = self._columns
        block = _block(columns, list(map(self._shortest, columns)))
        if sum(map(len, columns.values())) <= largest(block):
            return block
        # What is so much shorter packed could not be told from a trap.
        return _block(columns, [(PLAIN, column) for column in columns.values()])

    def _shortest(self, number: int) -> tuple[int, bytes]:
        """How a column is packed, and what comes of it."""
        ways = [(how, packing.result()) for how, packing in self._tried[number]]
        return min(ways, key=lambda way: len(way[1]))


def pack(columns: Mapping[int, bytes]) -> bytes:
    """The columns that are not empty as one block; the same columns, the same bytes."""
    with Packing() as packing:
        packing.add(columns)
        return packing.block()


def largest(block: bytes) -> int:
    """How many bytes the columns of a block may have."""
    return max(AT_LEAST, TIMES * len(block))


def _block(columns: Mapping[int, bytes], done: Sequence[tuple[int, bytes]]) -> bytes:
    rows = [len(columns)]
    for (number, column), (how, short) in zip(columns.items(), done, strict=True):
        rows += (number, how, len(column), len(short))
    return packed(np.array(rows, np.int64)) + b"".join(short for _, short in done)


def unpack(block: bytes) -> dict[int, bytes]:
    """The columns by number; ValueError for a block that `pack` does not make."""
    rows, at = _directory(block)
    if sum(size for _, _, size, _ in rows) > largest(block):
        raise ValueError("sizes of columns")
    if sum(short for *_, short in rows) != len(block) - at:
        raise ValueError("sizes of packed columns")
    found: dict[int, bytes] = {}
    for number, how, size, short in rows:
        if number in found:
            raise ValueError("a column that is there twice")
        found[number] = _whole(how, block[at : at + short], size)
        at += short
    return found


def _directory(block: bytes) -> tuple[list[tuple[int, int, int, int]], int]:
    """The rows of the directory, and where the first column starts."""
    head = np.frombuffer(block[:_DIRECTORY], np.uint8)
    ends = np.flatnonzero(head < 128)
    count = int(unpacked(block[: int(ends[0]) + 1])[0]) if len(ends) else 0
    if count * _ROW >= len(ends):
        raise ValueError("directory of columns")
    at = int(ends[count * _ROW]) + 1
    numbers = unpacked(block[:at]).tolist()[1:]
    return [tuple(numbers[n : n + _ROW]) for n in range(0, len(numbers), _ROW)], at


def _ways(column: bytes) -> Iterator[int]:
    """How a column may be packed."""
    yield PLAIN
    if len(column) <= _LONG:
        yield DEFLATE
    if len(column) > _SMALL:
        yield LZMA
    if len(column) > _SMALL and len(column) % 4 == 0:
        yield LZMA_WORDS


def _packed(column: bytes, how: int) -> bytes:
    """A column packed."""
    if how == PLAIN:
        return column
    if how == DEFLATE:
        engine = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        return engine.compress(column) + engine.flush()
    # A dictionary that holds all of it: a larger one gives the same.
    whole = 1 << (len(column) - 1).bit_length()
    filters = _filters(how, min(max(whole, _LEAST), _MOST))
    return lzma.compress(column, lzma.FORMAT_RAW, filters=filters)


def _filters(how: int, dictionary: int = _MOST) -> list[dict[str, Any]]:
    lc, lp, pb = _CONTEXTS[how]
    sizes = {"dict_size": dictionary, "lc": lc, "lp": lp, "pb": pb}
    return [{"id": lzma.FILTER_LZMA1, "preset": 6, **sizes}]


def _whole(how: int, short: bytes, size: int) -> bytes:
    """A column again, of exactly that size."""
    if how == PLAIN:
        column, ended = short, True
    elif how == DEFLATE:
        engine = zlib.decompressobj(-zlib.MAX_WBITS)
        column = engine.decompress(short, size + 1)
        ended = engine.eof and not engine.unused_data
    elif how in _CONTEXTS:
        stream = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_filters(how))
        column = stream.decompress(short, size + 1)
        ended = not stream.unused_data
    else:
        raise ValueError("a way to pack that is not known")
    if len(column) != size or not ended:
        raise ValueError("size of a column")
    return column
