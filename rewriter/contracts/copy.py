"""memcpy, mempcpy, memmove, bcopy."""

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
)
from rewriter.contracts.place import EIGHT, END, MIDDLE, START, address, held, noise, piece

LONG = (
    *range(1025, 1300, 37),
    2047,
    2048,
    2049,
    4096,
    5000,
    8191,
    8192,
    16385,
    40000,
    65535,
    65536,
)
SHORT = (*range(34), 63, 64, 65, 71, 72, 127, 128, 129, 200, 255, 256, 257, 321)
FEW_SKEWS = (0, 1, 3, 7)
LARGE = (150_000,)
"""More than 16 bits count, and more than most caches hold."""


def memmove(view: View, to: int, source: int, count: int) -> int:
    """Copies as if through a buffer; gives the destination."""
    view.write(to, view.read(source, count))
    return to


def mempcpy(view: View, to: int, source: int, count: int) -> int:
    """As memcpy; gives the address behind the last byte written."""
    return memmove(view, to, source, count) + count


def bcopy(view: View, source: int, to: int, count: int) -> None:
    """As memmove, with the arguments the other way round and no result."""
    memmove(view, to, source, count)


def apart(arena: Arena, count: int, to: int, source: int, place: int) -> Case:
    """Two buffers that do not overlap; `to` and `source` are skews."""
    count = held(arena, count)
    seed = count + 9 * to + 5 * source
    target = address(arena, 0, count, to, place)
    origin = address(arena, 1, count, source, place)
    old, new = noise(count, seed + 1), noise(count, seed)
    pieces = piece(arena, target, old, seed), piece(arena, origin, new, seed + 2)
    return Case((target, origin, count), pieces)


def overlapping(arena: Arena, count: int, to: int, distance: int) -> Case:
    """Source `distance` bytes behind the destination, or in front of it, in the same bytes."""
    target = address(arena, 0, count, 4096 + to, MIDDLE)
    origin = target + distance
    low, high = min(target, origin), max(target, origin) + count
    return Case((target, origin, count), (piece(arena, low, noise(high - low, count + to), to),))


def _either(arena: Arena, count: int, to: int, **rest: int) -> Case:
    build = overlapping if "distance" in rest else apart
    return build(arena, count, to, **rest)


def _backwards(arena: Arena, **point: int) -> Case:
    case = _either(arena, **point)
    to, source, count = case.arguments
    return Case((source, to, count), case.pieces)


APART = (
    Plan(
        "every alignment and length",
        {"count": range(1025), "to": EIGHT, "source": EIGHT, "place": (MIDDLE,)},
        {"count": SHORT, "to": FEW_SKEWS, "source": FEW_SKEWS, "place": (MIDDLE,)},
    ),
    Plan(
        "page ends",
        {"count": range(97), "to": EIGHT, "source": EIGHT, "place": (END, START)},
        {"count": range(0, 80, 3), "to": (0, 5), "source": (0, 1), "place": (END, START)},
    ),
    Plan(
        "line alignments",
        {
            "count": (190, 255, 256, 320, 449, 640),
            "to": range(64),
            "source": (0, 3, 8, 40),
            "place": (MIDDLE, END),
        },
        {"count": (255, 449), "to": range(0, 64, 7), "source": (0, 3), "place": (MIDDLE,)},
    ),
    Plan(
        "long",
        {"count": LONG, "to": (0, 1, 8, 61), "source": (0, 1, 5, 61), "place": (MIDDLE,)},
        {"count": (2049,), "to": (0, 5), "source": (0, 3), "place": (MIDDLE,)},
    ),
    Plan("large", few={"count": LARGE, "to": (0,), "source": (0,), "place": (MIDDLE,)}),
    Plan(
        "words",
        few={"count": range(16, 89, 8), "to": (0, 3), "source": (0, 1, 3), "place": (MIDDLE,)},
    ),
    NOTHING,
)

_DISTANCES = (*range(-20, 21), -72, -65, -64, -63, -57, 57, 63, 64, 65, 72, 129, -129, 200, -200)
OVERLAPPING = (
    Plan(
        "overlap",
        {
            "count": (*range(150), 191, 192, 256, 257, 300, 511, 700),
            "to": EIGHT,
            "distance": _DISTANCES,
        },
        {
            "count": (1, 7, 8, 9, 24, 63, 80, 257, 700),
            "to": (0, 3),
            "distance": (*_DISTANCES[::3], -129, 129),
        },
    ),
    Plan(
        "overlap of words",
        few={"count": range(16, 81, 8), "to": (0, 7), "distance": (-24, -5, 5, 24)},
    ),
    Plan(
        "overlap of vectors",
        few={
            "count": (40, 90, 150, 300),
            "to": (0, 3, 8),
            "distance": (-48, -32, -19, -16, 16, 19, 32, 48),
        },
    ),
)

_TO_FROM = (Kind.TO, Kind.FROM, Kind.COUNT)
CONTRACTS = (
    Contract("memcpy", _TO_FROM, Result.QUAD, memmove, apart, APART),
    Contract("mempcpy", _TO_FROM, Result.QUAD, mempcpy, apart, APART),
    Contract(
        "memmove",
        _TO_FROM,
        Result.QUAD,
        memmove,
        _either,
        (*APART, *OVERLAPPING),
        settles=True,
    ),
    Contract(
        "bcopy",
        (Kind.FROM, Kind.TO, Kind.COUNT),
        Result.NOTHING,
        bcopy,
        _backwards,
        (*APART, *OVERLAPPING),
    ),
)

__all__ = ["APART", "CONTRACTS", "apart", "memmove", "overlapping"]
