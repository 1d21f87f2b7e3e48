"""What PowerPC instructions need when a function's code moves inside its own footprint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.isa.table import Table
from rewriter.core.target.protocol import CannotMove
from targets.ppc.registers import LR

_NEAR = 24
"""Instructions in which code that asks where it stands adds to that, at most."""

_SUM = ("mfspr", "addis", "addi")
"""What takes that address from LR, and adds to it."""

Placed = tuple[int, Insn]
"""An instruction and its address in the original."""


def moved(
    items: Sequence[Placed], function: Function, place: Callable[[int], int], table: Table
) -> list[Insn]:
    """The instructions as they must be at their new places; `place` maps old addresses.

    What is added to where code stands makes the same sum from another place.
    """
    result = [_moved(address, insn, function, place) for address, insn in items]
    for number, (address, insn) in enumerate(items):
        distance = place(address) - address
        if insn.op.flow is not Flow.HERE or not distance:
            continue
        found = added(items, number, table)
        if found is None:
            raise CannotMove(f"the code at {address:#x} reads its own address")
        halves = found[1:]
        first, second = (items[at][1] for at in halves)
        value = (first.operand("si") << 16) + second.operand("si") - distance
        high = (value + 0x8000) >> 16
        if not -0x8000 <= high < 0x8000:
            raise CannotMove(f"what is added to {address:#x} is too much")
        for at, half in zip(halves, (high, value - (high << 16)), strict=True):
            result[at] = items[at][1].replace(si=half)
    return result


def added(items: Sequence[Placed], number: int, table: Table) -> tuple[int, int, int] | None:
    """The numbers of `mflr`, `addis` and `addi` that make an address of where code stands.

    They follow `bcl 20,31,.+4` in straight code, and nothing between them reads what they do; None
    where that is not seen.
    """
    register, found, names = LR, list[int](), iter(_SUM)
    for at in islice(range(number + 1, len(items)), _NEAR):
        insn = items[at][1]
        mask = register_mask((register,))
        if insn.op.flow is not Flow.NEXT:
            return None
        if table.uses(insn) & mask:
            results = table.computes(insn)
            kept = register is LR or table.defs(insn) == mask
            if insn.name != next(names) or table.uses(insn) != mask or not kept:
                return None
            (register,) = results
            found.append(at)
            if len(found) == len(_SUM):
                taken, high, low = found
                return taken, high, low
        elif table.defs(insn) & mask:
            return None
    return None


def _moved(address: int, insn: Insn, function: Function, place: Callable[[int], int]) -> Insn:
    if insn.op.format.target is None or insn.op.flow is Flow.HERE:
        return insn
    target = insn.target(address)
    assert target is not None
    goal = place(target) if target in function else target
    return retargeted(insn, place(address), goal)


def retargeted(insn: Insn, address: int, goal: int) -> Insn:
    """The same branch at an address, to a goal; CannotMove where it does not reach."""
    form = insn.op.format
    assert form.target is not None
    operand = form.operands[form.target]
    distance = operand.distance(goal, address, insn.size)
    try:
        operand.insert(distance)
    except ValueError as far:
        raise CannotMove(f"{goal:#x} is too far from {address:#x} for {insn.name}") from far
    return insn.replace(**{operand.name: distance})
