"""Where the bytes of two files differ, found in parts: arrays of whole files take several of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 1 << 22  # bytes


def differing(
    old: bytes, new: bytes, start: int = 0, end: int | None = None, unit: int = 1
) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """The offset of each part of [start, end), and which whole units in it differ."""
    last = len(old) if end is None else end
    step = _AT_ONCE // unit * unit
    for at in range(start, last, step):
        count = min(step, last - at)
        apart = np.frombuffer(old, np.uint8, count, at) != np.frombuffer(new, np.uint8, count, at)
        yield at, apart if unit == 1 else apart.reshape(-1, unit).any(axis=1)


def offsets(
    old: bytes, new: bytes, start: int = 0, end: int | None = None, unit: int = 1
) -> NDArray[np.int64]:
    """The offsets in [start, end) of whole units that differ, ascending."""
    parts = differing(old, new, start, end, unit)
    found = (np.flatnonzero(apart) * unit + at for at, apart in parts)
    return np.concatenate([np.empty(0, dtype=np.int64), *found])
