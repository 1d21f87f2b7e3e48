"""Why the tables in which a kernel names code cannot be read: where they are, or their format.

Other versions of a system have other formats, and nothing in a table says which one it is.  Read
in another's, entries name no code, or code of another kind than the table is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import Addresses, addresses
from rewriter.core.code.listing import Listing
from rewriter.core.code.system_tables import Layout, Named, Sections, SystemTables, held, table_of

_SPACE = 1 << 64  # addresses


def unread(tables: SystemTables, image: Sections, listing: Listing) -> str:
    """What of a kernel names code and cannot be read, or nothing.

    In its listing what may become a branch is one already (`switched`).
    """
    if not image.is_sectioned:
        return "tables that are found by section headers, of which there are none"
    lost = next((name for name in tables.always if not table_of(image, name).start), "")
    if lost:
        return f"{lost}, a table that neither a section nor symbols show"
    if tables.bounded and not image.enclosed(tables.bounded).start:
        return f"tables of which no symbol says where they begin, as __start_{tables.bounded} does"
    name = next(_misread(tables, image, listing), "")
    return f"{name}, a table whose format is not known" if name else ""


def _misread(tables: SystemTables, image: Sections, listing: Listing) -> Iterator[str]:
    """The names of the tables that are not in the format in which they are read."""
    where, size = tables.exceptions.where(image), tables.exceptions.size
    if not (_is_whole(image, where, size) and _is_of_exceptions(tables, image, listing)):
        yield "__ex_table"
    for layout in tables.layouts:
        named = (_names_code(one, layout, tables, image, listing) for one in layout.named)
        if not (_is_whole(image, table_of(image, layout.name), layout.size) and all(named)):
            yield layout.name


def _is_whole(image: Sections, where: range, size: int) -> bool:
    """Whether a table is so many entries of a size, and zeros at most behind them.

    It is not zeros alone: what a relocation fills in when the kernel starts is 0 in some files.
    """
    rest = len(where) % size
    behind = rest > 0 and any(image.read(where.stop - rest, rest))
    return not where or (not behind and any(image.read(where.start, len(where))))


def _is_of_exceptions(tables: SystemTables, image: Sections, listing: Listing) -> bool:
    """Whether all exception entries name code, and code that may fault."""
    for fixup in tables.exceptions.read(image):
        if not (listing.has(fixup.access) and listing.has(fixup.resume)):
            return False
        insn = listing.insn(listing.index(fixup.access))
        if tables.accessing and (insn is None or not listing.table.accesses(insn)):
            return False
    return True


def _names_code(
    named: Named, layout: Layout, tables: SystemTables, image: Sections, listing: Listing
) -> bool:
    """Whether what the entries of a table name is code, of the kind that the table is for."""
    every = tuple(held(replace(layout, named=(named,)), image, tables.order))
    starts = _wrapped(one.start + named.ahead for one in every)
    at, is_right = _positions(listing, starts)
    if not isinstance(named.end, int):
        ends, size = _wrapped(one.end for one in every), np.uint64(listing.table.size)
        _, is_behind_code = _positions(listing, ends - size)
        is_right = (is_right & (starts <= ends) | (starts == ends)) & is_behind_code
    if named.target is not None:
        targets = _wrapped(one.target or 0 for one in every)
        is_right &= (listing.targets[at] == targets) & _positions(listing, targets)[1]
    if named.stands:
        words = listing.words[at].astype(np.uint64)
        alike = [words & np.uint64(mask) == np.uint64(word) for mask, word in named.stands]
        is_right &= np.logical_or.reduce(alike)
    return bool(is_right.all())


def _positions(listing: Listing, places: Addresses) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The position of each place, and whether an instruction starts there."""
    at = np.minimum(listing.addresses.searchsorted(places), len(listing) - 1)
    return at, np.asarray(listing.addresses[at] == places)


def _wrapped(places: Iterable[int]) -> Addresses:
    """An array of addresses that may have been counted past an end of the space."""
    return addresses(place % _SPACE for place in places)
