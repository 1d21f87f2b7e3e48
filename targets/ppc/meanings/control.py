"""Branches, operations on the condition register, traps (Power ISA 3.1B, Book I, chapter 2).

A branch has two parts that may each be missing: it decrements CTR and asks whether that is zero
now, and it asks for a bit of the condition register.  `Asked` says which, as the BO field does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.meanings.compare import bit_of, is_set
from targets.ppc.meanings.operate import undefined
from targets.ppc.registers import CR, CTR, LR


class Asked(NamedTuple):
    """What a branch asks: CTR to become zero or not, a bit to be set or not; None asks nothing."""

    zero: bool | None = None
    true: bool | None = None

    @property
    def always(self) -> bool:
        """Whether the branch is always taken."""
        return self.zero is None and self.true is None


def _condition(m: Machine, asked: Asked, field: Any, bit: Any) -> Value:
    """Decrements CTR if that is asked; whether the branch is taken."""
    conditions = []
    if asked.zero is not None:
        left = m.get(CTR) - m.const(1)
        m.set(CTR, left)
        is_zero = m.eq(left, m.const(0))
        conditions.append(is_zero if asked.zero else m.negate(is_zero))
    if asked.true is not None:
        found = is_set(m, field, bit)
        conditions.append(found if asked.true else m.negate(found))
    first, *more = conditions
    return m.both(first, *more) if more else first


def branch(links: bool) -> Does:
    """b, ba, bl, bla."""

    def does(m: Machine, target: Value) -> None:
        if links:
            m.set(LR, m.next)
        m.jump(target)

    return does


def branch_conditional(asked: Asked, links: bool) -> Does:
    """bc, bca, bcl, bcla: operands are BO, what it asks for, and the target."""

    def does(m: Machine, bo: Value, *rest: Any) -> None:
        _go(m, asked, rest[:-1], rest[-1], links)

    return does


def branch_to(register: Reg, asked: Asked, links: bool) -> Does:
    """bclr, bcctr, bctar: the register is read before LR is written."""

    def does(m: Machine, bo: Value, *rest: Any) -> None:
        target = m.get(register) & m.const(-4)
        _go(m, asked, rest[:-1], target, links)

    return does


def empty_count_cache(m: Machine, bo: Value, bi: Reg, bit: Value, *rest: Any) -> None:
    """bcctr that counts CTR down: where it goes, and what is then in CTR, nobody says."""
    count = m.get(CTR)
    m.event("count cache", count)
    m.set(CTR, m.observed("count", count))
    m.branch(m.eq(m.observed("taken", count, m.get(bi)), m.const(0)), count & m.const(-4))


def _go(m: Machine, asked: Asked, bit: tuple[Any, ...], target: Value, links: bool) -> None:
    condition = None if asked.always else _condition(m, asked, bit[0], bit[-1])
    if links:  # whether it is taken or not
        m.set(LR, m.next)
    if condition is None:
        m.jump(target)
    else:
        m.branch(condition, target)


# The condition register --------------------------------------------------------------------

Logic = Callable[[Machine, Value, Value], Value]


def logic(function: Logic) -> Does:
    """crand and the like: a bit of a field is a function of two bits; the rest of it stays."""

    def does(m: Machine, bt: Reg, t: int, ba: Reg, a: int, bb: Reg, b: int) -> None:
        found = function(m, bit_of(m, ba, a), bit_of(m, bb, b)) & m.const(1)
        kept = m.get(bt) & m.const(~(8 >> t) & 0xF)
        m.set(bt, kept | m.shl(found, m.const(3 - t)))

    return does


def move_field(m: Machine, bf: Reg, bfa: Reg) -> None:
    """mcrf."""
    m.set(bf, m.get(bfa))


def _place(number: int) -> int:
    """The lowest bit of a field in the condition register as one word."""
    return 4 * (7 - number)


def read_all(m: Machine, rt: Reg) -> None:
    """mfcr."""
    result = m.const(0)
    for number in range(8):
        result = result | m.shl(m.get(Reg(CR + number)), m.const(_place(number)))
    m.set(rt, result)


def read_one(m: Machine, rt: Reg, fxm: int) -> None:
    """mfocrf: all but the field is undefined."""
    number = 8 - fxm.bit_length()
    found = m.shl(m.get(Reg(CR + number)), m.const(_place(number)))
    others = m.const(~(0xF << _place(number)))
    m.set(rt, found | undefined(m, "mfocrf", found) & others)


def write_some(m: Machine, fxm: int, rs: Reg) -> None:
    """mtcrf, mtocrf."""
    value = m.get(rs)
    for number in range(8):
        if fxm & 0x80 >> number:
            m.set(Reg(CR + number), m.lshr(value, m.const(_place(number))) & m.const(0xF))


# Traps -------------------------------------------------------------------------------------


def trap(name: str) -> Does:
    """tw, twi, td, tdi: the world sees what is compared, and how."""

    def does(m: Machine, to: int, ra: Reg, second: Any) -> None:
        m.event(name, m.const(to), m.get(ra), m.get(second))

    return does
