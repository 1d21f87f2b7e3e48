"""Transfers of control, barriers, and other events."""

from __future__ import annotations

from typing import Any

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.alpha.meanings.operate import Test
from targets.alpha.registers import FP, FZERO


def branch(test: Test) -> Does:
    """To the target if test(ra)."""

    def does(m: Machine, ra: Reg, target: Value) -> None:
        m.branch(test(m, m.get(ra)), target)

    return does


def branch_and_link(m: Machine, ra: Reg, target: Value) -> None:
    """BR, BSR: ra is the next address."""
    m.set(ra, m.next)
    m.jump(target)


def jump(m: Machine, ra: Reg, rb: Reg, hint: Value) -> None:
    """JMP, JSR, RET, JSR_COROUTINE: the target is read before ra is written."""
    target = m.get(rb) & m.const(-4)
    m.set(ra, m.next)
    m.jump(target)


def barrier(name: str) -> Does:
    """Something ordered that reads no register, whatever its fields say."""
    return lambda m, *ignored: m.event(name)


def trap_barrier(name: str) -> Does:
    """Until then arithmetic may trap: what a handler completes is in the floating registers."""

    def does(m: Machine, *ignored: Any) -> None:
        m.event(name, *(m.get(Reg(FP + number)) for number in range(FZERO - FP)))

    return does


def event(name: str) -> Does:
    """Something ordered, with its register operands."""

    def does(m: Machine, *operands: Any) -> None:
        m.event(name, *(m.get(operand) for operand in operands))

    return does
