"""Operations on general registers, with their record forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.registers import CR, EQ, GT, LT, SO

Binary = Callable[[Machine, Value, Value], Value]


def ordered(m: Machine, less: Value, equal: Value) -> Value:
    """A field of the condition register, from two conditions and SO."""
    found = m.ite(less, m.const(LT), m.ite(equal, m.const(EQ), m.const(GT)))
    return found | m.get(SO)


def record(m: Machine, result: Value) -> None:
    """What a record form says in CR0 of its result."""
    zero = m.const(0)
    m.set(Reg(CR), ordered(m, m.slt(result, zero), m.eq(result, zero)))


def binary(function: Binary, records: bool = False) -> Does:
    """rt = function(ra, rb)."""

    def does(m: Machine, rt: Reg, ra: Any, rb: Any) -> None:
        result = function(m, m.get(ra), m.get(rb))
        m.set(rt, result)
        if records:
            record(m, result)

    return does
