"""What PowerPC instructions need when a function's code moves inside its own footprint."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.protocol import CannotMove


def moved(
    items: Sequence[tuple[int, Insn]], function: Function, place: Callable[[int], int]
) -> list[Insn]:
    """The instructions as they must be at their new places; `place` maps old addresses."""
    return [_moved(address, insn, function, place) for address, insn in items]


def _moved(address: int, insn: Insn, function: Function, place: Callable[[int], int]) -> Insn:
    there = place(address)
    if insn.op.flow is Flow.HERE and there != address:
        raise CannotMove(f"the code at {address:#x} reads its own address")
    if insn.op.format.target is None:
        return insn
    target = insn.target(address)
    assert target is not None
    goal = place(target) if target in function else target
    return retargeted(insn, there, goal)


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
