"""The other tables of kallsyms: addresses in one of three forms, and the order of the names.

    absolute                words, rising (until 4.5, and on IA-64)
    relative                4-byte offsets from a base, which is the lowest address
    relative but for percpu signed offsets: not negative is an absolute address (of per-CPU data),
                            a negative one is base - 1 - address

They stand before the number of symbols, or behind the token index with the sequence behind them
(since 6.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rewriter.elf.headers import PT_LOAD
from rewriter.elf.image import Image
from rewriter.identify.kallsyms.tables import (
    SEQUENCE_SIZES,
    Layout,
    Names,
    Numbers,
    Refused,
    Span,
    Tokens,
)
from rewriter.identify.kernel_symbols import CODE

Values = npt.NDArray[np.uint64]
NAMED = 1 << 20
"""`Refused.depth` of what has names that all agree with their markers."""


@dataclass(frozen=True)
class Addresses:
    """Where the table begins and ends (base included, padding not), and what it holds."""

    start: int
    end: int
    form: str
    values: Values


@dataclass(frozen=True)
class Form:
    """One way to keep addresses: bytes for each, bytes of the base behind them, and the reading."""

    name: str
    read: Callable[[Span, int, int, Layout], Values]
    size: int
    base: int


def find_addresses(
    image: Image, span: Span, tokens: Tokens, names: Names, layout: Layout
) -> Iterator[Addresses | Refused]:
    """Every reading of the bytes before the names or behind the tokens that may be addresses."""
    count = len(names.texts)
    forms = (
        Form("relative", _relative, 4, layout.word),
        Form("relative but for percpu", _per_cpu, 4, layout.word),
        Form("absolute", _absolute, layout.word, 0),
    )
    for form in forms:
        table = layout.up(form.size * count)
        for start in (names.count_at - table - layout.up(form.base), layout.up(tokens.end)):
            try:
                values = form.read(span, start, count, layout)
                _check(image, names, start, values)
            except Refused as refused:
                yield refused
            else:
                end = start + (table + form.base if form.base else form.size * count)
                yield Addresses(start, end, form.name, values)


def _absolute(span: Span, start: int, count: int, layout: Layout) -> Values:
    return _numbers(span, start, count, layout.word).astype(np.uint64)


def _relative(span: Span, start: int, count: int, layout: Layout) -> Values:
    offsets = _numbers(span, start, count, 4).astype(np.uint64)
    if offsets[0]:
        raise Refused(NAMED, f"offsets at {start:#x}: the first is not of the relative base")
    return (_base(span, start, count, layout) + offsets) & _mask(layout)


def _per_cpu(span: Span, start: int, count: int, layout: Layout) -> Values:
    offsets = _numbers(span, start, count, 4).astype(np.uint32).view(np.int32).astype(np.int64)
    negative = offsets < 0
    if not negative.any() or offsets[negative][0] != -1:
        raise Refused(NAMED, f"offsets at {start:#x}: none is of the relative base itself")
    far = _base(span, start, count, layout) - (offsets + 1).astype(np.uint64)
    return np.where(negative, far & _mask(layout), offsets.astype(np.uint64))


def _base(span: Span, start: int, count: int, layout: Layout) -> Values:
    place = start + layout.up(4 * count)
    return _numbers(span, place, 1, layout.word).astype(np.uint64)


def _mask(layout: Layout) -> np.uint64:
    return np.uint64((1 << 8 * layout.word) - 1)


def _numbers(span: Span, start: int, count: int, size: int) -> Numbers:
    found = span.numbers(start, count, size)
    if found is None:
        raise Refused(NAMED, f"{start:#x}: {count} numbers of {size} bytes are not all loaded")
    return found


def _check(image: Image, names: Names, start: int, values: Values) -> None:
    """Refuses addresses that do not rise, or whose code is not there."""
    falls = np.flatnonzero(values[1:] < values[:-1])
    if len(falls):
        number = int(falls[0]) + 1
        raise Refused(
            NAMED + number, f"addresses at {start:#x}: number {number} is below the one before"
        )
    code = np.array([chr(text[0]) in CODE for text in names.texts])
    loaded = np.zeros(len(values), bool)
    for s in image.segments:
        if s.p_type == PT_LOAD:
            # A symbol may mark the end of a segment, and that the end of the space.
            within = values - np.uint64(s.p_vaddr) <= np.uint64(s.p_memsz)
            loaded |= (values >= s.p_vaddr) & within
    lost = np.flatnonzero(code & ~loaded)
    if len(lost) or not code.any():
        what = f"{int(values[lost[0]]):#x} is not loaded" if len(lost) else "none is in code"
        raise Refused(
            NAMED + (int(lost[0]) if len(lost) else 0), f"addresses at {start:#x}: {what}"
        )


def sequence_before(span: Span, tokens: Tokens, names: Names, layout: Layout) -> bool:
    """Whether a sequence stands between markers and tokens; Refused if something else does."""
    after = layout.up(names.markers_end)
    for size in SEQUENCE_SIZES:
        end = after + size * len(names.texts)
        if layout.up(end) == tokens.start and span.is_zero(end, tokens.start):
            if size:
                check_sequence(span, after, size, names)
            return bool(size)
    raise Refused(
        NAMED, f"{after:#x} to {tokens.start:#x}: markers or sequence do not end at the tokens"
    )


def check_sequence(span: Span, start: int, size: int, names: Names) -> None:
    """Refuses a sequence that is not the order of the names."""
    count = len(names.texts)
    order = _thirds(span, start, count) if size == 3 else _numbers(span, start, count, size)
    if not np.array_equal(np.sort(order), np.arange(count)):
        raise Refused(NAMED, f"sequence at {start:#x}: not each symbol is there once")
    listed = [names.texts[number][1:] for number in order.tolist()]
    if not (_rises(listed, bytes) or _rises(listed, _plain)):
        raise Refused(NAMED, f"sequence at {start:#x}: does not sort the names")


def _thirds(span: Span, start: int, count: int) -> Numbers:
    """Numbers of 3 bytes, the high one first in either byte order."""
    high, middle, low = _numbers(span, start, 3 * count, 1).reshape(count, 3).T
    return high << 16 | middle << 8 | low


def _plain(name: bytes) -> bytes:
    """A name without what clang's link-time optimisation adds to it, as the build compares it."""
    return name.partition(b".")[0]


def _rises(names: list[bytes], key: Callable[[bytes], bytes]) -> bool:
    keys = list(map(key, names))
    return all(a <= b for a, b in pairwise(keys))
