"""memcmp, strcmp, strncmp: results by sign only."""

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
from rewriter.contracts.place import EIGHT, END, MIDDLE, START, address, noise, piece, scatter, text
from rewriter.contracts.search import LIMITS, limited

EQUAL, SHORTER, LONGER, LESS, GREATER, TOP_BIT = range(6)
"""How the second operand is beside the first behind what they have in common."""
_TAILS = {
    EQUAL: (b"", b""),
    SHORTER: (b"", b"\x80"),
    LONGER: (b"\x01", b""),
    LESS: (b"\x7f\x90", b"\x7e\x91"),
    GREATER: (b"\x01\xff", b"\x02\x00"),
    TOP_BIT: (b"\x7f", b"\x80"),
}
_ENDS = tuple(_TAILS)
_LONG = (1500, 2047, 4096, 8193, 20000, 65536)


def _sign(a: bytes, b: bytes) -> int:
    return (a > b) - (a < b)


def memcmp(view: View, first: int, second: int, count: int) -> int:
    """Sign of the first difference, bytes unsigned."""
    return _sign(view.read(first, count), view.read(second, count))


def strcmp(view: View, first: int, second: int) -> int:
    """Sign of the first difference up to the end of the shorter string."""
    return _sign(view.string(first), view.string(second))


def strncmp(view: View, first: int, second: int, limit: int) -> int:
    """As strcmp, but looks at no more than `limit` bytes."""
    return _sign(_head(view, first, limit), _head(view, second, limit))


def _head(view: View, source: int, limit: int) -> bytes:
    """A string's first bytes; the end of memory must not come first."""
    try:
        found = view.find(0, source) - source if limit else 0
    except ValueError:
        found = limit
    return view.read(source, min(found, limit))


def _pair(arena: Arena, one: bytes, two: bytes, skews: tuple[int, int], place: int) -> Case:
    first = address(arena, 0, len(one), skews[0], place)
    second = address(arena, 1, len(two), skews[1], place)
    pieces = piece(arena, first, one, 1), piece(arena, second, two, 2)
    return Case((first, second), pieces)


def _blocks(
    arena: Arena,
    count: int,
    first: int,
    second: int,
    place: int,
    end: int,
    at: int = -1,
    alone: int = 0,
) -> Case:
    """Blocks whose first difference is somewhere among the last sixteen bytes, or at a byte; all
    bytes behind it differ, too, or none."""
    one = noise(count, count + first + second)
    two = bytearray(one)
    if count and end != EQUAL:
        late = max(0, count - 1 - scatter(count, first, second, end) % 16)
        at = late if at < 0 else min(at, count - 1)
        two[at] ^= 0x80 if end == TOP_BIT else 1 << end
        if not alone:
            two[at + 1 :] = noise(count - at - 1, count + 3)
    case = _pair(arena, one, bytes(two), (first, second), place)
    return Case((*case.arguments, count), case.pieces)


def _strings(
    arena: Arena, count: int, first: int, second: int, place: int, end: int, rest: int = 0
) -> Case:
    """Strings with `count` bytes in common, then what differs, then `rest` bytes in common."""
    one, two = _ended(count, first + second, end, rest)
    return _pair(arena, one, two, (first, second), place)


def _limited(
    arena: Arena,
    count: int,
    first: int,
    second: int,
    place: int,
    end: int,
    limit: int,
    rest: int = 0,
) -> Case:
    """The same strings cut off at a limit near the difference, with it."""
    most = limited(arena, count, limit)
    one, two = (string[:most] for string in _ended(count, first + second, end, rest))
    case = _pair(arena, one, two, (first, second), place)
    return Case((*case.arguments, most), case.pieces)


def _ended(count: int, seed: int, end: int, rest: int) -> tuple[bytes, bytes]:
    common, behind = text(count, count + seed), text(rest, count + 7) + b"\0"
    one, two = (common + tail + behind for tail in _TAILS[end])
    return one, two


def _plans(ends: tuple[int, ...], **more: tuple[int, ...]) -> tuple[Plan, ...]:
    few = {name: (values[len(values) // 2],) for name, values in more.items()}
    skews = {"first": EIGHT, "second": EIGHT}
    return (
        Plan(
            "every alignment and length",
            {"count": range(1025), **skews, "place": (MIDDLE,), "end": ends, **few},
        ),
        Plan(
            "ends",
            {"count": range(35), **skews, "place": (MIDDLE, END, START), "end": _ENDS, **few},
            {
                "count": (*range(10), 15, 16, 31, 33),
                "first": (0, 3, 7),
                "second": (0, 4, 7),
                "place": (END,),
                "end": _ENDS,
                **few,
            },
        ),
        Plan(
            "limits",
            {"count": range(0, 28, 3), **skews, "place": (END,), "end": _ENDS, **more},
            {
                "count": (5, 17),
                "first": (0, 3),
                "second": (0, 7),
                "place": (END,),
                "end": _ENDS,
                **more,
            },
        ),
        Plan("long", {"count": _LONG, **skews, "place": (END,), "end": (LESS,), **few}),
    )


_WORDS = Plan(
    "a difference in each word",
    few={
        "count": range(16, 57, 8),
        "first": (0, 3),
        "second": (0,),
        "place": (MIDDLE,),
        "end": (GREATER,),
        "at": range(0, 48, 8),
    },
)
_TAIL = Plan(
    "what is left behind whole words",
    few={
        "count": range(17, 24),
        "first": (0, 1),
        "second": range(4),
        "place": (MIDDLE,),
        "end": (EQUAL, LESS),
    },
)
_VECTORS = Plan(
    "blocks of vectors",
    few={
        "count": (40, 72, 100, 136, 200, 270),
        "first": (0, 5, 16),
        "second": (0, 5, 8, 13),
        "place": (MIDDLE,),
        "end": (EQUAL, LESS),
    },
)
_ANYWHERE = Plan(
    "a difference anywhere",
    {
        "count": (35, 50, 64, 100, 129, 136, 200, 300, 600),
        "first": (0, 1, 5, 16),
        "second": (0, 3, 8),
        "place": (MIDDLE,),
        "end": (LESS,),
        "at": range(0, 600, 7),
        "alone": (0, 1),
    },
    {
        "count": (136, 300),
        "first": (0, 5),
        "second": (0, 3),
        "place": (MIDDLE,),
        "end": (LESS,),
        "at": range(9, 300, 16),
        "alone": (0, 1),
    },
)
_NEAR_PAGE = {"first": (0, 3, 4072, 4085), "second": (8, 11), "place": (MIDDLE,)}
"""Alike and unlike modulo 8 and 16, and in front of a page's end."""
_PARTS = (
    Plan(
        "bytes that differ",
        few={
            "count": range(1, 8),
            "first": (0,),
            "second": (0,),
            "place": (MIDDLE,),
            "end": (LESS,),
            "at": range(7),
        },
    ),
    Plan(
        "doublewords that differ",
        few={
            **_NEAR_PAGE,
            "count": (28, 36, 44, 52, 60, 75),
            "end": (LESS,),
            "at": range(1, 76, 8),
        },
    ),
    Plan(
        "blocks that are equal",
        few={
            **_NEAR_PAGE,
            "first": (0, 3, 4072, 4085, 4090),
            "second": (3, 8, 11, 13),
            "count": (*range(8, 41), 64, 128),
            "end": (EQUAL,),
        },
    ),
)
_INNER = {
    "count": range(0, 280, 3),
    "first": (0, 3, 8),
    "second": (0, 5),
    "place": (MIDDLE,),
    "end": (LESS, GREATER, TOP_BIT),
    "rest": (40, 300),
}
_FEW_INNER = {
    "count": range(5, 140, 9),
    "first": (0, 5),
    "second": (0, 3),
    "place": (MIDDLE,),
    "end": (LESS, GREATER),
    "rest": (150,),
}
_CUT = Plan(
    "a limit in front of the end of memory",
    few={
        "count": (40, 90),
        "first": (0, 3),
        "second": (0, 7),
        "place": (END,),
        "end": (LESS,),
        "limit": (0, 3),
    },
)
_FAR = "a difference far in front of the end"
_SPAN = {
    "count": (15, 31, 47, 64, 79, 100, 131),
    "first": (0, 3, 13, 4085),  # over a page's end, too
    "second": (0, 3, 5, 4060),
    "place": (MIDDLE,),
    "end": (EQUAL, LESS),
}
_LINES = "strings of vectors"
_NEAR = {
    "count": range(9),
    "first": (0, 1, 4),
    "second": (0, 3, 4),
    "place": (MIDDLE,),
    "end": _ENDS,
}
_INSIDE = "in each byte of a word"
_TWO = (Kind.FROM, Kind.FROM)
CONTRACTS = (
    Contract(
        "memcmp",
        (*_TWO, Kind.COUNT),
        Result.SIGN,
        memcmp,
        _blocks,
        (*_plans((GREATER,)), _WORDS, _TAIL, _VECTORS, _ANYWHERE, *_PARTS, NOTHING),
    ),
    Contract(
        "strcmp",
        _TWO,
        Result.SIGN,
        strcmp,
        _strings,
        (
            *_plans((LESS,)),
            Plan(_INSIDE, few=_NEAR),
            Plan(_LINES, few=_SPAN),
            Plan(_FAR, _INNER, _FEW_INNER),
        ),
    ),
    Contract(
        "strncmp",
        (*_TWO, Kind.COUNT),
        Result.SIGN,
        strncmp,
        _limited,
        (
            *_plans((LESS,), limit=tuple(range(len(LIMITS)))),
            Plan(_INSIDE, few={**_NEAR, "limit": (3, 9)}),
            Plan(_LINES, few={**_SPAN, "limit": (3, 9)}),
            Plan(_FAR, {**_INNER, "limit": (10, 11, 12)}, {**_FEW_INNER, "limit": (11,)}),
            _CUT,
            NOTHING,
        ),
    ),
)
