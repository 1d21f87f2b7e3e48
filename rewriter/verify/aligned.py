"""Word accesses of new code where the old code handles a word at the address as an aligned one.

Code for machines without word accesses takes a word out of its granule by its position there; what
may cross into the next granule is spelled otherwise.  So the spelling shows what is aligned.
"""

from __future__ import annotations

from rewriter.core.target import Target
from rewriter.core.term import Term, Terms
from rewriter.core.trace import Run, registers_of
from rewriter.verify.equivalence import Comparison
from rewriter.verify.segments import Segment

_WORD = 2  # bytes


def aligned(
    target: Target, comparison: Comparison, before: Run, after: Run, old: Segment
) -> tuple[tuple[Term, int], ...]:
    """New word accesses, where the old code handles a word at the address as an aligned one."""
    terms = comparison.terms
    words = [comparison.through(a) for a, size in after.narrow.values() if size == _WORD]
    if not words:
        return ()
    crossing = {
        terms.linear(value)[0]
        for slot, insn in enumerate(old.insns)
        if insn.name in target.spelling.CROSSING
        for value in before.operand.get(slot, ())
    }
    handled = _words(target, terms, before, old)
    wider = {address for address, size in before.state.narrow if size > _WORD}
    return tuple(
        (address, _WORD)
        for address in words
        if terms.linear(address)[0] not in crossing
        and (_granular(target, terms, address) in handled or address in wider)
    )


def _words(target: Target, terms: Terms, before: Run, old: Segment) -> set[tuple[Term, int]]:
    """Where the old code handles a word: an address' root and the byte in its granule."""
    spelling = target.spelling
    kept = {
        value
        for slot, insn in enumerate(old.insns)
        if spelling.keeps_top_word(insn)
        for value in before.operand[slot]
    }
    found = set()
    for slot, insn in enumerate(old.insns):
        position = spelling.word_position(insn)
        if position is None or (
            spelling.needs_top_word(insn) and before.value.get(slot) not in kept
        ):
            continue
        register, distance = position
        reads = registers_of(target.table.uses(insn))
        if register in reads:
            at = before.operand[slot][reads.index(register)]
            found.add(_granular(target, terms, terms.add(at, terms.const(distance))))
    return found


def _granular(target: Target, terms: Terms, address: Term) -> tuple[Term, int]:
    root, distance = terms.linear(address)
    return root, distance % target.granule
