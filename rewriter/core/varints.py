"""Rows of numbers as bytes: seven bits a byte, the lowest first, the highest bit where one goes on.

Numbers with a sign are folded: 0, -1, 1, -2 become 0, 1, 2, 3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

_BITS = 7
_LONGEST = 10
"""Bytes of a number below 2**64."""


def packed(numbers: Numbers) -> bytes:
    """Numbers from 0 to 2**63 - 1 as bytes."""
    return _packed(numbers.astype(np.uint64))


def packed_signed(numbers: Numbers) -> bytes:
    """Numbers of 64 bits with a sign, folded, as bytes."""
    return _packed((numbers << 1 ^ numbers >> 63).astype(np.uint64))


def unpacked(data: bytes) -> Numbers:
    """What `packed` packed; ValueError for bytes that end within a number, or a longer one."""
    numbers = _unpacked(data).astype(np.int64)
    if len(numbers) and int(numbers.min()) < 0:
        raise ValueError("a number that is too long")
    return numbers


def unpacked_signed(data: bytes) -> Numbers:
    """What `packed_signed` packed; ValueError likewise."""
    numbers = _unpacked(data)
    return (numbers >> np.uint64(1)).astype(np.int64) ^ -(numbers & np.uint64(1)).astype(np.int64)


def _packed(left: NDArray[np.uint64]) -> bytes:
    if not len(left) or int(left.max()) < 1 << _BITS:
        return left.astype(np.uint8).tobytes()
    sizes = np.ones(len(left), np.int64)
    for more in range(1, _LONGEST):
        sizes += left >> np.uint64(_BITS * more) > 0
    starts = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    for part in range(int(sizes.max())):
        has = sizes > part
        piece = (left[has] >> np.uint64(_BITS * part) & np.uint64(127)).astype(np.uint8)
        out[starts[has] + part] = piece | (sizes[has] > part + 1).astype(np.uint8) << 7
    return out.tobytes()


def _unpacked(data: bytes) -> NDArray[np.uint64]:
    pieces = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(pieces < 128)
    if len(ends) == len(pieces):
        return pieces.astype(np.uint64)
    if not len(ends) or ends[-1] != len(pieces) - 1:
        raise ValueError("a number that does not end")
    starts = np.concatenate([[0], ends[:-1] + 1])
    sizes = ends - starts + 1
    too_long = pieces[ends[sizes == _LONGEST]] > 1
    if int(sizes.max()) > _LONGEST or bool(too_long.any()):
        raise ValueError("a number that is too long")
    shifts = _BITS * (np.arange(len(pieces)) - np.repeat(starts, sizes))
    parts = (pieces & 127).astype(np.uint64) << shifts.astype(np.uint64)
    return np.add.reduceat(parts, starts)
