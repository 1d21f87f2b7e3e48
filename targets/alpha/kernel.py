"""What Linux for Alpha keeps in and about its text: data behind BUG, and the exception table.

Sources: Linux 6.1 arch/alpha/include/asm/bug.h, extable.h and uaccess.h, kernel/traps.c (do_entIF).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rewriter.core.listing import Listing
from rewriter.core.target import Memory
from targets.alpha.isa import TABLE

BUGCHK = TABLE.find("bugchk")
BUG_WORDS = 3
"""Behind the trap of BUG: the line, 32 bits, and the address of the file's name, 64 bits."""

_LONGEST_NAME = 256  # bytes


def inline_data(listing: Listing, memory: Memory) -> NDArray[np.int64]:
    """The positions of what BUG leaves behind its trap, from where control does not come back."""
    traps = np.flatnonzero(listing.words == BUGCHK.match)
    found: list[int] = []
    for at in traps.tolist():
        # A line number may look like the trap.
        if (not found or at > found[-1]) and _names_a_file(listing, at, memory):
            found += range(at + 1, at + 1 + BUG_WORDS)
    return np.array(found, dtype=np.int64)


def _names_a_file(listing: Listing, at: int, memory: Memory) -> bool:
    words = listing.words[at + 2 : at + 1 + BUG_WORDS].tolist()
    if len(words) < BUG_WORDS - 1:
        return False
    name = words[0] | words[1] << 32
    if not memory.is_mapped(name) or not memory.is_mapped(name + _LONGEST_NAME):
        return False
    text = memory.read(name, _LONGEST_NAME).split(b"\0", 1)[0]
    return 0 < len(text) < _LONGEST_NAME and text.isascii() and text.decode().isprintable()
