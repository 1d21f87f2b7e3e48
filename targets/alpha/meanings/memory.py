"""Loads, stores, and the addresses of them."""

from __future__ import annotations

from collections.abc import Callable

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.alpha.registers import FZERO, ZERO


def lda(scale: int) -> Does:
    """ra = rb + scale * disp."""

    def does(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
        m.set(ra, m.get(rb) + disp * m.const(scale))

    return does


Convert = Callable[[Machine, Value], Value]


def load(size: int, convert: Convert | None = None) -> Does:
    """ra = convert(size bytes at rb + disp).  A load into $31 is a hint (Handbook, 4.11)."""

    def does(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
        address = m.get(rb) + disp
        if ra in (ZERO, FZERO):
            m.event("prefetch", address)
            return
        value = m.load(address, size)
        m.set(ra, convert(m, value) if convert else value)

    return does


def load_unaligned(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
    """LDQ_U; into $31 it is UNOP."""
    if ra != ZERO:
        m.set(ra, m.load((m.get(rb) + disp) & m.const(-8), 8))


def load_locked(size: int) -> Does:
    """LDx_L."""

    def does(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
        address = m.get(rb) + disp
        m.event("lock", address)
        value = m.load(address, size)
        m.set(ra, m.sext(value, 32) if size == 4 else value)

    return does


def store(size: int, convert: Convert | None = None) -> Does:
    """Low `size` bytes of convert(ra) to rb + disp."""

    def does(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
        value = m.get(ra)
        m.store(m.get(rb) + disp, convert(m, value) if convert else value, size)

    return does


def store_unaligned(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
    """STQ_U."""
    m.store((m.get(rb) + disp) & m.const(-8), m.get(ra), 8)


def store_conditional(size: int) -> Does:
    """STx_C: ra becomes one if it stored."""

    def does(m: Machine, ra: Reg, disp: Value, rb: Reg) -> None:
        m.set(ra, m.conditional_store(m.get(rb) + disp, m.get(ra), size))

    return does
