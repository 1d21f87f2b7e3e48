"""Registers and sets of them.

A register is a number in the one numbering that a target gives all of its registers.  A set is a
mask, an integer with bit n for register n; an array of masks has them in columns of 64 bits, the
lowest registers first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

Masks = NDArray[np.uint64]
"""Masks of registers: a row for each, as many columns as the target's registers need."""

_COLUMN = (1 << 64) - 1


class Reg(int):
    """A register number in the target's one numbering of all its registers."""


@cache
def register(number: int) -> Reg:
    """One object for each: a text names millions."""
    return Reg(number)


def register_mask(registers: Iterable[int]) -> int:
    """The mask with bit n set for each register n."""
    mask = 0
    for number in registers:
        mask |= 1 << number
    return mask


def in_columns(masks: Sequence[int], columns: int) -> Masks:
    """Masks as the rows of an array; what is above so many columns is cut off."""
    numbers = {mask: number for number, mask in enumerate(dict.fromkeys(masks))}  # a few, often
    found = [
        np.array([m >> 64 * n & _COLUMN for m in numbers], dtype=np.uint64) for n in range(columns)
    ]
    return np.stack(found, axis=1)[[numbers[mask] for mask in masks]]


def from_columns(rows: Masks) -> list[int]:
    """The masks in the rows of an array."""
    found: list[int] = rows[:, 0].tolist()
    for number in range(1, rows.shape[1]):
        more = rows[:, number].tolist()
        found = [mask | high << 64 * number for mask, high in zip(found, more, strict=True)]
    return found


def of_row(row: Masks) -> int:
    """The mask in one row of an array."""
    mask = 0
    for part in reversed(row.tolist()):
        mask = mask << 64 | part
    return mask
