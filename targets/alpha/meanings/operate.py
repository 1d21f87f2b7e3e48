"""Operations on registers: arithmetic, comparisons, tests, conditional moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value

Binary = Callable[[Machine, Value, Value], Value]
Unary = Callable[[Machine, Value], Value]
Test = Callable[[Machine, Value], Value]


def binary(function: Binary) -> Does:
    """rc = function(ra, rb)."""

    def does(m: Machine, ra: Any, rb: Any, rc: Reg) -> None:
        m.set(rc, function(m, m.get(ra), m.get(rb)))

    return does


def trapping(function: Binary, name: str) -> Does:
    """As `binary`, and an overflow traps."""

    def does(m: Machine, ra: Any, rb: Any, rc: Reg) -> None:
        a, b = m.get(ra), m.get(rb)
        m.event(name, a, b)
        m.set(rc, function(m, a, b))

    return does


def single(function: Unary) -> Does:
    """rc = function(rb)."""

    def does(m: Machine, rb: Any, rc: Reg) -> None:
        m.set(rc, function(m, m.get(rb)))

    return does


def compare(test: Binary) -> Does:
    """rc = 1 if test(ra, rb) else 0."""
    return binary(lambda m, a, b: m.bit(test(m, a, b)))


def long(function: Binary) -> Binary:
    """The low 32 bits of the result, sign-extended."""
    return lambda m, a, b: m.sext(function(m, a, b), 32)


def scaled(scale: int, sign: int) -> Binary:
    """scale * ra + sign * rb."""

    def function(m: Machine, a: Value, b: Value) -> Value:
        product = a * m.const(scale)
        return product + b if sign > 0 else product - b

    return function


def test_zero(condition: str) -> Test:
    """A register's test: the suffix of CMOVxx and Bxx."""
    tests: dict[str, Test] = {
        "eq": lambda m, a: m.eq(a, m.const(0)),
        "ne": lambda m, a: m.negate(m.eq(a, m.const(0))),
        "lt": lambda m, a: m.slt(a, m.const(0)),
        "ge": lambda m, a: m.negate(m.slt(a, m.const(0))),
        "le": lambda m, a: m.sle(a, m.const(0)),
        "gt": lambda m, a: m.slt(m.const(0), a),
        "lbs": lambda m, a: m.eq(a & m.const(1), m.const(1)),
        "lbc": lambda m, a: m.eq(a & m.const(1), m.const(0)),
    }
    return tests[condition]


def conditional_move(test: Test) -> Does:
    """rc = rb if test(ra)."""

    def does(m: Machine, ra: Any, rb: Any, rc: Reg) -> None:
        m.set(rc, m.ite(test(m, m.get(ra)), m.get(rb), m.get(rc)))

    return does
