"""memset, bzero."""

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
from rewriter.contracts.copy import LARGE, LONG, SHORT
from rewriter.contracts.place import EIGHT, END, MIDDLE, START, address, held, noise, piece

_BYTES = (0, 0xFF, 0x5A, 0x180, -128)
"""Values of the int argument, of which the low byte counts."""


def memset(view: View, to: int, byte: int, count: int) -> int:
    """Fills with the low byte of `byte`; gives the destination."""
    view.write(to, bytes((byte & 0xFF,)) * count)
    return to


def bzero(view: View, to: int, count: int) -> None:
    """Fills with zero; no result."""
    memset(view, to, 0, count)


def _zeroed(arena: Arena, count: int, to: int, place: int) -> Case:
    count = held(arena, count)
    target = address(arena, 0, count, to, place)
    old = noise(count, count + to)
    return Case((target, count), (piece(arena, target, old, to),))


def _filled(arena: Arena, count: int, to: int, place: int, byte: int) -> Case:
    case = _zeroed(arena, count, to, place)
    start, many = case.arguments
    return Case((start, arena.widened(_BYTES[byte]), many), case.pieces)


def _plans(**more: tuple[int, ...]) -> tuple[Plan, ...]:
    one = {name: values[2:3] for name, values in more.items()}
    return (
        Plan(
            "every alignment and length",
            {"count": range(1025), "to": EIGHT, "place": (MIDDLE,), **more},
            {"count": SHORT, "to": EIGHT, "place": (MIDDLE,), **one},
        ),
        Plan(
            "page ends",
            {"count": range(160), "to": EIGHT, "place": (END, START), **one},
            {"count": range(0, 150, 7), "to": (0, 1, 6), "place": (END, START), **one},
        ),
        Plan(
            "line alignments",
            {"count": range(150, 700), "to": range(0, 64, 3), "place": (MIDDLE,), **one},
            {"count": range(150, 700, 69), "to": range(0, 64, 5), "place": (MIDDLE,), **one},
        ),
        Plan(
            "long",
            {"count": LONG, "to": (0, 1, 8, 61), "place": (MIDDLE,), **one},
            {"count": (2049,), "to": (0, 61), "place": (MIDDLE,), **one},
        ),
        Plan("large", few={"count": LARGE, "to": (0,), "place": (MIDDLE,), **one}),
        NOTHING,
    )


_ZEROS = Plan(
    "zeros",
    {
        "count": (*range(30, 1200, 7), *range(2000, 2800, 23)),
        "to": (0, 3, 16, 61),
        "place": (MIDDLE,),
        "byte": (0,),
    },
    {
        "count": (*range(30), *range(33, 600, 37), 1024, 1600, 2500),
        "to": (0, 3, 16, 61),
        "place": (MIDDLE,),
        "byte": (0, 1),
    },
)
_LINES = Plan(
    "lines",
    few={
        "count": (100, 250, 400, 700, 1300),
        "to": range(0, 128, 8),
        "place": (MIDDLE,),
        "byte": (0, 1),
    },
)
CONTRACTS = (
    Contract(
        "memset",
        (Kind.TO, Kind.INT, Kind.COUNT),
        Result.QUAD,
        memset,
        _filled,
        (*_plans(byte=tuple(range(len(_BYTES)))), _ZEROS, _LINES),
        settles=True,
    ),
    Contract(
        "bzero", (Kind.TO, Kind.COUNT), Result.NOTHING, bzero, _zeroed, _plans(), settles=True
    ),
)
