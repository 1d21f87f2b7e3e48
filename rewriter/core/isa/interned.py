"""Masks of registers for millions of instructions: each distinct mask is kept once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.registers import Masks, in_columns

Places: TypeAlias = int | slice | NDArray[np.integer[Any]] | NDArray[np.bool_]
"""Some positions, or one."""

_FACTOR = 0x9E3779B97F4A7C15  # odd: the golden ratio's bits, as in Fibonacci hashing


@dataclass(frozen=True)
class Interned:
    """Masks by position.  `distinct` are the masks, the first of no register, in columns; `which`
    is for each position the number of its own."""

    distinct: Masks
    which: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, at: Places | tuple[Places, int]) -> Masks:
        """The masks at some positions, or a column of them."""
        if isinstance(at, tuple):
            return np.asarray(self.distinct[self.which[at[0]], at[1]])
        return np.asarray(self.distinct[self.which[at]])

    @property
    def columns(self) -> int:
        """Columns of 64 registers."""
        return int(self.distinct.shape[1])

    def some(self) -> NDArray[np.bool_]:
        """By position, whether there is any register."""
        some = np.asarray(self.distinct.any(axis=1))
        return np.asarray(some[self.which])

    def with_mask(self, at: Places, mask: int) -> Interned:
        """The same with one mask at some positions."""
        which = self.which.copy()
        which[at] = len(self.distinct) if mask else 0
        more = in_columns([mask], self.columns)
        return Interned(np.concatenate((self.distinct, more)) if mask else self.distinct, which)

    def with_others(self, at: Places, others: Interned) -> Interned:
        """The same with others at some positions."""
        which = self.which.copy()
        which[at] = np.where(others.which, others.which + len(self.distinct), 0)
        return Interned(np.concatenate((self.distinct, others.distinct)), which)


class Interner:
    """Makes them of masks that come in parts, one behind the other."""

    def __init__(self, columns: int) -> None:
        self._columns, self._numbers = columns, {bytes(8 * columns): 0}
        self._which = [np.empty(0, dtype=np.uint32)]

    def add(self, masks: Masks) -> None:
        """The next ones."""
        distinct, of = _distinct(masks)
        numbers = self._numbers
        found = [numbers.setdefault(row.tobytes(), len(numbers)) for row in distinct]
        self._which.append(np.array(found, dtype=np.uint32)[of])

    def all(self) -> Interned:
        """All that came."""
        kept = np.frombuffer(b"".join(self._numbers), dtype=np.uint64)
        return Interned(kept.reshape(-1, self._columns), np.concatenate(self._which))


def _distinct(masks: Masks) -> tuple[Sequence[Masks], NDArray[np.intp]]:
    """The distinct rows, and which each row is."""
    factors = np.array([pow(_FACTOR, n, 1 << 64) for n in range(masks.shape[1])], dtype=np.uint64)
    hashed = (masks * factors).sum(axis=1, dtype=np.uint64)
    _, first, of = np.unique(hashed, return_index=True, return_inverse=True)
    if not np.array_equal(masks[first][of], masks):  # two have one hash
        distinct, of = np.unique(masks, axis=0, return_inverse=True)
        return list(distinct), of.reshape(-1)
    return list(masks[first]), of
