"""Instructions that have one answer: a row, and the operands that the answer depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cache
from operator import itemgetter

from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.operands import Kind, Operand
from targets.ia64.isa.i_unit import MASK17

Operands = Callable[[Op], Iterable[int]]
"""The positions of operands of a row."""

_NUMBERS = (Kind.IMMEDIATE, Kind.TARGET)


def by(operands: Operands) -> Callable[[Insn], Hashable]:
    """The key of an instruction: its row, of which there is one object, and these operands."""

    @cache
    def picking(op: Op) -> Callable[[tuple[int, ...]], Hashable]:
        chosen = tuple(operands(op))
        return itemgetter(*chosen) if chosen else len

    def key(insn: Insn) -> Hashable:
        return id(insn.op), picking(insn.op)(insn.operands)

    return key


def those(chosen: Callable[[Operand], bool]) -> Operands:
    """The operands of a row of which something is true."""
    return lambda op: (n for n, operand in enumerate(op.format.operands) if chosen(operand))


def names(operand: Operand) -> bool:
    """Whether an operand says more than a number does: a register, a completer, many predicates."""
    return operand.kind not in _NUMBERS or operand is MASK17
