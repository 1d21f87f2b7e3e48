"""Accesses one by one, for who does not let a load go or come earlier."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.core.code.dataflow import Run
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.protocol import Sequential
from rewriter.core.terms.term import Term
from rewriter.verify.walk.equivalence import Comparison, Different
from rewriter.verify.walk.stack import address_of, operands_of


def same_accesses(
    comparison: Comparison,
    target: Sequential,
    old: tuple[Run, Sequence[Insn]],
    new: tuple[Run, Sequence[Insn]],
) -> None:
    """That both runs load and store at the same places, in the same order; raises Different."""
    before, after = (_accesses(run, insns, target) for run, insns in (old, new))
    if [stores for stores, _ in before] != [stores for stores, _ in after]:
        raise Different("a load or store went or came, which --assume does not allow")
    for (_, place), (_, other) in zip(before, after, strict=True):
        if place is not None and other is not None:
            comparison.same(place, other, "place of an access")
        elif place is not other:
            raise Different("a load or store went elsewhere")


def _accesses(
    run: Run, insns: Sequence[Insn], target: Sequential
) -> list[tuple[bool, Term | None]]:
    found, terms = [], run.state.terms
    inside = ~terms.const(target.cell - 1)
    for slot, insn in enumerate(insns):
        if target.table.accesses(insn):
            address = address_of(operands_of(run, slot, insn, target), insn, target, terms)
            place = None if address is None else terms.and_(address, inside)
            found.append((target.table.effects(insn.op).stores, place))
    return found
