"""The points at which routines are compared: sizes and alignments, as shapes of their contracts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from rewriter.contracts.place import MIDDLE

Axes = Mapping[str, Sequence[int]]

_SHORT = (*range(10), 11, 13, 15, 16, 17, 20, 23, 24, 25, 31, 32, 33, 40, 48, 56, 63, 64, 65)
_MORE = (72, 80, 100, 120, 127, 128, 129, 160, 200, 255, 256, 257, 384)
_LONG = (500, 512, 1000, 1024, 1500, 2048, 4096)
_SIZES = (*_SHORT, *_MORE, *_LONG)
_EIGHT = range(8)
_MIDDLE = {"place": (MIDDLE,)}
_ONE = {"count": _SIZES, "to": (0, 1, 3, 4, 7, 8, 24, 40, 61), **_MIDDLE}
_TWO = {"count": _SIZES, "to": (0, 1, 4, 7, 8, 43), "source": (0, 1, 4, 24), **_MIDDLE}
_FOUND = {"count": _SIZES, "source": _EIGHT, **_MIDDLE}
_STRINGS = {"count": _SIZES[:-1], "to": (0, 1, 4, 7), "source": (0, 1, 6), **_MIDDLE}
_PAGE = {"number": (0, 1, 2)}
_PAIRS = {"dividend": range(0, 60, 4), "divisor": range(1, 60, 4)}

GRID: Mapping[str, Axes] = MappingProxyType(
    {
        "memcpy": _TWO,
        "memset": {**_ONE, "byte": (2,)},
        "strlen": {**_FOUND, "seed": (0,)},
        "strchr": {**_FOUND, "needle": (0,), "hit": (0, 1)},
        "strrchr": {**_FOUND, "needle": (0,), "hit": (0, 2)},
        "memchr": {**_FOUND, "needle": (0,), "hit": (0, 1), "limit": (0,)},
        "rawmemchr": {**_FOUND, "needle": (0,), "hit": (1,)},
        "strcpy": _STRINGS,
        "stpcpy": _STRINGS,
        "strcat": _STRINGS,
        "strncpy": {**_STRINGS, "limit": (3, 8)},
        "strncat": {**_STRINGS, "limit": (3, 11)},
        "clear_page": _PAGE,
        "copy_page": {**_PAGE, "source": (0, 1, 2)},
        "__clear_user": _ONE,
        "__copy_user": _TWO,
        "csum_ipv6_magic": {
            "source": (0, 4, 6),
            "target": (0, 4, 6),
            **_MIDDLE,
            "seed": range(0, 60, 7),
        },
        **{f"{name}{size}": _PAIRS for name in ("div", "rem") for size in ("l", "lu", "q", "qu")},
        "udiv_qrnnd": {
            "quotient": range(0, 72, 6),
            "divisor": range(1, 72, 6),
            "rest": (1, 3),
        },
        "ffs": {"low": range(33), "seed": (0, 1)},
        "ffsll": {"low": range(65), "seed": (0, 1)},
    }
)
"""Warm: everything is in the first-level caches, so the machine around the chip does not matter."""

_COLD_SIZES = (2048, 8192)
COLD: Mapping[str, Axes] = MappingProxyType(
    {
        "memcpy": {"count": _COLD_SIZES, "to": (0, 5), "source": (0, 3), **_MIDDLE},
        "memset": {"count": _COLD_SIZES, "to": (0, 5, 40), **_MIDDLE, "byte": (2,)},
        "clear_page": _PAGE,
        "copy_page": {**_PAGE, "source": (0, 1, 2)},
        "__clear_user": {"count": _COLD_SIZES, "to": (0, 5, 40), **_MIDDLE},
        "__copy_user": {"count": _COLD_SIZES, "to": (0, 5), "source": (0, 3), **_MIDDLE},
    }
)
"""Cold: the caches hold other things, in each machine."""
