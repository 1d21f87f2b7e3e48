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
    for (_, places), (_, others) in zip(before, after, strict=True):
        comparison.same_places(places, others)


def _accesses(
    run: Run, insns: Sequence[Insn], target: Sequential
) -> list[tuple[bool, tuple[Term, ...]]]:
    """Whether each access stores, and what it touches where its base is no constant."""
    found, state = [], run.state
    for slot, insn in enumerate(insns):
        if target.table.accesses(insn):
            effects = target.table.effects(insn.op)
            operands = operands_of(run, slot, insn, target)
            address = address_of(operands, insn, run.addresses[slot], target, state.terms)
            places = () if address is None else state.places(address, effects.size)
            found.append((effects.stores, places))
    return found
