"""Exits in the middle of straight code: what may pass a branch that may leave it.

Upwards as downwards: an instruction with no effect but on registers, whose results nothing reads
where the branch leads to.  All others keep their place among exits, and exits among each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from passes.scheduling import bundled_graph
from rewriter.core.code.groups import Slot
from rewriter.core.code.ordering import ExitRules, Framing
from rewriter.core.code.scheduling import Edge, Facts
from rewriter.core.code.superblock import Exits


def in_frame(slots: Sequence[Slot], facts: Sequence[Facts], framing: Framing, exits: Exits) -> int:
    """The registers of the frame up to one that code names before its first exit: these are there.

    None where the code makes another frame.
    """
    if any(one.order & framing.reframes for one in facts):
        return 0
    named = 0
    for slot, one in zip(slots, facts, strict=True):
        named |= one.uses | one.defs
        if slot.address in exits:
            break
    return framing.framed & ((1 << (named & framing.framed).bit_length()) - 1)


def reading(slots: Sequence[Slot], facts: Sequence[Facts], exits: Exits) -> list[Facts]:
    """The facts of slots, where exits read what may be read behind them."""
    return [
        replace(one, uses=one.uses | exits[slot.address]) if slot.address in exits else one
        for slot, one in zip(slots, facts, strict=True)
    ]


def edges(
    slots: Sequence[Slot],
    rules: ExitRules,
    facts: Sequence[Facts],
    stands: Mapping[int, int],
    exits: Exits,
) -> list[tuple[Edge, ...]]:
    """As `bundled_graph.edges`, with exits that some instructions may pass."""
    if not exits:
        return bundled_graph.edges(slots, rules, facts, stands)
    facts = [
        _passable(rules.passable(slot.insn), one) if slot.address in exits else one
        for slot, one in zip(slots, facts, strict=True)
    ]
    before = bundled_graph.edges(slots, rules, facts, stands)
    found = [{edge.before: edge for edge in each} for each in before]
    named = [rules.facts(slot.insn) for slot in slots]
    tops = [((one.uses | one.defs) & rules.framed).bit_length() for one in named]
    for number, slot in enumerate(slots):
        live = exits.get(slot.address)
        if live is None:
            continue
        top = max(tops[:number], default=0)  # what shows how large the frame is
        for other, one in enumerate(facts):
            hidden = other > number and tops[other] > top
            if other != number and (one.defs & live or hidden):
                first, last = sorted((number, other))
                found[last].setdefault(first, Edge(first, False, 0))
    return [
        tuple(_behind(edge, slot, slots, rules, exits) for edge in each.values())
        for slot, each in zip(slots, found, strict=True)
    ]


def _passable(branch: Facts, one: Facts) -> Facts:
    """What is known of a branch that others may pass, under the predicate of `one`, which may be
    a value's number."""
    if branch.predicate == one.predicate:
        return branch
    uses = branch.uses & ~(1 << branch.predicate) | 1 << one.predicate
    return replace(branch, uses=uses, predicate=one.predicate)


def _behind(edge: Edge, later: Slot, slots: Sequence[Slot], rules: ExitRules, exits: Exits) -> Edge:
    """The edge; from an exit with the cycles that what stays behind it issues later."""
    earlier = slots[edge.before]
    if earlier.address not in exits:
        return edge
    cycles = rules.distance(earlier.insn, later.insn, 0)
    return replace(edge, cycles=cycles) if cycles > edge.cycles else edge
