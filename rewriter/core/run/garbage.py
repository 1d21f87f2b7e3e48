"""Garbage: looked for less often where little of what is made is garbage, and given back."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import ctypes

_YOUNG = 200_000
"""Objects between two collections: dozens of functions make as many.  Few of these are garbage that
only a collection finds, and each one looks at all that was kept since the last."""


class _Entered:
    """How often it is entered and not left yet: what is frozen would have to be counted."""

    depth: ClassVar[int] = 0


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Collections are seldom as long as this lasts, and look at nothing that was there before."""
    usual = gc.get_threshold()
    gc.set_threshold(_YOUNG, *usual[1:])
    if not _Entered.depth:
        gc.freeze()
    _Entered.depth += 1
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        _Entered.depth -= 1
        if not _Entered.depth:
            gc.unfreeze()


def give_back() -> None:
    """Garbage is looked for, and memory that is free goes back to the system."""
    gc.collect()
    trim()


def trim() -> None:
    """Memory that is free goes back to the system: large arrays leave holes, and copies share them.

    The C library of GNU keeps them otherwise; another one may have no such function.
    """
    with suppress(AttributeError, OSError):
        _library().malloc_trim(0)


def large_apart() -> None:
    """What is large, as a context of Z3, has memory of its own, which goes back when it is freed.

    The C library of GNU would put it among small objects as soon as one such was freed, and what
    is made meanwhile would keep the hole.
    """
    with suppress(AttributeError, OSError):
        for parameter in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
            _library().mallopt(parameter, _LARGE)


def _library() -> ctypes.CDLL:
    import ctypes  # `retune --help` shall not pay for it

    return ctypes.CDLL(None)


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h
_LARGE = 1 << 22
"""Less than each of the tables of a context of Z3; few arrays are larger."""
