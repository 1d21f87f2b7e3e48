"""Word accesses of new code where the old code handles a word at the address as an aligned one.

Code for machines without word accesses takes a word out of its cell by its position there; what
may cross into the next cell is spelled otherwise.  So the spelling shows what is aligned.
"""

from __future__ import annotations

from rewriter.core.code.dataflow import Run, registers_of
from rewriter.core.target.idioms import NarrowMemory
from rewriter.core.target.protocol import Sequential
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.walk.equivalence import Comparison
from rewriter.verify.walk.segments import Segment

_WORD = 2  # bytes


def aligned(
    target: Sequential,
    comparison: Comparison,
    before: Run,
    after: Run,
    old: Segment,
    exits: tuple[int, int],
) -> tuple[tuple[Term, int], ...]:
    """New word accesses, where the old code handles a word at the address as an aligned one.

    Both up to an exit of the old code and the same of the new, given as slots: what another way
    does shows nothing of this one.
    """
    terms = comparison.terms
    words = [
        comparison.through(address)
        for slot, (address, size) in after.narrow.items()
        if size == _WORD and slot <= exits[1]
    ]
    idioms = target.narrow_memory
    if not words or idioms is None:
        return ()
    crossing = {
        terms.linear(value)[0]
        for slot, insn in enumerate(old.insns)
        if insn.name in idioms.CROSSING
        for value in before.operand.get(slot, ())
    }
    handled = _words(target, idioms, terms, before, old, exits[0])
    narrow = before.exits[exits[0]].narrow
    wider = {address for address, size in narrow if size > _WORD}
    even = [_stack(target, terms), *(address for address, _ in narrow)]
    odd = {_parity(terms, address, 1) for address in even}
    return tuple(
        (address, _WORD)
        for address in words
        if terms.linear(address)[0] not in crossing
        and _parity(terms, address) not in odd
        and (_granular(target, terms, address) in handled or address in wider)
    )


def _stack(target: Sequential, terms: Terms) -> Term:
    """The stack pointer at the start, which is even."""
    return terms.var(f"r{target.stack:d}")


def _parity(terms: Terms, address: Term, more: int = 0) -> tuple[Term, int]:
    """An address' root and whether what is added is odd; `more` is added to it."""
    root, distance = terms.linear(address)
    return root, (distance + more) % _WORD


def _words(
    target: Sequential, idioms: NarrowMemory, terms: Terms, before: Run, old: Segment, last: int
) -> set[tuple[Term, int]]:
    """Where the old code handles a word up to a slot: an address' root, the byte in its cell."""
    kept = {
        value
        for slot, insn in enumerate(old.insns[: last + 1])
        if idioms.keeps_top_word(insn)
        for value in before.operand[slot]
    }
    found = set()
    for slot, insn in enumerate(old.insns[: last + 1]):
        position = idioms.word_position(insn)
        if position is None or (
            idioms.needs_top_word(insn) and kept.isdisjoint(before.made[slot].values())
        ):
            continue
        register, distance = position
        reads = registers_of(target.table.uses(insn))
        if register in reads:
            at = before.operand[slot][reads.index(register)]
            found.add(_granular(target, terms, terms.add(at, terms.const(distance))))
    return found


def _granular(target: Sequential, terms: Terms, address: Term) -> tuple[Term, int]:
    root, distance = terms.linear(address)
    return root, distance % target.table.cell
