"""Garbage: looked for less often where little of what is made is garbage, and given back."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import ClassVar

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
    import ctypes  # `retune --help` shall not pay for it

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
