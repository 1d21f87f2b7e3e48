"""What instructions of every row read and set: the quick answer is the one of their transfer."""

from __future__ import annotations

import random
from dataclasses import replace

from rewriter.core.code.transfer import effect_of
from rewriter.core.isa.instruction import Insn, Op
from targets.ia64.isa.rows import TABLE
from targets.ia64.prove.proving import Proving
from targets.ia64.prove.row_effects import RowEffects
from targets.ia64.prove.rows import row_transfer
from targets.ia64.registers import NUMBERS
from tests.targets.ia64.ia64_sweep import random_insn

PROVING = Proving()


def _tried(op: Op, source: random.Random) -> list[Insn]:
    """Instructions of a row: any, and those with each register that is more than a place."""
    found = [random_insn(op, source) for _ in range(12)]
    for name in ("r0", "r12", "f0", "f1", "p0", "ar.bspstore", "ar.fpsr"):
        for operand in op.format.operands:
            number = NUMBERS[name]
            if operand.base <= number < operand.base + (1 << operand.width) and operand.base >= 0:
                values = {operand.name: number} if operand.kind.value == "register" else {}
                found.append(random_insn(op, source).replace(**values))
    return found


def test_the_quick_answer_is_that_of_the_transfer() -> None:
    source = random.Random(7)
    for op in TABLE:
        for insn in _tried(op, source):
            assert PROVING.effect(insn) == effect_of(PROVING.transfer(insn)), TABLE.text(insn)


def test_taking_every_row_for_a_plain_one_is_seen() -> None:
    source = random.Random(7)
    rows = [RowEffects.of(row_transfer(op)) for op in TABLE]
    wrong = [
        known
        for known in rows
        for insn in _tried(known.made.op, source)
        if replace(known, plain=True).effect(insn) != effect_of(PROVING.transfer(insn))
    ]
    assert wrong and not any(known.plain for known in wrong)
