"""What can be put into a candidate or left out: the changed bytes of a file in units.

A unit is a function with all that changed in it, in its jump tables, its unwind entry and its
entries of the exception table: code that moved inside it cannot be taken apart.  Where nothing
moved, its superblocks are units, each of which was proved for itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit
from rewriter.elf.headers import PT_LOAD
from rewriter.elf.image import Image

Offsets: TypeAlias = NDArray[np.int64]
NOBODY = -1


@dataclass(frozen=True)
class Unit:
    """Changes that belong together, and the edits that made them."""

    name: str
    function: Function
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Changes:
    """Two files, the changed offsets, and whose each is: the number of a unit, or NOBODY.

    What is nobody's, and what stands behind the old file's end, is in every candidate: headers,
    room for new code, notes.
    """

    old: bytes
    new: bytes
    offsets: Offsets
    owners: NDArray[np.int64]
    units: tuple[Unit, ...]
    needs: Mapping[int, frozenset[int]] = field(default_factory=dict)

    @property
    def shared(self) -> bool:
        """Whether something is in every candidate."""
        return len(self.old) != len(self.new) or bool((self.owners == NOBODY).any())

    def candidate(self, chosen: Iterable[int]) -> bytes:
        """The new file with these units only; with nothing that is nobody's where all were old."""
        content = np.frombuffer(bytearray(self.new), dtype=np.uint8)
        wanted = np.zeros(len(self.units) + 1, dtype=np.bool_)
        wanted[[*chosen, NOBODY]] = True  # NOBODY is the last
        back = self.offsets[~wanted[self.owners]]
        content[back] = np.frombuffer(self.old, dtype=np.uint8)[back]
        return content.tobytes()

    def of_unit(self, unit: int) -> Offsets:
        """The changed offsets of a unit."""
        mine: Offsets = self.offsets[self.owners == unit]
        return mine


def changed(old: bytes, new: bytes) -> Offsets:
    """File offsets at which two files differ, as far as the old one goes."""
    both = (np.frombuffer(data, np.uint8)[: len(old)] for data in (old, new))
    before, after = both
    return np.flatnonzero(before != after)


def by_function(
    image: Image,
    new: bytes,
    functions: Sequence[Function],
    spans: Iterable[tuple[int, int, int]],
    edits: Iterable[Edit],
) -> Changes:
    """Changed bytes by function; `spans` are further file offsets [first, last) of a function.

    A function ends where the next begins: what fills up between them is of it.
    """
    offsets = changed(image.data, new)
    addresses = _addresses(image, offsets)
    starts = np.array([f.start for f in functions], dtype=np.uint64)
    owners = starts.searchsorted(addresses, side="right") - 1
    owners[~_in_code(image, addresses)] = NOBODY
    for function, first, last in spans:
        low, high = offsets.searchsorted([first, last])
        owners[low:high] = function
    return _numbered(image.data, new, offsets, owners, functions, edits)


def _numbered(
    old: bytes,
    new: bytes,
    offsets: Offsets,
    owners: NDArray[np.int64],
    functions: Sequence[Function],
    edits: Iterable[Edit],
) -> Changes:
    """Units are the functions with changes, in their order."""
    present = np.unique(owners[owners != NOBODY])
    starts = [function.start for function in functions]
    mine: dict[int, list[Edit]] = {}
    for edit in edits:
        mine.setdefault(bisect_right(starts, edit.address) - 1, []).append(edit)
    units = tuple(
        Unit(functions[n].name, functions[n], tuple(mine.get(n, ()))) for n in present.tolist()
    )
    numbers = np.where(owners == NOBODY, NOBODY, present.searchsorted(owners))
    return Changes(old, new, offsets, numbers, units)


def within(changes: Changes, unit: int, ranges: Sequence[tuple[int, int]], image: Image) -> Changes:
    """The changes of one unit by parts of its code, [start, end) addresses that ascend.

    All other units are as in the old file; the unit's changes outside these parts go with the
    part before them.
    """
    offsets = changes.of_unit(unit)
    places = np.array([image.offset_of(start) for start, _ in ranges], dtype=np.int64)
    parts = np.maximum(places.searchsorted(offsets, side="right") - 1, 0)
    whole = changes.units[unit]
    units = []
    present = np.unique(parts)
    for n in present.tolist():
        start = ranges[n][0] if n else 0
        end = ranges[n + 1][0] if n + 1 < len(ranges) else 1 << 64
        edits = tuple(edit for edit in whole.edits if start <= edit.address < end)
        units.append(Unit(f"{whole.name} at {ranges[n][0]:#x}", whole.function, edits))
    content = changes.candidate((unit,))
    return Changes(changes.old, content, offsets, present.searchsorted(parts), tuple(units))


def pieces(changes: Changes, old: Listing, new: Listing) -> dict[int, frozenset[int]]:
    """What units need: others, into whose middle new code of theirs goes and no old code went.

    Routines in pieces stand in the room that other functions leave.  What nobody's code, which
    may be of any of them, leads to is under NOBODY.
    """
    functions = [unit.function for unit in changes.units]
    starts = np.array([function.start for function in functions], dtype=np.uint64)
    ends = np.array([function.end for function in functions], dtype=np.uint64)

    def owner(addresses: NDArray[np.uint64]) -> NDArray[np.int64]:
        at = starts.searchsorted(addresses, side="right") - 1
        inside = (at >= 0) & (addresses < ends[np.maximum(at, 0)])
        return np.where(inside, at, NOBODY)

    def across(listing: Listing) -> set[tuple[int, int]]:
        """(unit or NOBODY, target) of what leads into the middle of another unit."""
        here, there = owner(listing.addresses), owner(listing.targets)
        leads = (there != NOBODY) & (here != there)
        leads[leads] &= listing.targets[leads] != starts[there[leads]]
        return set(zip(here[leads].tolist(), listing.targets[leads].tolist(), strict=True))

    found: dict[int, frozenset[int]] = {}
    for one, target in across(new) - across(old):
        (other,) = owner(np.array([target], dtype=np.uint64)).tolist()
        found[one] = found.get(one, frozenset()) | {other}
    return found


def _addresses(image: Image, offsets: Offsets) -> NDArray[np.uint64]:
    """Where the bytes at some file offsets are loaded; 0 for those that are not."""
    found = np.zeros(len(offsets), dtype=np.uint64)
    for s in image.segments:
        if s.p_type == PT_LOAD:
            inside = (offsets >= s.p_offset) & (offsets < s.p_offset + s.p_filesz)
            distance = (offsets[inside] - s.p_offset).astype(np.uint64)
            found[inside] = distance + np.uint64(s.p_vaddr)
    return found


def _in_code(image: Image, addresses: NDArray[np.uint64]) -> NDArray[np.bool_]:
    found = np.zeros(len(addresses), dtype=np.bool_)
    for start, end in image.executable_ranges():
        found |= (addresses >= np.uint64(start)) & (addresses < np.uint64(end))
    return found
