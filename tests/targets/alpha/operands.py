"""Operand values for tests of a table: random ones, and the ends of every field."""

from __future__ import annotations

import random

from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.operands import Kind, Operand


def limits(operand: Operand) -> tuple[int, int]:
    """The smallest and the largest value that `operand` holds."""
    span = 1 << operand.width
    low, high = (-span // 2, span // 2 - 1) if operand.signed else (0, span - 1)
    return low * operand.scale + operand.base, high * operand.scale + operand.base


def draw(operand: Operand, source: random.Random) -> int:
    """A value, one of the ends every other time: $31 and $0, literal 0, the largest distance."""
    low, high = limits(operand)
    if source.random() < 0.4:
        value = source.choice((low, high))
    else:
        value = source.randrange(low, high + 1, operand.scale)
    return operand.extract(operand.insert(value))


def random_insn(op: Op, source: random.Random) -> Insn:
    """An instruction of this row; its registers are often the same one."""
    values = [draw(operand, source) for operand in op.format.operands]
    registers = [i for i, o in enumerate(op.format.operands) if o.kind is Kind.REGISTER]
    if len(registers) > 1 and source.random() < 0.3:
        first, second = source.sample(registers, 2)
        operands = op.format.operands
        values[first] = operands[first].extract(
            (values[second] - operands[second].base) << operands[first].pieces[0][0]
        )
    return Insn(op, tuple(values))
