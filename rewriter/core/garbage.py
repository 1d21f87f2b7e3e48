"""Garbage is looked for less often where much is made and little of it is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG = 20_000
"""Objects between two collections: a look at one function makes as many, and keeps few."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Collections are seldom as long as this lasts."""
    usual = gc.get_threshold()
    gc.set_threshold(_YOUNG, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
