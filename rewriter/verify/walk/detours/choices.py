"""Instructions that choose, read as the branch over a move that they are.

Where new code has one that the old code of the function does not have, it is read as a branch to
the next instruction with a move behind it, at the same address, so that nothing can come between:

    isel r3,r3,r4,lt        is      blt 1f; mr r3,r4; 1:

What both mean is shown on terms; the walk compares what is read.  Not where the function has a
barrier that makes loads wait for branches: a choice is none.  Nor where a CPU may lack it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.program import Program
from rewriter.core.code.extensions import lacking
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.idioms import Choosing
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.detours.meaning import means

More = Mapping[int, tuple[Insn, ...]]
"""What a branch is besides, by its address."""


def barriers(listing: Listing, known: Choosing) -> NDArray[np.intp]:
    """The positions, ascending, of instructions behind which loads wait for branches."""
    return _positions(listing, known.BARRIERS)


def _positions(listing: Listing, names: Collection[str]) -> NDArray[np.intp]:
    """The positions, ascending, of the instructions of some names."""
    rows = [number for number, op in enumerate(listing.table.rows) if op.name in names]
    return np.flatnonzero(np.isin(listing.rows, rows))


def has(positions: NDArray[np.intp], first: int, last: int) -> bool:
    """Whether any of ascending positions is in [first, last)."""
    here, end = np.searchsorted(positions, (first, last)).tolist()
    return bool(here < end)


def branches(
    program: Program,
    new: Listing,
    functions: Collection[Function],
    known: Choosing,
    prover: Prover,
    features: Collection[str],
) -> tuple[Listing, More]:
    """The text of a new file with such branches, and the move behind each.

    Every CPU that runs it has `features`.
    """
    table, words, more = new.table, new.words.copy(), dict[int, tuple[Insn, ...]]()
    choices, waiting = _positions(new, known.NAMES), barriers(new, known)
    for function in functions if len(choices) else ():
        span = new.span(function.start, function.end)
        first, last = np.searchsorted(choices, span)
        if first == last or has(waiting, *span):
            continue
        had = {*program.listing.words[slice(*program.listing.span(function.start, function.end))]}
        for at in choices[first:last].tolist():
            insn = new.insn(at)
            if insn is None or new.words[at] in had or lacking((insn,), features):
                continue
            found = known.as_branch(insn)
            if found is not None and means(table, prover, *found, True, insn):
                branch, move = found
                words[at], more[int(new.addresses[at])] = table.encode(branch), (move,)
    return (new.with_code(words), more) if more else (new, more)
