"""Masks of registers for millions of instructions: each distinct mask is kept once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.registers import Masks, from_columns, in_columns

Places: TypeAlias = int | slice | NDArray[np.integer[Any]] | NDArray[np.bool_]
"""Some positions, or one."""

AT_ONCE = 1 << 17
"""Positions that are worked on at once, where millions would take memory for each step."""

_FEW = 1 << 16
"""Masks whose numbers have 16 bits."""

_FACTOR = 0x9E3779B97F4A7C15  # odd: the golden ratio's bits, as in Fibonacci hashing

_PLACES = 1 << 16
"""Of distinct masks, of which there are some hundreds in as many positions as come at once."""

_SHIFT = np.uint64(64 - 16)


@dataclass(frozen=True)
class Interned:
    """Masks by position.  `distinct` are the masks, the first of no register, in columns; `which`
    is for each position the number of its own."""

    distinct: Masks
    which: NDArray[np.unsignedinteger[Any]]

    @classmethod
    def empty(cls, count: int, columns: int) -> Interned:
        """Masks of no register."""
        return cls(np.zeros((1, columns), dtype=np.uint64), np.zeros(count, dtype=np.uint16))

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, at: Places | tuple[Places, int]) -> Masks:
        """The masks at some positions, or a column of them."""
        if isinstance(at, tuple):
            return np.asarray(self.distinct[self.which[at[0]], at[1]])
        return self.distinct.take(self.which[at], axis=0)

    def numbers(self, at: Places) -> list[int]:
        """The masks at some positions, each as one number."""
        return list(map(self._distinct_numbers.__getitem__, self.which[at].tolist()))

    @cached_property
    def _distinct_numbers(self) -> list[int]:
        return from_columns(self.distinct)

    @property
    def columns(self) -> int:
        """Columns of 64 registers."""
        return int(self.distinct.shape[1])

    def some(self) -> NDArray[np.bool_]:
        """By position, whether there is any register."""
        some = np.asarray(self.distinct.any(axis=1))
        return np.asarray(some[self.which])

    def has(self, register: int, at: Places = slice(None)) -> NDArray[np.bool_]:
        """By position, whether a register is there."""
        column, bit = divmod(register, 64)
        masks = (self.distinct[:, column] >> np.uint64(bit) & np.uint64(1)).astype(bool)
        return np.asarray(masks[self.which[at]])

    def with_mask(self, at: Places, mask: int) -> Interned:
        """The same with one mask at some positions."""
        if not mask:
            which = self.which.copy()
            which[at] = 0
            return Interned(self.distinct, which)
        more = np.concatenate((self.distinct, in_columns([mask], self.columns)))
        which = _narrow(self.which, len(more))
        which[at] = len(self.distinct)
        return Interned(more, which)

    def with_others(self, at: Places, others: Interned) -> Interned:
        """The same with others at some positions."""
        more = np.concatenate((self.distinct, others.distinct))
        which, numbers = _narrow(self.which, len(more)), others.which.astype(np.uint32)
        which[at] = np.where(numbers, numbers + np.uint32(len(self.distinct)), 0)
        return Interned(more, which)


class Interner:
    """Makes them of masks that come in parts, one behind the other."""

    def __init__(self, columns: int) -> None:
        self._columns, self._numbers = columns, {bytes(8 * columns): 0}
        self._which: list[NDArray[np.unsignedinteger[Any]]] = [np.empty(0, dtype=np.uint16)]

    def add(self, masks: Masks, count: int | None = None) -> None:
        """The next ones; with a `count`, one mask may be that of so many places."""
        distinct, of = _distinct(masks)
        numbers = self._numbers
        found = [numbers.setdefault(row.tobytes(), len(numbers)) for row in distinct]
        which = np.array(found, dtype=_number(len(numbers)))[of]
        self._which.append(which if count is None else np.broadcast_to(which, count))

    def all(self) -> Interned:
        """All that came."""
        kept = np.frombuffer(b"".join(self._numbers), dtype=np.uint64)
        which = np.concatenate(self._which, dtype=_number(len(self._numbers)))
        return Interned(kept.reshape(-1, self._columns), which)


def _narrow(which: NDArray[np.unsignedinteger[Any]], count: int) -> NDArray[Any]:
    """A copy of the numbers of some of so many masks, in few bytes."""
    return which.astype(_number(count))


def _number(count: int) -> type[np.unsignedinteger[Any]]:
    """What holds the number of each of so many masks."""
    return np.uint16 if count <= _FEW else np.uint32


def interned(masks: Masks) -> Interned:
    """Those of an array."""
    made = Interner(masks.shape[1])
    for at in range(0, len(masks), AT_ONCE):
        made.add(masks[at : at + AT_ONCE])
    return made.all()


def _distinct(masks: Masks) -> tuple[Sequence[Masks], NDArray[np.intp]]:
    """The distinct rows, and which each row is.

    Equal rows have one place in a table, by their hash, and sorting them would take far longer.
    Those that find another row there go through it once more, alone.
    """
    found, of, left = list[Masks](), np.empty(len(masks), np.intp), np.arange(len(masks))
    first, columns = np.empty(_PLACES, np.intp), range(masks.shape[1])
    while len(left):
        rows = [masks[left, n] for n in columns]
        hashed = sum(rows[n] * np.uint64(pow(_FACTOR, n + 1, 1 << 64)) for n in columns)
        places, every = (hashed >> _SHIFT).astype(np.intp), np.arange(len(left))
        first[places] = every
        there = first[places]
        same = np.logical_and.reduce([row[there] == row for row in rows])
        firsts = np.flatnonzero(there == every)
        first[places[firsts]] = len(found) + np.arange(len(firsts))
        of[left[same]] = first[places[same]]
        found += list(masks[left[firsts]])
        left = left[~same]
    return found, of
