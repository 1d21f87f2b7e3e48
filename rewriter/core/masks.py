"""Masks: sets of numbers as the bits of one."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1 << 14)  # most masks have few bits and come again
def bits(mask: int) -> tuple[int, ...]:
    """The numbers of a mask's bits, the lowest first."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)
