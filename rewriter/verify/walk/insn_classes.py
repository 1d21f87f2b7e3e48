"""What a walk asks of each instruction by itself, for whole functions at once.

The answers depend on the row and on the registers that are named (`Sequential`), so a kernel's half
a million instructions are of a few thousand kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from rewriter.core.code.listing import Listing
from rewriter.core.code.nops import kept, rows_keeping
from rewriter.core.isa.instruction import Flow, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.target.protocol import Sequential, is_hint

NOP, HINT, WHOLE, PLACED, IDLE, WORD = 1, 2, 4, 8, 16, 32
"""It does nothing, and may go; it is a load that does nothing but ask for a line; it saves or
restores whole registers; it is no transfer of control, and what it does depends on where it
stands; it does nothing, whether it may go or has its place; it accesses two bytes."""

_WORD = 2  # bytes


class _Recent(NamedTuple):
    """What the positions [first, last) of a listing are."""

    listing: Listing  # kept, so that no other has its id
    first: int
    last: int
    kinds: bytes


class Kinds:
    """The kinds of instructions, found once each."""

    def __init__(
        self,
        target: Sequential,
        held: Collection[int] = (),
        keeps_nop: Callable[[Op], bool] = lambda op: False,
    ) -> None:
        """`held` are addresses whose instruction stays, a nop as any other."""
        self.target, self.held, table = target, held, target.table
        self._keeping = rows_keeping(table, keeps_nop)
        self._by_place = bool(held) or bool(self._keeping.any())
        # Behind the last row are those of what is no instruction, by their negative numbers.
        # A nop that is another instruction with other numbers is told by its whole word.
        whole = {nop.op for nop in target.nops(table.size)}
        self.named = np.zeros(len(table.rows) + 2, dtype=np.uint64)
        for number, op in enumerate(table.rows):
            self.named[number] = (1 << table.word_bits) - 1
            for operand in op.format.operands:
                if operand.kind is not Kind.REGISTER and op not in whole:
                    self.named[number] &= ~np.uint64(operand.mask)
        self.known: dict[int, int] = {}
        self._whole: dict[int, tuple[int, int, bool]] = {}
        self._recent: dict[int, _Recent] = {}

    def of(self, listing: Listing, first: int, last: int) -> bytes:
        """What each position of [first, last) is, nothing where no instruction is.

        Those asked for last are remembered for each listing: check after check asks for parts of
        one function.
        """
        recent = self._recent.get(id(listing))
        if recent is None or not recent.first <= first <= last <= recent.last:
            kinds = self._of(listing, first, last)
            if self._by_place:
                kinds = self._without_kept(kinds, listing, first, last)
            recent = _Recent(listing, first, last, kinds)
            self._recent[id(listing)] = recent
        return recent.kinds[first - recent.first : last - recent.first]

    def _without_kept(self, kinds: bytes, listing: Listing, first: int, last: int) -> bytes:
        """The same without nops that have their place."""
        found = np.frombuffer(kinds, dtype=np.uint8).copy()
        found[kept(listing, first, last, self._keeping, self.held)] &= ~np.uint8(NOP)
        return found.tobytes()

    def whole(self, listing: Listing, at: int) -> tuple[int, int, bool]:
        """Of a WHOLE one: masks of the registers and of that of the address; whether it saves."""
        word = int(listing.words[at])
        found = self._whole.get(word)
        if found is None:
            insn = listing.insn(at)
            said = None if insn is None else self.target.whole(insn)
            if said is None:
                raise ValueError(f"no save or restore at {int(listing.addresses[at]):#x}")
            registers, base, saves = said
            found = self._whole[word] = registers, 1 << base, saves
        return found

    def _of(self, listing: Listing, first: int, last: int) -> bytes:
        rows = listing.rows[first:last]
        words = listing.words[first:last] & self.named[rows]
        keys = (words << np.uint64(16) | rows.view(np.uint16)).tolist()
        try:
            return bytes(map(self.known.__getitem__, keys))
        except KeyError:  # seldom: few are new
            for key in set(keys).difference(self.known):
                self.known[key] = self._kind(listing, first + keys.index(key))
            return bytes(map(self.known.__getitem__, keys))

    def _kind(self, listing: Listing, at: int) -> int:
        insn = listing.insn(at)
        if insn is None:
            return 0
        nop = self.target.is_nop(insn) or self.target.ends_group(insn)
        whole = self.target.whole(insn) is not None
        effects, hint = self.target.table.effects(insn.op), is_hint(insn, self.target)
        placed = insn.op.flow is Flow.NEXT and effects.placed
        word = effects.size == _WORD and self.target.table.accesses(insn)
        found = (NOP | IDLE) * nop | HINT * hint | WHOLE * whole | PLACED * placed
        return found | WORD * word
