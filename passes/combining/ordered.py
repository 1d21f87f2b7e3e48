"""Minus one, zero or one, by how two values are ordered: one comparison less the other."""

from __future__ import annotations

from collections.abc import Iterator

from passes.lib.technique import Site
from rewriter.core.code.dataflow import INPUT, Trace
from rewriter.core.edit import Rewrite
from rewriter.core.target.idioms import ConditionalMoves

KIND = "order of two values"


class Ordered:
    """The orders of a block that a conditional move completes."""

    def __init__(self, trace: Trace, known: ConditionalMoves) -> None:
        self.trace, self.known = trace, known

    def sites(self) -> Iterator[Site]:
        """A site for each conditional move that puts one in the place of a negative."""
        for slot, insn in enumerate(self.trace.insns):
            if self.known.is_one(insn):
                yield from self._site(slot)

    def _site(self, slot: int) -> Iterator[Site]:
        """Where what is tested is a comparison, and what stays is the negative of another."""
        trace, insn = self.trace, self.trace.insns[slot]
        tested, _, stays = insn.operands
        asked, minus = (trace.definition[slot].get(one, INPUT) for one in (tested, stays))
        if INPUT in (asked, minus) or asked == minus:
            return
        register = self.known.negated(trace.insns[minus])
        says = self.known.saying(insn, trace.insns[asked])
        if register is None or says is None:
            return
        changes = (slot, self.known.difference(insn, register)), (asked, says)
        yield Site(slot, KIND, (Rewrite(slot, KIND, changes, frozenset({minus})),))
