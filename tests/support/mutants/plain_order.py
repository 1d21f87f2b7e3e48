"""Random changes of the order in which blocks stand, in functions in which they changed places."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from rewriter.analysis.reservations import LOCK, RELEASE
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn, Op
from tests.support.mutants.changes import HINT, Change
from tests.support.mutants.plain_base import WORD, PlainBase
from tests.support.mutants.plain_draw import PlainDraw

SHARES = {"inverted": 4, "jump": 3, "doubled": 4, HINT: 1}
_NEXT = FLOW_CODE[Flow.NEXT]


class OrderDraw(PlainDraw):
    """Draws branches and blocks of functions whose transfers of control changed places."""

    def __init__(self, base: PlainBase) -> None:
        super().__init__(base)
        self._shares = {
            kind: share
            for kind, share in SHARES.items()
            if kind != HINT or any(map(_is_hinted, self.table))
        }

    def change(self, source: random.Random) -> Change:
        """A change of a random kind, where there is a place for one."""
        kind = source.choices(list(self._shares), list(self._shares.values()))[0]
        while True:
            function, at = source.choice(self._reordered)
            insn = self.listing.insn(at)
            if insn is not None and insn.size == WORD:
                words = self._words(kind, function, at, insn, source)
                if words and words != self.listing.words[at : at + len(words)].tolist():
                    return self._change(kind, at, words)

    def _words(
        self, kind: str, function: Function, at: int, insn: Insn, source: random.Random
    ) -> list[int]:
        """What stands from a position on instead; nothing where the kind has no place there."""
        if kind == "inverted":
            known = self.base.program.target.inverting
            other = None if known is None else known.opposite(insn)
            return [] if other is None else self._encoded(other)
        if kind == "jump":
            is_jump = insn.op.flow is Flow.JUMP and not self.table.defs(insn)
            return self._drop(at, insn, source) if is_jump else []
        if kind == HINT:
            return [] if self._is_locked(function, at) else self._hinted(insn, source)
        return self._doubled(function, at, source)

    def _doubled(self, function: Function, at: int, source: random.Random) -> list[int]:
        """The straight code of a block of the function where another one begins."""
        span = range(*self.listing.span(function.start, function.end))
        starts = [n for n in span if self._begins(n)]
        other = source.choice(starts) if at in starts else at
        size = min(self._straight(at, span.stop), self._straight(other, span.stop))
        return [] if other == at else self.listing.words[other : other + size].tolist()

    def _hinted(self, insn: Insn, source: random.Random) -> list[int]:
        if not _is_hinted(insn.op):
            return []
        word = self._flipped(insn, insn.op.format.operands[0], source)
        other = self.table.decode(word)
        return [word] if other is not None and other.op is insn.op else []

    @cached_property
    def _reordered(self) -> Sequence[tuple[Function, int]]:
        """Positions in functions whose transfers are others, or come in another order."""
        old, new = self.base.program.listing, self.listing
        found = list[tuple[Function, int]]()
        for function in self.base.program.functions:
            here = slice(*old.span(function.start, function.end))
            before, after = (some.placeless(here)[some.flows[here] != _NEXT] for some in (old, new))
            if not np.array_equal(before, after):
                found += [(function, n) for n in range(here.start, here.stop)]
        return found

    def _is_locked(self, function: Function, at: int) -> bool:
        """Whether it stands between a load-locked and its store-conditional, where all stays."""
        for n in range(at, self.listing.span(function.start, function.end)[0] - 1, -1):
            insn = self.listing.insn(n)
            events = () if insn is None else self.table.effects(insn.op).events
            if LOCK in events or (RELEASE in events and n < at):
                return LOCK in events
        return False

    def _begins(self, at: int) -> bool:
        """Whether a block begins at a position."""
        behind = at > 0 and self.listing.flows[at - 1] != _NEXT
        return bool(behind) or int(self.listing.addresses[at]) in self._targets

    @cached_property
    def _targets(self) -> frozenset[int]:
        return frozenset(self.listing.targets.tolist())

    def _straight(self, at: int, end: int) -> int:
        """How many instructions stand from a position on before one that transfers control."""
        transfers = np.flatnonzero(self.listing.flows[at:end] != _NEXT)
        return int(transfers[0]) if len(transfers) else end - at


def _is_hinted(op: Op) -> bool:
    """Whether the first operand of a conditional branch only says where control probably goes."""
    operands = op.format.operands
    return op.flow is Flow.BRANCH and bool(operands) and operands[0].name.startswith("bo_")
