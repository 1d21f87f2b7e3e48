"""Instructions over which a kernel writes when it starts, as single words of its data name them.

Such a word holds the distance from itself to an instruction.  Nothing but a symbol tells it from
any other, so all are meant that read so, but for those that are known to say something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

import numpy as np

from rewriter.core.addresses import addresses
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import JumpTable
from rewriter.core.code.system_tables import Held, Holds
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image
from rewriter.elf.pins import site_words


def sites(image: Image, target: Sequential, listing: Listing) -> tuple[Held, ...]:
    """What words of data outside the system's tables name; nothing in what is no kernel."""
    if not (target.tables.sites and target.is_kernel(image)):
        return ()
    size = target.table.size
    words = (
        Held(f"the word at {place:#x}", place, Holds.WRITTEN, named, named + size)
        for place, named in site_words(image, listing)
    )
    return tuple(_outside(tuple(words), target.tables.places(image)))


def but_for_switches(found: Sequence[Held], tables: Iterable[JumpTable]) -> tuple[Held, ...]:
    """Those whose word is in no jump table of a length that is known."""
    places = (
        range(table.address, table.address + table.size * len(table.targets))
        for table in tables
        if table.exact
    )
    return tuple(_outside(found, places))


def _outside(found: Sequence[Held], read: Iterable[range]) -> Iterator[Held]:
    """Those whose entry is in none of the ranges."""
    places = addresses(one.entry for one in found)
    is_outside = np.ones(len(places), dtype=bool)
    for where in read:
        is_outside &= (places < np.uint64(where.start)) | (places >= np.uint64(where.stop))
    return compress(found, is_outside.tolist())
