"""Instructions that have one answer: a row, and the operands that the answer depends on."""

from __future__ import annotations

from collections.abc import Callable

from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.run.kept import Operands
from targets.ia64.isa.i_unit import MASK17

_NUMBERS = (Kind.IMMEDIATE, Kind.TARGET)


def those(chosen: Callable[[Operand], bool]) -> Operands:
    """The operands of a row of which something is true."""
    return lambda op: (n for n, operand in enumerate(op.format.operands) if chosen(operand))


def names(operand: Operand) -> bool:
    """Whether an operand says more than a number does: a register, a completer, many predicates."""
    return operand.kind not in _NUMBERS or operand is MASK17
