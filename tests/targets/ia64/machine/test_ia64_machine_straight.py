"""Straight pieces of real code in another order, tried on random states.

What the masks let go past each other changes nothing; what they hold in order does matter.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

import pytest

from fixtures.inputs import require
from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.operands import Kind
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.isa.rows import TABLE
from targets.ia64.machine.faults import MachineFault
from targets.ia64.registers import FR, PR
from tests.support.ia64_straight import differences, outcome
from tests.targets.ia64.ia64_files import texts

NAMES = ("ia64-libsigar", "ia64-libjnidispatch", "ia64-libc")
SIZE = 0x3000
ALL = -1
Piece = tuple[Slot, ...]


@cache
def pieces(name: str) -> list[Piece]:
    """Straight pieces of a text, cut at branches and at their targets."""
    address, data = max(texts(require(name)), key=lambda text: len(text[1]))
    slots = list(bundles.straight(data[:SIZE], address))
    heads = {slot.insn.target(slot.address & -BUNDLE) for slot in slots}
    found: list[list[Slot]] = [[]]
    for slot in slots:
        ended = any(each.insn.op.flow is not Flow.NEXT for each in found[-1])
        if slot.address % BUNDLE == 0 and (ended or slot.address in heads):
            found.append([])
        found[-1].append(slot)
    return [tuple(piece) for piece in found if len(piece) >= 4 and is_alone(piece)]


def is_alone(piece: list[Slot]) -> bool:
    """Branches only at the end, nothing that depends on its own address."""
    flows = [slot.insn.op.flow for slot in piece]
    branches = flows.index(next((f for f in flows if f is not Flow.NEXT), flows[-1]))
    return all(flow is not Flow.NEXT for flow in flows[branches:]) and not any(
        slot.insn.op.sched == "FRIP" or slot.insn.op.flow is Flow.TRAP for slot in piece
    )


def spread(piece: list[Slot]) -> Piece:
    """The instructions one a group, one a bundle, their targets where they were."""
    start = piece[0].address & -BUNDLE
    made = []
    for number, slot in enumerate(piece):
        bundle = start + BUNDLE * number
        moved = (slot.address & -BUNDLE) - bundle
        made.append(Slot(bundle + slot.address % BUNDLE, shifted(slot.insn, moved), True))
    return tuple(made)


def shifted(insn: Insn, distance: int) -> Insn:
    for operand in insn.op.format.operands:
        if operand.kind is Kind.TARGET and operand.name.startswith("target"):
            return insn.replace(**{operand.name: insn.operand(operand.name) + distance})
    return insn


def must_follow(later: Insn, earlier: Insn) -> bool:
    """By the masks; accesses and events stay in order, but for two loads; so do branches, and what
    has a place of its own in a group, as alloc."""
    mine, its = TABLE.effects(later.op), TABLE.effects(earlier.op)
    if any(insn.op.flow is not Flow.NEXT or insn.op.rules for insn in (later, earlier)):
        return True
    seen, stored = (
        [e.loads or e.stores or bool(e.events) for e in (mine, its)],
        [e.stores or bool(e.events) for e in (mine, its)],
    )
    if all(seen) and any(stored):
        return True
    uses, defs = TABLE.uses(earlier), TABLE.defs(earlier)
    return bool(defs & (TABLE.uses(later) | TABLE.defs(later)) or uses & TABLE.defs(later))


def shuffled(piece: Piece, source: random.Random) -> list[Slot]:
    """A random order that keeps what must follow behind what it follows."""
    left, order = list(piece), []
    while left:
        ready = [
            slot
            for number, slot in enumerate(left)
            if not any(must_follow(slot.insn, before.insn) for before in left[:number])
        ]
        order.append(ready[source.randrange(len(ready))])
        left.remove(order[-1])
    return order


@pytest.mark.parametrize("name", NAMES)
def test_an_order_that_the_masks_allow_changes_nothing(name: str) -> None:
    source = random.Random(name)
    moved = 0
    for piece in pieces(name):
        order = shuffled(piece, source)
        moved += [slot.address for slot in order] != [slot.address for slot in piece]
        end = (piece[-1].address & -BUNDLE) + BUNDLE
        found = [
            line
            for line in differences(piece, spread(order), ALL, range(3))
            if not line.endswith(f"not to {end}")
        ]
        assert found == [], hex(piece[0].address)
    assert moved > 50


def hastened(piece: Piece) -> Iterator[list[Slot]]:
    """A reader in front of the instruction that hands it a general register or a predicate."""
    handed = (1 << FR) - 1 | (1 << PR + 64) - (1 << PR)
    for number, reader in enumerate(piece):
        uses = TABLE.uses(reader.insn) & handed
        givers = [n for n in range(number) if TABLE.defs(piece[n].insn) & uses]
        if givers and not any(slot.insn.op.flow is not Flow.NEXT for slot in piece[: number + 1]):
            yield [*piece[: givers[-1]], reader, *piece[givers[-1] : number], *piece[number + 1 :]]


def test_a_wrong_order_is_seen() -> None:
    """All but a few: one piece has a real clash and says nothing, some readers get equal values."""
    tried = seen = 0
    for piece in pieces("ia64-libsigar")[:150]:
        for order in hastened(piece):
            tried += 1
            seen += any(differences(piece, spread(order), ALL, range(8)))
    assert tried > 100
    assert seen > 0.8 * tried, (seen, tried)


def test_the_original_is_itself() -> None:
    for piece in pieces("ia64-libc")[:60]:
        assert list(differences(piece, piece, ALL, range(2))) == []


def test_states_mostly_do_not_fault() -> None:
    """A piece that faults on every state would be equal to anything."""
    some = pieces("ia64-libsigar")[:100]
    faults = 0
    for number, piece in enumerate(some):
        try:
            outcome(piece, number)
        except MachineFault:
            faults += 1
    assert faults < len(some) / 5
