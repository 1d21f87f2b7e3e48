"""Where the memory of a case lies, and what fills it."""

from __future__ import annotations

from functools import cache
from random import Random

from rewriter.contracts.contract import Arena, Piece

MIDDLE, END, START = 0, 1, 2
"""Places in a room: away from its ends; up to its end, where a page that faults begins; at its
start, behind such a page."""

EIGHT = range(8)
MARGIN = 16  # bytes around the data that must not change

_LONGEST = 1 << 18
NOISE = Random(21264).randbytes(_LONGEST)
"""Bytes of every value."""

_AWKWARD = bytes((1, 2, 0x7E, 0x7F, 0x80, 0x81, 0xFE, 0xFF, 0x40, 0x41, 0xC0, 0xC1))


@cache
def _texts() -> bytes:
    """Bytes without zero, of values that tricks with carries and signs confuse.

    Not made before they are asked for: a command that tries nothing starts sooner.
    """
    return bytes(Random(21164).choices(_AWKWARD, k=_LONGEST))


def noise(size: int, seed: int) -> bytes:
    """`size` bytes of any value."""
    at = seed * 977 % (_LONGEST - size)
    return NOISE[at : at + size]


def text(size: int, seed: int) -> bytes:
    """`size` bytes without zero."""
    at = seed * 977 % (_LONGEST - size)
    return _texts()[at : at + size]


def held(arena: Arena, size: int) -> int:
    """So many bytes, but no more than a room holds anywhere."""
    return min(size, arena.room - 0x2000)


def address(arena: Arena, room: int, size: int, skew: int, place: int) -> int:
    """Where `size` bytes begin.

    `skew` is the address modulo 64 in the middle, the distance in bytes from the room's start, or
    the bytes left free between the data and the room's end.
    """
    if place == END:
        return arena.end(room) - skew - size
    return arena.start(room) + skew + (0x1000 if place == MIDDLE else 0)


def piece(arena: Arena, at: int, data: bytes, seed: int = 0, around: bytes = b"") -> Piece:
    """`data` at an address, in bytes that must not change: noise, or `around` again and again."""
    room = (at - arena.base) // (2 * arena.room)
    low = max(arena.start(room), (at - MARGIN) & -8)
    high = min(arena.end(room), at + len(data) + MARGIN + 7 & -8)
    size = high - low - len(data)
    fill = around * (size // len(around) + 1) if around else noise(size, seed + 7)
    return Piece(low, fill[: at - low] + data + fill[at - low : size])


def without(content: bytes, byte: int) -> bytes:
    """The content with a neighbour in place of each `byte`."""
    other = byte ^ 0x80 if byte not in (0, 0x80) else 0x7F
    return content.replace(bytes((byte,)), bytes((other,)))


def scatter(*numbers: int) -> int:
    """A number that looks random and depends on the numbers alone."""
    value = 0x9E3779B9
    for number in numbers:
        value = (value ^ number) * 0x85EBCA6B % (1 << 32)
        value ^= value >> 13
    return value
