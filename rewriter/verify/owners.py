"""Whose bytes changed: ranges of addresses that hold some, and what is in none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import Sides, distances
from rewriter.core.differing import offsets
from rewriter.elf.headers import PT_LOAD
from rewriter.elf.image import Image

Offsets = NDArray[np.int64]


def changed_offsets(old: bytes, new: bytes) -> Offsets:
    """File offsets at which two files of one size differ, ascending."""
    return offsets(old, new)


def owners(image: Image, ranges: Sides, changed: Offsets) -> tuple[list[int], Offsets]:
    """The numbers of the ranges with a changed byte; the offsets in none of them.

    A file has millions of changed bytes and thousands of ranges, so ranges are looked for among
    the bytes.
    """
    touched = np.zeros(len(ranges[0]), dtype=np.bool_)
    depth = np.zeros(len(changed) + 1, dtype=np.int64)
    for s in image.segments:
        if s.p_type != PT_LOAD:
            continue
        first, last = (
            changed.searchsorted(s.p_offset + distances(s.p_vaddr, at).clip(0, s.p_filesz))
            for at in ranges
        )
        touched |= first < last
        np.add.at(depth, first, 1)
        np.add.at(depth, last, -1)
    return np.flatnonzero(touched).tolist(), changed[depth[:-1].cumsum() == 0]
