"""Wrong changes to reordered regions: each maker draws one mutant of a plan, or of its bytes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import TEMPLATES
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import PR
from tests.verification.regions.region_shuffle import Placed, Plan, conflict, encoded, packed

Place = tuple[int, int]  # group, position
Pair = tuple[Place, Place]
Other = Callable[[str, int], int | None]
Maker = Callable[[Plan, random.Random], Plan | None]
_REGISTERS = ("r1", "r2", "r3", "f1", "f2", "f3", "f4", "p1", "p2", "b1", "b2", "ar3")
# Operands whose value is no part of what is done: predictions, bits that are ignored.
_SILENT = ("tag13", "slot", "ignored")


def changed(plan: Plan, at: Place, placed: Placed | None) -> Plan:
    """The plan with another instruction, or none, at a place (group, position)."""
    groups = [list(group) for group in plan]
    group, position = at
    groups[group][position : position + 1] = [placed] if placed else []
    return [group for group in groups if group]


def places(plan: Plan) -> list[Place]:
    """All places of instructions, in order."""
    return [(g, n) for g, group in enumerate(plan) for n in range(len(group))]


def at(plan: Plan, place: Place) -> Placed:
    """The instruction at a place."""
    return plan[place[0]][place[1]]


def _exchanged(plan: Plan, pairs: Sequence[Pair], source: random.Random) -> Plan | None:
    if not pairs:
        return None
    first, second = source.choice(pairs)
    one = changed(plan, first, at(plan, second))
    return changed(one, second, at(plan, first))


def _pairs(plan: Plan, wanted: Callable[[Placed, Placed], bool]) -> list[Pair]:
    all_places = places(plan)
    return [
        (a, b)
        for n, a in enumerate(all_places)
        for b in all_places[n + 1 :]
        if a[0] != b[0] and wanted(at(plan, a), at(plan, b))
    ]


def swapped(plan: Plan, source: random.Random) -> Plan | None:
    """Two instructions that share a register, exchanged."""

    def shares(a: Placed, b: Placed) -> bool:
        shared = a.defs & (b.uses | b.defs) | a.uses & b.defs
        return bool(shared) and conflict(a, b) and a.insn != b.insn and not (a.leaves or b.leaves)

    return _exchanged(plan, _pairs(plan, shares), source)


def crossed(plan: Plan, source: random.Random) -> Plan | None:
    """Two accesses to memory, of which one is a store, exchanged."""

    def clash(a: Placed, b: Placed) -> bool:
        both = TABLE.effects(a.insn.op), TABLE.effects(b.insn.op)
        accesses = all(each.loads or each.stores for each in both)
        return accesses and any(each.stores for each in both) and a.insn != b.insn

    return _exchanged(plan, _pairs(plan, clash), source)


def stop_dropped(plan: Plan, source: random.Random) -> Plan | None:
    """A stop left out between groups of which one needs the other's results."""
    needed = [n for n in range(len(plan) - 1) if _needs_stop(plan[n], plan[n + 1])]
    if not needed:
        return None
    n = source.choice(needed)
    return [*plan[:n], [*plan[n], *plan[n + 1]], *plan[n + 2 :]]


def stop_moved(plan: Plan, source: random.Random) -> Plan | None:
    """A stop moved over an instruction, which comes into the group of what it needs."""
    choices = []
    for n in range(len(plan) - 1):
        if any(a.defs & (plan[n + 1][0].uses | plan[n + 1][0].defs) for a in plan[n]):
            choices.append([*plan[:n], [*plan[n], plan[n + 1][0]], plan[n + 1][1:], *plan[n + 2 :]])
        last = plan[n][-1]
        if any(last.defs & (b.uses | b.defs) for b in plan[n + 1]):
            choices.append([*plan[:n], plan[n][:-1], [last, *plan[n + 1]], *plan[n + 2 :]])
    return [group for group in source.choice(choices) if group] if choices else None


def _needs_stop(first: Sequence[Placed], second: Sequence[Placed]) -> bool:
    return any(a.defs & (b.uses | b.defs) for a in first for b in second)


def predicate_dropped(plan: Plan, source: random.Random) -> Plan | None:
    """An instruction that is executed whatever its predicate was."""
    return _with(plan, source, lambda name, value: PR if name == "qp" and value != PR else None)


def predicate_changed(plan: Plan, source: random.Random) -> Plan | None:
    """An instruction under another predicate."""

    def other(name: str, value: int) -> int | None:
        return value ^ 1 if name == "qp" and value != PR else None

    return _with(plan, source, other)


def register_changed(plan: Plan, source: random.Random) -> Plan | None:
    """A register operand replaced by its neighbour."""

    def other(name: str, value: int) -> int | None:
        return value ^ 1 if name in _REGISTERS else None

    return _with(plan, source, other)


def immediate_changed(plan: Plan, source: random.Random) -> Plan | None:
    """One bit of an immediate or of a branch's distance changed."""
    choices = []
    for place in places(plan):
        insn = at(plan, place).insn
        for operand in insn.op.format.operands:
            if operand.kind is not Kind.REGISTER and operand.name not in _SILENT:
                choices.append((place, operand))
    if not choices:
        return None
    place, operand = source.choice(choices)
    insn = _flipped(at(plan, place).insn, operand.name, source)
    return changed(plan, place, replace(at(plan, place), insn=insn)) if insn else None


def _flipped(insn: Insn, name: str, source: random.Random) -> Insn | None:
    """The instruction with one bit of an operand's code turned, if that is an instruction."""
    operand = insn.op.format.operands[insn.op.format.index(name)]
    bits = [low + n for low, width in operand.pieces for n in range(width)]
    found = TABLE.decode(TABLE.encode(insn) ^ 1 << source.choice(bits))
    return found if found and found.op is insn.op else None


def dropped(plan: Plan, source: random.Random) -> Plan | None:
    """An instruction left out."""
    return changed(plan, source.choice(places(plan)), None)


def doubled(plan: Plan, source: random.Random) -> Plan | None:
    """An access made twice."""
    accesses = [
        place
        for place in places(plan)
        if (effects := TABLE.effects(at(plan, place).insn.op)).loads or effects.stores
    ]
    if not accesses:
        return None
    group, position = source.choice(accesses)
    return [*plan[: group + 1], [plan[group][position]], *plan[group + 1 :]]


def _with(plan: Plan, source: random.Random, other: Other) -> Plan | None:
    """The plan with one operand changed as `other` says, None where it leaves one alone."""
    choices = []
    for place in places(plan):
        insn = at(plan, place).insn
        for operand, value in zip(insn.op.format.operands, insn.operands, strict=True):
            new = other(operand.name, value)
            if new is not None and new != value:
                choices.append((place, insn, operand.name, new))
    if not choices:
        return None
    place, insn, name, new = source.choice(choices)
    try:
        made = insn.replace(**{name: new})
        TABLE.encode(made)
    except ValueError:
        return None
    return changed(plan, place, replace(at(plan, place), insn=made))


PLANS: dict[str, Maker] = {
    "swapped": swapped,
    "crossed": crossed,
    "stop dropped": stop_dropped,
    "stop moved": stop_moved,
    "predicate dropped": predicate_dropped,
    "predicate changed": predicate_changed,
    "register changed": register_changed,
    "immediate changed": immediate_changed,
    "instruction dropped": dropped,
    "access doubled": doubled,
}


def templates(slots: Sequence[Slot], source: random.Random) -> tuple[Slot, ...] | None:
    """The region with the template of one bundle changed; None where that is no code."""
    raw = bytearray(encoded(slots))
    number = source.randrange(len(raw) // BUNDLE)
    raw[number * BUNDLE] = raw[number * BUNDLE] & ~31 | source.choice(list(TEMPLATES))
    try:
        return tuple(bundles.straight(bytes(raw), slots[0].address))
    except ValueError:
        return None


def mutants(plan: Plan, end: int, source: random.Random) -> Iterator[tuple[str, tuple[Slot, ...]]]:
    """One mutant of each kind that the plan has a place for, with its kind."""
    for kind, maker in PLANS.items():
        if mutant := maker(plan, source):
            yield kind, packed(mutant, end)
    if changed_template := templates(packed(plan, end), source):
        yield "template", changed_template
