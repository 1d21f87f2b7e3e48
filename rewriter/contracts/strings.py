"""strcpy, stpcpy, strncpy, strcat, strncat."""

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

_SHORT_LIMITS = tuple(n for n, distance in enumerate(LIMITS) if distance < 1 << 63)
_LONG = (1500, 4096, 20000, 65536)
_BEHIND = b"\1" * 128
"""Bytes behind a string in which no other end is, for routines that look at many at once."""


def strcpy(view: View, to: int, source: int) -> int:
    """Copies a string with its end; gives the destination."""
    view.write(to, view.string(source) + b"\0")
    return to


def stpcpy(view: View, to: int, source: int) -> int:
    """As strcpy; gives the address of the end."""
    return strcpy(view, to, source) + len(view.string(source))


def strncpy(view: View, to: int, source: int, count: int) -> int:
    """Copies at most `count` bytes of a string and fills up with zero to `count`."""
    head = _head(view, source, count)
    view.write(to, head + bytes(count - len(head)))
    return to


def strcat(view: View, to: int, source: int) -> int:
    """Copies a string behind another; gives the first."""
    view.write(view.find(0, to), view.string(source) + b"\0")
    return to


def strncat(view: View, to: int, source: int, limit: int) -> int:
    """As strcat, but at most `limit` bytes, and then an end."""
    view.write(view.find(0, to), _head(view, source, limit) + b"\0")
    return to


def _head(view: View, source: int, limit: int) -> bytes:
    try:
        found = view.find(0, source) - source if limit else 0
    except ValueError:
        found = limit
    return view.read(source, min(found, limit))


def _source(arena: Arena, count: int, skew: int, place: int, most: int | None = None) -> bytes:
    return (text(count, count + skew) + b"\0")[:most]


def _copied(arena: Arena, count: int, to: int, source: int, place: int) -> Case:
    content = _source(arena, count, source, place)
    target = address(arena, 0, count + 1, to, place)
    origin = address(arena, 1, count + 1, source, place)
    old = noise(count + 1, count + to)
    if place == MIDDLE and (count + to) % 2:
        content += _BEHIND
    pieces = piece(arena, target, old, to), piece(arena, origin, content, 3, b"\0")
    return Case((target, origin), pieces)


def _bounded(arena: Arena, count: int, to: int, source: int, place: int, limit: int) -> Case:
    most = limited(arena, count, limit)
    content = _source(arena, count, source, place, most)
    target = address(arena, 0, most, to, place)
    origin = address(arena, 1, len(content), source, place)
    old = noise(most, count + to)
    pieces = piece(arena, target, old, to), piece(arena, origin, content, 3, b"\0")
    return Case((target, origin, most), pieces)


def _joined(arena: Arena, count: int, to: int, source: int, place: int) -> Case:
    return _onto(arena, to, source, place, _source(arena, count, source, place), count)


def _onto(arena: Arena, to: int, source: int, place: int, content: bytes, count: int) -> Case:
    """`count` bytes will follow a string of some length, and their end."""
    have = scatter(count, to, source) % 23
    target = address(arena, 0, have + count + 1, to, place)
    origin = address(arena, 1, len(content), source, place)
    old = text(have, count) + b"\0" + noise(count, count + to)
    pieces = piece(arena, target, old, to, b"\0"), piece(arena, origin, content, 3, b"\0")
    return Case((target, origin), pieces)


def _joined_limited(arena: Arena, count: int, to: int, source: int, place: int, limit: int) -> Case:
    most = limited(arena, count, limit)
    content = _source(arena, count, source, place, most)
    case = _onto(arena, to, source, place, content, min(count, most))
    return Case((*case.arguments, most), case.pieces)


def _plans(**more: tuple[int, ...]) -> tuple[Plan, ...]:
    few = dict.fromkeys(more, (3,))
    some = dict.fromkeys(more, (3, LIMITS.index(300)))
    ends = dict.fromkeys(more, tuple(map(LIMITS.index, (-9, -1, 1, 40, 300))))
    skews = {"to": EIGHT, "source": EIGHT}
    return (
        Plan(
            "every alignment and length",
            {"count": range(1025), **skews, "place": (MIDDLE,), **few},
        ),
        Plan(
            "ends and limits",
            {"count": range(36), **skews, "place": (END, START), **more},
            {
                "count": (*range(10), 15, 16, 17, 33, 64, 130, 259),
                "to": (0, 3, 7),
                "source": (0, 4, 7),
                "place": (MIDDLE, END),
                **some,
            },
        ),
        Plan("long", {"count": _LONG, **skews, "place": (END,), **few}),
        Plan(
            "words",
            few={
                "count": (*range(16, 89, 8), 350),
                "to": (0,),
                "source": EIGHT,
                "place": (MIDDLE,),
                **few,
            },
        ),
        Plan(
            "nine words",
            few={
                "count": range(72, 81),
                "to": EIGHT,
                "source": (0,),
                "place": (MIDDLE,),
                **few,
            },
        ),
        Plan(
            "vectors",
            few={
                "count": (15, 16, 31, 47, 63, 79, 95, 111, 143),
                "to": (0, 5),
                "source": (0, 5, 11),
                "place": (MIDDLE,),
                **few,
            },
        ),
        Plan(
            "lines",
            {"count": range(36, 300), "to": (0, 5), "source": EIGHT, "place": (END,), **ends},
            {
                "count": range(20, 150, 8),
                "to": (0,),
                "source": (0,),
                "place": (MIDDLE,),
                **dict.fromkeys(more, tuple(map(LIMITS.index, (9, 300)))),
            },
        ),
        Plan(
            "over a page's end",
            {
                "count": range(0, 80, 3),
                "to": (0, 5),
                "source": range(4064, 4096, 3),
                "place": (MIDDLE,),
                **few,
            },
            {
                "count": (5, 20, 40, 100),
                "to": (0, 3),
                "source": (4072, 4085),
                "place": (MIDDLE,),
                **few,
            },
        ),
        *([Plan("limits", few=_limits(more["limit"]))] if more else ()),
    )


def _limits(limits: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    skews = {"to": (0, 1, 3, 7), "source": (0, 4), "place": (END,)}
    return {"count": (0, 5, 17, 40), **skews, "limit": limits}


_TO_FROM = (Kind.TO, Kind.FROM)
CONTRACTS = (
    Contract("strcpy", _TO_FROM, Result.QUAD, strcpy, _copied, _plans()),
    Contract("stpcpy", _TO_FROM, Result.QUAD, stpcpy, _copied, _plans()),
    Contract(
        "strncpy",
        (*_TO_FROM, Kind.COUNT),
        Result.QUAD,
        strncpy,
        _bounded,
        (*_plans(limit=_SHORT_LIMITS), NOTHING),
    ),
    Contract("strcat", _TO_FROM, Result.QUAD, strcat, _joined, _plans()),
    Contract(
        "strncat",
        (*_TO_FROM, Kind.COUNT),
        Result.QUAD,
        strncat,
        _joined_limited,
        _plans(limit=tuple(range(len(LIMITS)))),
    ),
)
