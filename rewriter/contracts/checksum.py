"""csum_partial, csum_ipv6_magic: the Internet checksum (RFC 1071), bytes in memory order.

A partial checksum of 32 bits has many values for one sum of 16: it is the folded sum of the bytes
added to what was there, carries at the low end, as Linux has it (lib/checksum.c, csum_partial).
"""

from __future__ import annotations

from rewriter.contracts.contract import (
    NOTHING,
    Arena,
    Case,
    Contract,
    Kind,
    Plan,
    Result,
    View,
    widen,
)
from rewriter.contracts.place import EIGHT, END, MIDDLE, START, address, noise, piece, scatter

_SUMS = (0, 1, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFE0001)


def fold(value: int) -> int:
    """A sum as 16 bits, carries added at the low end."""
    while value >> 16:
        value = (value & 0xFFFF) + (value >> 16)
    return value


def _words(view: View, data: bytes) -> int:
    """The sum of the machine's 16-bit words; a byte left over is followed by a zero."""
    low, high = data[0::2], data[1::2]
    if view.byteorder == "big":
        low, high = high, low
    return sum(low) + (sum(high) << 8)


def csum_partial(view: View, source: int, count: int, total: int) -> int:
    """Adds the 16-bit words at `source`, a byte left over as a word, to a partial checksum."""
    data = view.read(source, count) if count else b""
    result = fold(_words(view, data)) + (total & 0xFFFFFFFF)
    return widen((result & 0xFFFFFFFF) + (result >> 32))


def csum_ipv6_magic(
    view: View, source: int, target: int, length: int, protocol: int, total: int
) -> int:
    """Complement of the sum over the IPv6 pseudo-header (RFC 8200, 8.1)."""
    header = view.read(source, 16) + view.read(target, 16)
    header += (length & 0xFFFFFFFF).to_bytes(4, "big") + (protocol & 0xFF).to_bytes(4, "big")
    return fold(_words(view, header) + (total & 0xFFFFFFFF)) ^ 0xFFFF


def _partial(arena: Arena, count: int, source: int, place: int, total: int) -> Case:
    start = address(arena, 1, count, source, place)
    data = bytes((0xFF,)) * count if total == 2 else noise(count, count + source)
    return Case((start, count, widen(_SUMS[total])), (piece(arena, start, data, source),))


def _magic(arena: Arena, source: int, target: int, place: int, seed: int) -> Case:
    first = address(arena, 0, 16, source, place)
    second = address(arena, 1, 16, target, place)
    same = bytes((seed & 1) * 0xFF for _ in range(16))
    one, two = (same, same) if seed < 4 else (noise(16, seed), noise(16, seed + source))
    length = (0, 8, 1280, 65575, 0x7FFFFFF8, 0xFFFFFFFF, scatter(seed))[seed % 7]
    total = _SUMS[scatter(seed, source) % len(_SUMS)] if seed % 3 else scatter(seed, target)
    values = first, second, widen(length), (6, 17, 58, 255, 0)[seed % 5], widen(total)
    return Case(values, (piece(arena, first, one), piece(arena, second, two)))


_ALL_SUMS = tuple(range(len(_SUMS)))
_PARTIAL = (
    Plan(
        "every alignment and length",
        {"count": range(1025), "source": EIGHT, "place": (MIDDLE,), "total": (0, 2, 6)},
        {"count": range(0, 140, 9), "source": EIGHT, "place": (MIDDLE,), "total": (6,)},
    ),
    Plan(
        "page ends",
        {"count": range(130), "source": EIGHT, "place": (END, START), "total": _ALL_SUMS},
        {"count": range(0, 80, 7), "source": EIGHT, "place": (END, START), "total": (5,)},
    ),
    Plan(
        "long",
        {"count": (1500, 9000, 65535), "source": EIGHT, "place": (MIDDLE,), "total": _ALL_SUMS},
    ),
    NOTHING,
)
_MAGIC = (
    Plan(
        "alignments",
        {"source": EIGHT, "target": EIGHT, "place": (MIDDLE, END, START), "seed": range(60)},
        {"source": EIGHT, "target": EIGHT, "place": (END,), "seed": (0, 5)},
    ),
)
CONTRACTS = (
    Contract(
        "csum_partial",
        (Kind.FROM, Kind.COUNT, Kind.INT),
        Result.INT,
        csum_partial,
        _partial,
        _PARTIAL,
    ),
    Contract(
        "csum_ipv6_magic",
        (Kind.FROM, Kind.FROM, Kind.INT, Kind.INT, Kind.INT),
        Result.QUAD,
        csum_ipv6_magic,
        _magic,
        _MAGIC,
    ),
)
