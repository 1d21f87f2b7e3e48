"""Which nops of a text nobody needs: not those where something may be written.

What an instruction does is not enough to tell.  A kernel goes over its own code when it starts,
and finds the nop behind a call that a linker left there for the load that restores a register.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import addresses
from rewriter.core.code.listing import Listing
from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.isa.table import Table


def rows_keeping(table: Table, keeps_nop: Callable[[Op], bool]) -> NDArray[np.bool_]:
    """By row, whether a nop right behind it stays; behind the last those of data, by -1 and -2."""
    return np.array([*map(keeps_nop, table.rows), False, False])


def kept(
    listing: Listing, first: int, last: int, keeping: NDArray[np.bool_], held: Collection[int]
) -> NDArray[np.bool_]:
    """Where in positions [first, last) a nop would stay: at an address that is `held`, and behind
    one of the rows that are `keeping` it.
    """
    found = np.zeros(last - first, dtype=bool)
    before = listing.rows[max(first - 1, 0) : max(last - 1, 0)]
    found[last - first - len(before) :] = keeping[before]
    there = listing.addresses[first:last]
    if last - first < len(held):  # a function of a kernel, which holds places all over its text
        found |= np.fromiter(map(held.__contains__, there.tolist()), dtype=bool, count=len(there))
    else:
        at = listing.positions(addresses(held))
        found[at[(at >= first) & (at < last)] - first] = True
    return np.asarray(found)


def is_kept(
    listing: Listing, at: int, keeps_nop: Callable[[Op], bool], held: Collection[int]
) -> bool:
    """Whether a nop would stay at one position."""
    before = int(listing.rows[at - 1]) if at else -1
    keeping = before >= 0 and keeps_nop(listing.table.rows[before])
    return keeping or int(listing.addresses[at]) in held


def nops(
    listing: Listing,
    is_nop: Callable[[Insn], bool],
    keeps_nop: Callable[[Op], bool],
    held: Collection[int],
    usual: Collection[int],
) -> NDArray[np.bool_]:
    """The positions of nops that may go: the word says so, if it writes no register.

    A `usual` one, by its word, may name a register, which stays as it is.
    """
    table = listing.table
    rows = [op.flow is Flow.NEXT and not table.effects(op).stores for op in table.rows]
    may = np.array([*rows, False, False])[listing.rows]
    may &= ~listing.defs.some() | np.isin(listing.words, sorted(usual))
    words, of = np.unique(listing.words[may], return_inverse=True)
    insns = map(table.decode, words.tolist())
    found = np.array([insn is not None and is_nop(insn) for insn in insns], dtype=bool)
    may[may] = found[of]
    keeping = rows_keeping(table, keeps_nop)
    return np.asarray(may & ~kept(listing, 0, len(listing), keeping, held))
