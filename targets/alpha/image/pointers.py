"""What in Alpha text points into text: the gp register, and code addresses made from it.

Linux and Tru64 code reaches everything through $29 (gp).  A function's first two instructions
make it from $27 and the function's own address; after a call two more make it from $26
(`ldah $29,hi($26); lda $29,lo($29)`), so the pair encodes the address of the code that it stands
in.  Static addresses are `ldah rX,hi($29); lda rY,lo(rX)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import first_at
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.protocol import Sectioned
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import FZERO, GP, PV, RA, SP, STATIC_CHAIN, ZERO

UNOP = Insn(TABLE.find("ldq_u"), (ZERO, 0, SP))
# The operand that says so, and its value: UNOP (ldq_u to $31), NOP (bis to $31), FNOP (cpys).
_IDLE = {"ldq_u": (0, ZERO), "bis": (-1, ZERO), "cpys": (-1, FZERO)}


def is_nop(insn: Insn) -> bool:
    """Whether an instruction writes no register and never traps, as compilers fill gaps."""
    idle = _IDLE.get(insn.op.name)
    return idle is not None and insn.operands[idle[0]] == idle[1]


_LDAH, _LDA = TABLE.find("ldah"), TABLE.find("lda")
_DISP = _LDAH.format.operands[_LDAH.format.index("disp")]
_BASE = _LDAH.format.operands[_LDAH.format.index("rb")]
_OTHERS = ~_DISP.mask
_GOES_BY = _BASE.mask
_SETS_GP = [TABLE.encode(Insn(op, (GP, 0, base))) for op, base in ((_LDAH, PV), (_LDA, GP))]

_LOADS_PV = TABLE.encode(Insn(TABLE.find("ldq"), (PV, 0, GP)))
_THROUGH_PV = _BASE.insert(PV)


def entry_gp(listing: Listing, start: int) -> int | None:
    """The gp that a function's first two instructions make from $27, if they do."""
    at = first_at(listing.addresses, start)
    words = listing.words[at : at + 2].tolist()
    if [word & _OTHERS for word in words] != _SETS_GP:
        return None
    if min(listing.rows[at : at + 2].tolist()) < 0:
        return None
    if listing.addresses[at : at + 2].tolist() != [start, start + _LDAH.format.size]:
        return None
    high, low = map(_DISP.extract, words)
    return (start + (high << 16) + low) % (1 << 64)


def shared(listing: Listing, functions: Sequence[Function]) -> dict[int, int]:
    """The gp of each function by its start, where it is known.

    A GOT of more than 64 KiB is split, and each part has a gp.  A function that does not make its
    own has the only one of the image, if there is only one.
    """
    made = {f.start: gp for f in functions if (gp := entry_gp(listing, f.start)) is not None}
    every = set(made.values())
    return {f.start: next(iter(every)) for f in functions} if len(every) == 1 else made


def candidates(known: Mapping[int, int], function: Function) -> tuple[int, ...]:
    """What gp may be in a function."""
    own = known.get(function.start)
    return (own,) if own is not None else tuple(sorted(set(known.values())))


def callee(listing: Listing, at: int, first: int, gp: int, slots: Mapping[int, int]) -> int | None:
    """The function that a computed call at position `at` reaches, through the GOT.

    `slots` gives the run-time content of relocated words as addresses of this image.
    """
    position = _maker(listing, at, first)
    insn = None if position is None else listing.insn(position)
    if insn is None or insn.name != "ldq" or insn.operand("rb") != GP:
        return None
    return slots.get(gp + insn.operand("disp"))


def _maker(listing: Listing, at: int, first: int) -> int | None:
    """The position of the last instruction that writes what a computed call goes through."""
    call = listing.insn(at)
    assert call is not None
    wanted = call.operand("rb")
    masks = listing.defs.numbers(slice(first, at))
    return next((first + n for n in reversed(range(len(masks))) if masks[n] >> wanted & 1), None)


class SharedData:
    """$29, which points into the GOT: what analysis asks of it."""

    register, callee, link, chain = GP, PV, RA, STATIC_CHAIN

    def table(self, image: Sectioned) -> range:
        """The GOT: the linker makes it, and nothing writes a file's that has no loader."""
        return image.table(".got")

    def steps(
        self, listing: Listing, at: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of which registers instructions make $29, and how much is added; -1 for all others."""
        words = listing.words[at].astype(np.int64)
        kinds, added = words & ~(_DISP.mask | _BASE.mask), (words & _DISP.mask ^ 0x8000) - 0x8000
        high, low = (kinds == TABLE.encode(Insn(op, (GP, 0, 0))) for op in (_LDAH, _LDA))
        made = (high | low) & (listing.rows[at] >= 0)
        bases = np.where(made, (words & _BASE.mask) >> _BASE.pieces[0][0], -1)
        return bases, np.where(high, added << 16, added)

    def loads(self, listing: Listing, distances: Iterable[int]) -> NDArray[np.intp]:
        """The positions of loads of $27 from so far off $29."""
        reached = (d for d in distances if -0x8000 <= d < 0x8000)
        words = [_LOADS_PV | _DISP.insert(distance) for distance in reached]
        return np.flatnonzero(np.isin(listing.words, words) & (listing.rows >= 0))

    def called(self, listing: Listing, at: int, first: int) -> int | None:
        """How far from $29 the address is that a call goes to, if [first, at) loads it."""
        if int(listing.words[at]) & _GOES_BY != _THROUGH_PV or listing.rows[at] < 0:
            return None
        position, masks = at, listing.defs.numbers(slice(first, at))
        # Back to what loads $27, with nothing on the way that writes $29.
        for mask in reversed(masks):
            position -= 1
            if mask >> PV & 1:
                break
            if mask >> GP & 1 or listing.rows[position] < 0:
                return None
        word = int(listing.words[position])
        if position == at or listing.rows[position] < 0 or word & _OTHERS != _LOADS_PV:
            return None
        return _DISP.extract(word)


SHARED_DATA = SharedData()
