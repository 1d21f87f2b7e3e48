"""The tables of kallsyms in loaded bytes: each is found by a pattern and confirmed by the next.

The kernel's build (scripts/kallsyms.c) writes them one behind the other, aligned, zeros between:

    [offsets, relative base | addresses]  number of symbols, names, markers  [sequence]
    token table, token index  [offsets, relative base | addresses]  [sequence]

A name is its length (one byte, or two of 7 bits each) and so many bytes, each of which stands for a
token, a piece of text. Marker n is where name 256*n begins. The sequence lists the symbols' numbers
in the order of their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rewriter.core.readings.machine import ByteOrder
from rewriter.identify.kernel_symbols import LETTERS

TOKENS = 256
"""Entries of the token table: one for each value of a byte."""
MARKED = 256
"""Names from one marker to the next."""
LONGEST_NAME = 512
"""KSYM_NAME_LEN since Linux 6.1, letter included; it was 128 before."""
SHORTEST_STEP, LONGEST_STEP = 2 * MARKED, (2 + LONGEST_NAME) * MARKED
"""Bytes between two markers: at least a length and one token for each name."""
WINDOW = 1 << 23
"""Bytes before the token table where markers are looked for: 2 million symbols' sequence."""
SEQUENCE_SIZES = (0, 3, 4)
"""Bytes a number in the sequence: not there (until 6.1), 3 big-endian ones, 4 (6.2)."""

Numbers = npt.NDArray[np.int64]


class Refused(Exception):
    """Bytes that look like a table and are not: `depth` counts the tables that had agreed."""

    def __init__(self, depth: int, reason: str) -> None:
        super().__init__(reason)
        self.depth = depth


@dataclass(frozen=True)
class Layout:
    """What differs between kernels; sizes in bytes.

    `word` is a pointer's size; `narrow` that of the number of symbols and of a marker: a word until
    4.19, 4 since. `align` is each table's: a word, or, where the old `.align 8` (or 4) of the
    assembler meant a power of two (as for Alpha), that power.
    """

    word: int
    narrow: int
    align: int

    def up(self, address: int) -> int:
        """The address where a table may begin."""
        return address + -address % self.align


def layouts(word: int) -> Iterator[Layout]:
    """Every layout of kernels with a word of that size."""
    for narrow in sorted({4, word}):
        for align in (word, 1 << word):
            yield Layout(word, narrow, align)


@dataclass(frozen=True)
class Span:
    """The bytes of one loaded segment, from address `start`."""

    start: int
    data: bytes
    byteorder: ByteOrder

    @property
    def end(self) -> int:
        """Address after the last byte."""
        return self.start + len(self.data)

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`, fewer where the span ends."""
        return self.data[max(start - self.start, 0) : max(end - self.start, 0)]

    def numbers(self, address: int, count: int, size: int) -> Numbers | None:
        """Unsigned numbers of `size` bytes (of 8: their low 64 bits), or None outside the span."""
        if address < self.start or address + count * size > self.end:
            return None
        kind = np.dtype(f"u{size}").newbyteorder(self.byteorder)
        return np.frombuffer(self.data, kind, count, address - self.start).astype(np.int64)

    def is_zero(self, start: int, end: int) -> bool:
        """Whether only zero bytes stand there: padding."""
        return self.start <= start <= end <= self.end and not any(self.read(start, end))


@dataclass(frozen=True)
class Tokens:
    """The token table, from `start`, and its index, which begins at `index` and has 512 bytes."""

    start: int
    table_end: int
    index: int
    texts: tuple[bytes, ...]

    @property
    def end(self) -> int:
        """Address after the index."""
        return self.index + 2 * TOKENS


@dataclass(frozen=True)
class Names:
    """Symbols' letters and names in order of address, and where their tables begin.

    `markers_end` is the address after the last marker, padding not counted.
    """

    count_at: int
    start: int
    markers_end: int
    texts: tuple[bytes, ...]


def find_tokens(span: Span) -> Iterator[Tokens | Refused]:
    """Every rising row of 256 half words that starts with 0 and counts the texts before it."""
    first = -span.start % 2
    kind = np.dtype("u2").newbyteorder(span.byteorder)
    halves = np.frombuffer(span.data, kind, max(len(span.data) - first, 0) // 2, first)
    breaks = np.flatnonzero(halves[1:] <= halves[:-1]) + 1
    starts = np.concatenate(([0], breaks))
    lengths = np.diff(np.concatenate((starts, [len(halves)])))
    for at in starts[(lengths >= TOKENS) & (halves[starts] == 0)].tolist() if len(halves) else ():
        row = halves[at : at + TOKENS].astype(np.int64)
        yield _tokens(span, span.start + first + 2 * at, row)


def _tokens(span: Span, index: int, row: Numbers) -> Tokens | Refused:
    before = span.read(index - int(row[-1]) - 2 * LONGEST_NAME, index)
    table = before.rstrip(b"\0") + b"\0"
    start = table[:-1].rfind(b"\0") + 1 - int(row[-1])
    pieces = table[max(start, 0) : -1].split(b"\0")
    where = f"token index at {index:#x}"
    if start < 0 or len(pieces) != TOKENS:
        return Refused(0, f"{where}: {len(pieces)} texts before it, not {TOKENS}")
    if row[1:].tolist() != np.cumsum([len(piece) + 1 for piece in pieces[:-1]]).tolist():
        return Refused(1, f"{where}: does not count the texts before it")
    for code, piece in enumerate(pieces):
        # The build gives each character that names use its own code, all others longer texts.
        if len(piece) == 1 and piece[0] != code:
            return Refused(1, f"{where}: token {code} is the character {piece!r}")
        if any(not 0x21 <= byte <= 0x7E for byte in piece):
            return Refused(1, f"{where}: token {code} is not a text: {piece[:16]!r}")
    table_start = index - len(before) + start
    return Tokens(table_start, table_start + len(table) - start, index, tuple(pieces))


def find_names(span: Span, tokens: Tokens, layout: Layout) -> Iterator[Names | Refused]:
    """Names that agree with a row of markers that stands before the token table."""
    if layout.up(tokens.table_end) != tokens.index or tokens.start % layout.align:
        return
    low = layout.up(max(span.start, tokens.start - WINDOW))
    row = span.numbers(low, max(tokens.start - low, 0) // layout.narrow, layout.narrow)
    if row is None or len(row) < 2:
        return
    steps = np.diff(row)
    good = (steps >= SHORTEST_STEP) & (steps <= LONGEST_STEP)
    stops = np.append(np.flatnonzero(~good), len(good))
    starts = np.flatnonzero(good & (row[:-1] == 0))
    runs = stops[np.searchsorted(stops, starts)] - starts + 1
    for at, length in zip(starts.tolist(), runs.tolist(), strict=True):
        address = low + at * layout.narrow
        if address % layout.align == 0:
            markers = row[at : at + length]
            for number in _lengths(address, length, tokens.start, layout):
                yield from _before(span, tokens, layout, address, markers[:number])


def _lengths(markers: int, longest: int, tokens: int, layout: Layout) -> Iterator[int]:
    """How many markers there may be for the sequence, if any, to end where the tokens begin."""
    for size in SEQUENCE_SIZES:
        for number in range(2, longest + 1) if size else (longest,):
            most, least = MARKED * number, MARKED * (number - 1) + 1
            after = layout.up(markers + number * layout.narrow)
            if layout.up(after + size * least) <= tokens <= layout.up(after + size * most):
                yield number


def _before(
    span: Span, tokens: Tokens, layout: Layout, markers: int, row: Numbers
) -> Iterator[Names | Refused]:
    """Names before a row of markers, by the number of symbols that stands before them."""
    last = int(row[-1])
    low = layout.up(max(span.start, markers - last - LONGEST_STEP - 2 * layout.align))
    # From `low` on: NumPy has no signed type for addresses of kernels.
    places = np.arange(0, max(markers - last - low, 0), layout.align)
    inside = span.read(low, markers)
    kind = np.dtype(f"u{layout.narrow}").newbyteorder(span.byteorder)
    wide = np.frombuffer(inside[: len(inside) // layout.narrow * layout.narrow], kind)
    counts = wide[places // layout.narrow].astype(np.int64)
    fits = (counts > MARKED * (len(row) - 1)) & (counts <= MARKED * len(row))
    for at, count in zip(places[fits].tolist(), counts[fits].tolist(), strict=True):
        place = low + at
        start = layout.up(place + layout.narrow)
        try:
            texts, end = _walk(span, start, markers, count, row)
            _pad(span, place + layout.narrow, start)
            _pad(span, end, markers, layout)
        except Refused as refused:
            yield refused
            continue
        names = (b"".join(map(tokens.texts.__getitem__, text)) for text in texts)
        yield _checked(Names(place, start, markers + len(row) * layout.narrow, tuple(names)))


def _walk(
    span: Span, start: int, stop: int, count: int, markers: Numbers
) -> tuple[list[bytes], int]:
    """The packed names and the address after them."""
    data, at, marked = span.read(start, stop), 0, markers.tolist()
    found = []
    for number in range(count):
        if number % MARKED == 0 and at != marked[number // MARKED]:
            said = marked[number // MARKED]
            raise Refused(
                2 + number // MARKED,
                f"names at {start:#x}: name {number} is at {at:#x}, its marker says {said:#x}",
            )
        length = data[at] if at < len(data) else 0
        at += 1
        if length & 0x80 and at < len(data):
            length = length & 0x7F | data[at] << 7
            at += 1
        if not length or at + length > len(data):
            raise Refused(2 + number // MARKED, f"names at {start:#x}: name {number} has no end")
        found.append(data[at : at + length])
        at += length
    return found, start + at


def _checked(names: Names) -> Names | Refused:
    for number, text in enumerate(names.texts):
        if len(text) < 2 or len(text) > LONGEST_NAME or chr(text[0]) not in LETTERS:
            depth = 3 + len(names.texts) // MARKED
            return Refused(depth, f"names at {names.start:#x}: name {number} is {text[:40]!r}")
    return names


def _pad(span: Span, start: int, end: int, layout: Layout | None = None) -> None:
    """Refuses what stands between two tables and is not padding."""
    if not span.is_zero(start, end) or (layout and layout.up(start) != end):
        raise Refused(3, f"{start:#x} to {end:#x} is not the padding between two tables")
