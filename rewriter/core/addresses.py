"""Arrays of addresses: unsigned, because kernels stand in the upper half of the space.

NumPy makes floats of uint64 mixed with int64, and floats lose the low bits of an address; so
addresses meet Python's integers and signed distances only through these functions.  Sums are
taken modulo 2**64, as the machine takes them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Addresses = NDArray[np.uint64]

NOWHERE = (1 << 64) - 1
"""In an array, where there is no address: no instruction and no word is there."""


def addresses(values: Iterable[int]) -> Addresses:
    """An array of addresses."""
    return np.array(list(values), dtype=np.uint64)


def shifted(base: Addresses | int, distances: NDArray[Any]) -> Addresses:
    """The addresses that lie so many bytes, more or less, from others."""
    start = np.uint64(base % (1 << 64)) if isinstance(base, int) else base
    return np.asarray(start + distances.astype(np.int64, copy=False).view(np.uint64))


def distances(base: int, places: Addresses) -> NDArray[np.int64]:
    """How far each address is from a base, less than half the space either way."""
    return (places - np.uint64(base)).view(np.int64)


Sides: TypeAlias = tuple[Addresses, Addresses]
"""Where each of some ranges starts, and where each ends."""


def sides(ranges: Sequence[tuple[int, int]]) -> Sides:
    """The sides of ranges [start, end)."""
    return addresses(start for start, _ in ranges), addresses(end for _, end in ranges)


def compact(values: NDArray[Any]) -> Sequence[int]:
    """Python's integers for each of some values as they are asked for: a list would hold them all,
    and NumPy is slow to look up one."""
    if values.dtype.kind == "u":
        return array("Q", values.astype(np.uint64, copy=False).tobytes())
    return array("q", values.astype(np.int64, copy=False).tobytes())


def first_at(ascending: Addresses, address: int) -> int:
    """The position of the first that is not below an address."""
    return int(ascending.searchsorted(np.uint64(address % (1 << 64))))


def contains(ascending: Addresses, wanted: Addresses) -> NDArray[np.bool_]:
    """Which of the wanted addresses are among some that ascend."""
    if not len(ascending):
        return np.zeros(wanted.shape, dtype=bool)
    found = np.asarray((wanted >= ascending[0]) & (wanted <= ascending[-1]))  # most are far away
    near = wanted[found]
    found[found] = ascending[ascending.searchsorted(near)] == near
    return found


def holders(ranges: Sides, places: Addresses) -> NDArray[np.int64]:
    """The number of the range [start, end) that each place is in, -1 where it is in none.

    Ranges ascend, and no two overlap.
    """
    starts, ends = ranges
    found = starts.searchsorted(places, side="right") - 1
    ends = np.append(ends, np.uint64(0))  # of no range: no place is below 0
    return np.where(places < ends[found], found, -1)


def span(ascending: Addresses, start: int, end: int) -> tuple[int, int]:
    """The positions of those in [start, end), as a half-open range."""
    return first_at(ascending, start), first_at(ascending, end)
