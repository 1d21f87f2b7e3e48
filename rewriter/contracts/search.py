"""strlen, strnlen, strchr, strrchr, memchr, rawmemchr."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rewriter.contracts.contract import (
    MASK64,
    NOTHING,
    Arena,
    Case,
    Contract,
    Kind,
    Plan,
    Result,
    View,
)
from rewriter.contracts.place import (
    EIGHT,
    END,
    MIDDLE,
    START,
    address,
    piece,
    scatter,
    text,
    without,
)

_NEEDLES = (0x41, 0x80, 0x01, 0xFF, -1, 0x7FFFFF42, 0)
"""Values of the int argument, of which the low byte counts."""
NOWHERE, LAST, TWICE, BEYOND, EARLIER = range(5)
"""Where the byte that is searched stands: not at all, at the end, early and again, behind it,
early and never again."""
LIMITS = (-9, -8, -7, -1, 0, 1, 2, 7, 8, 9, 40, 300, MASK64, 1 << 63)
"""What a limit is beside the length: a distance, or (the last two) the limit itself."""
_LONG = (1500, 2047, 4096, 8193, 20000, 65536)


def strlen(view: View, source: int) -> int:
    """Bytes in front of the zero."""
    return view.find(0, source) - source


def strnlen(view: View, source: int, limit: int) -> int:
    """As strlen, but looks at no more than `limit` bytes."""
    return _first(view, source, 0, limit)


def _first(view: View, source: int, byte: int, limit: int) -> int:
    """Distance of the first `byte`; the limit when it is not among so many bytes."""
    if limit == 0:
        return 0
    try:
        found = view.find(byte, source) - source
    except ValueError:
        return limit
    return min(found, limit)


def memchr(view: View, source: int, byte: int, limit: int) -> int:
    """Address of the first such byte among `limit`, or zero; looks no further than that byte."""
    found = _first(view, source, byte & 0xFF, limit)
    return source + found if found < limit else 0


def rawmemchr(view: View, source: int, byte: int) -> int:
    """Address of the first such byte, which is there."""
    return view.find(byte & 0xFF, source)


def strchr(view: View, source: int, byte: int) -> int:
    """Address of the first such byte of a string or its end, or zero."""
    found = (view.string(source) + b"\0").find(byte & 0xFF)
    return source + found if found >= 0 else 0


def strrchr(view: View, source: int, byte: int) -> int:
    """Address of the last such byte of a string or its end, or zero."""
    found = (view.string(source) + b"\0").rfind(byte & 0xFF)
    return source + found if found >= 0 else 0


def limited(arena: Arena, length: int, limit: int) -> int:
    """The limit that number `limit` of LIMITS is for a length; the last two fill a register."""
    distance = LIMITS[limit]
    return distance >> 64 - arena.width if distance >= 1 << 63 else max(0, length + distance)


def _string(arena: Arena, count: int, source: int, place: int, seed: int) -> Case:
    start = address(arena, 1, count + 1, source, place)
    around = b"\0" if seed & 1 else b""
    content = text(count, count + source + 31 * seed) + b"\0"
    return Case((start,), (piece(arena, start, content, seed, around),))


def _bounded(
    arena: Arena, count: int, source: int, place: int, limit: int, beyond: int = 0
) -> Case:
    """A string that ends where its limit is, if that comes first and it does not go on `beyond`."""
    most = limited(arena, count, limit)
    content = (text(count, count + source) + b"\0")[: None if beyond else most]
    start = address(arena, 1, len(content), source, place)
    return Case((start, most), (piece(arena, start, content, 0, b"\0"),))


def _sought(count: int, source: int, needle: int, hit: int) -> bytes:
    """`count` bytes with the needle where `hit` says."""
    byte = needle & 0xFF
    content = bytearray(without(text(count, count + source), byte))
    if count and hit in (LAST, TWICE):
        content[-1] = byte
    if count and hit in (TWICE, EARLIER):
        content[scatter(count, source) % count] = byte
    return bytes(content)


def _in_string(arena: Arena, count: int, source: int, place: int, needle: int, hit: int) -> Case:
    value = _NEEDLES[needle]
    content = _sought(count, source, value, hit if value & 0xFF else NOWHERE) + b"\0"
    start = address(arena, 1, len(content), source, place)
    around = bytes((value & 0xFF,)) if hit == BEYOND else bytes((value & 0xFF, 0))
    return Case((start, arena.widened(value)), (piece(arena, start, content, 0, around),))


def _in_bytes(
    arena: Arena, count: int, source: int, place: int, needle: int, hit: int, limit: int
) -> Case:
    """A needle at the last byte ends a region that may be shorter than the limit."""
    value = _NEEDLES[needle]
    content = _sought(count, source, value, hit)
    start = address(arena, 1, count, source, place)
    endless = limit and bytes((value & 0xFF,)) in content
    most = limited(arena, count, limit) if endless else count
    memory = piece(arena, start, content, 0, bytes((value & 0xFF,)))
    return Case((start, arena.widened(value), most), (memory,))


def _found(arena: Arena, count: int, source: int, place: int, needle: int, hit: int) -> Case:
    case = _in_bytes(arena, count + 1, source, place, needle, hit, 0)
    return Case(case.arguments[:2], case.pieces)


def _plans(few_more: Mapping[str, tuple[int, ...]], **more: tuple[int, ...]) -> tuple[Plan, ...]:
    few = {name: few_more.get(name, values[:1]) for name, values in more.items()}
    return (
        Plan(
            "every alignment and length",
            {"count": range(1025), "source": EIGHT, "place": (MIDDLE, END), **few},
            {"count": range(0, 70, 3), "source": EIGHT, "place": (MIDDLE, END), **few},
        ),
        Plan(
            "contents",
            {"count": range(75), "source": EIGHT, "place": (MIDDLE, END, START), **more},
            {"count": (0, 1, 7, 8, 12, 33), "source": (0, 3, 7), "place": (END, START), **more},
        ),
        Plan("long", {"count": _LONG, "source": EIGHT, "place": (END,), **few}),
    )


_NUMBERS = tuple(range(len(_NEEDLES)))
_HITS = {"hit": (LAST, TWICE)}
_LINES = Plan(
    "lines",
    few={
        "count": (*range(257, 800, 31), 1500),
        "source": (0, 8, 49, 56),
        "place": (MIDDLE,),
        "needle": (0,),
        "hit": (NOWHERE, LAST, TWICE),
        "limit": (0,),
    },
)
_EARLIER = Plan(
    "the last one far from the end",
    {
        "count": range(1, 700),
        "source": EIGHT,
        "place": (MIDDLE, END),
        "needle": (0,),
        "hit": (EARLIER,),
    },
    {
        "count": (*range(20, 200, 18), 300, 500, 900),
        "source": (0, 5),
        "place": (END,),
        "needle": (0,),
        "hit": (EARLIER,),
    },
)
_BEYOND = Plan(
    "an end behind the limit",
    few={
        "count": range(1, 10),
        "source": range(4),
        "place": (MIDDLE,),
        "limit": (2, 3),
        "beyond": (1,),
    },
)
_EVERY = (
    Contract(
        "strlen", (Kind.FROM,), Result.QUAD, strlen, _string, _plans({}, seed=(0, 1, 2, 3, 4))
    ),
    Contract(
        "strnlen",
        (Kind.FROM, Kind.COUNT),
        Result.QUAD,
        strnlen,
        _bounded,
        (*_plans({"limit": (3, 4, 5)}, limit=tuple(range(len(LIMITS)))), _BEYOND, NOTHING),
    ),
    Contract(
        "strchr",
        (Kind.FROM, Kind.INT),
        Result.QUAD,
        strchr,
        _in_string,
        _plans({"hit": (LAST, BEYOND)}, needle=_NUMBERS, hit=(NOWHERE, LAST, TWICE, BEYOND)),
    ),
    Contract(
        "strrchr",
        (Kind.FROM, Kind.INT),
        Result.QUAD,
        strrchr,
        _in_string,
        (
            *_plans({"hit": (TWICE, BEYOND)}, needle=_NUMBERS, hit=(NOWHERE, LAST, TWICE, BEYOND)),
            _EARLIER,
        ),
    ),
    Contract(
        "memchr",
        (Kind.FROM, Kind.INT, Kind.COUNT),
        Result.QUAD,
        memchr,
        _in_bytes,
        (
            *_plans(
                {"hit": (NOWHERE, LAST)},
                needle=_NUMBERS,
                hit=(NOWHERE, LAST, TWICE),
                limit=(0, len(LIMITS) - 2, len(LIMITS) - 1),
            ),
            _LINES,
            NOTHING,
        ),
    ),
    Contract(
        "rawmemchr",
        (Kind.FROM, Kind.INT),
        Result.QUAD,
        rawmemchr,
        _found,
        _plans(_HITS, needle=_NUMBERS, hit=(LAST, TWICE)),
    ),
)
CONTRACTS = tuple(replace(contract, settles=True) for contract in _EVERY)
