"""Instructions of two words where the old file had two instructions: the second word does nothing.

Such a place is no instruction's any more, and nothing may come to it.  It is read as a nop behind
its instruction, so that both files have the same places; the walk refuses to begin there, and a
branch that leads there keeps it from being read so.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import Addresses
from rewriter.core.code.listing import INLINE, Listing, decode_at
from rewriter.core.target.protocol import Sequential


@dataclass(frozen=True)
class Read:
    """A new file's text with a place for each of the old one's; `inside` are second words."""

    listing: Listing
    inside: Collection[int] = frozenset()


def read(old: Listing, new: Listing, target: Sequential) -> Read:
    """The text of a new file; as it is where none of it is so."""
    if target.prefixing is None or np.array_equal(old.addresses, new.addresses):
        return Read(new)
    missing = np.setdiff1d(old.addresses, new.addresses, assume_unique=True)
    missing = missing[_second(missing, new, target.prefixing.LINE)]
    missing = np.setdiff1d(missing, new.targets)
    if not len(missing):
        return Read(new)
    places = np.concatenate((new.addresses, missing))
    order = np.argsort(places, kind="stable")
    nop = target.table.encode(next(iter(target.nops(target.table.size))))
    words = np.concatenate((new.words, np.full(len(missing), nop, dtype=new.words.dtype)))[order]
    is_data = np.concatenate((new.rows == INLINE, np.zeros(len(missing), dtype=np.bool_)))[order]
    listing = decode_at(target.table, places[order], words, np.flatnonzero(is_data), old)
    return Read(listing, frozenset(missing.tolist()))


def _second(places: Addresses, new: Listing, line: int) -> NDArray[np.bool_]:
    """At which places the second word of an instruction stands that is in one line."""
    size = new.table.size
    at = new.addresses.searchsorted(places) - 1
    long = np.array([op.format.size == 2 * size for op in new.table.rows] + [False, False])
    behind = new.addresses[at] == places - np.uint64(size)
    return np.asarray((at >= 0) & behind & long[new.rows[at]] & (places % np.uint64(line) != 0))
