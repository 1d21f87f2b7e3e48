"""Special registers, and what only a system does (Power ISA 3.1B, Book III).

What a system register does, and when, the table does not say: all of them are one state, and each
access is an event.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.meanings.operate import undefined
from targets.ppc.registers import CA, CR, CTR, EQ, GPR, LR, MSR, OV, SO, SPR, TIME, TM, VRSAVE, XER

_CA_BIT, _OV_BIT, _SO_BIT = 29, 30, 31
_GENERAL = tuple(Reg(GPR + number) for number in range(32))
_FIELDS = tuple(Reg(CR + number) for number in range(8))
_FLAGS = (CA, OV, SO)
_STATE = (*_GENERAL, *_FIELDS, *_FLAGS, LR, CTR, XER, MSR, SPR)
"""What a handler of an interrupt, or whoever is returned to, may look at."""

_PASSED = tuple(Reg(number) for number in (0, 1, *range(3, 13)))
_RETURNED = tuple(Reg(number) for number in (0, *range(3, 13)))
_MAYBE_LOST = (*_FIELDS[1:2], *_FIELDS[5:8], CTR, XER)


def event(name: str) -> Does:
    """Something ordered, with its operands."""

    def does(m: Machine, *operands: Any) -> None:
        m.event(name, *(_value(m, operand) for operand in operands))

    return does


def _value(m: Machine, operand: Any) -> Value:
    """The value of a register, a number, or a selector, which is a plain number."""
    return m.const(operand) if type(operand) is int else m.get(operand)


def system_call(name: str) -> Does:
    """sc, scv: registers as Linux has them (Documentation/powerpc/syscall64-abi.rst), and for
    calls of a hypervisor; some of those that these lose, others keep."""

    def does(m: Machine, *level: Any) -> None:
        m.event(name, *(_value(m, part) for part in level), *map(m.get, _PASSED))
        for number, register in enumerate((*_RETURNED, Reg(CR))):
            m.set(register, m.observed(f"{name} {number}"))
        for register in (*_MAYBE_LOST, *((LR,) if name == "scv" else ())):
            m.set(register, m.observed(f"{name} of {int(register)}", m.get(register)))

    return does


def leave(name: str) -> Does:
    """rfid and the like: all that there is, is read where control goes on."""

    def does(m: Machine, *operands: Any) -> None:
        values = [_value(m, operand) for operand in operands]
        m.event(name, *values, *map(m.get, _STATE))

    return does


# Special registers -------------------------------------------------------------------------


def read(register: Reg) -> Does:
    """mfspr of a register that only instructions change."""

    def does(m: Machine, rt: Reg) -> None:
        m.set(rt, m.get(register))

    return does


def write(register: Reg) -> Does:
    """mtspr of one."""

    def does(m: Machine, rs: Reg) -> None:
        m.set(register, m.get(rs))

    return does


def write_vrsave(m: Machine, rs: Reg) -> None:
    """mtvrsave: which vector registers are in use, which a system may ask at any moment."""
    m.event("mtvrsave", m.get(rs))
    m.set(VRSAVE, m.get(rs))


def _flags(m: Machine) -> Iterable[Value]:
    places = ((SO, _SO_BIT), (OV, _OV_BIT), (CA, _CA_BIT))
    return (m.shl(m.get(register), m.const(bit)) for register, bit in places)


def read_xer(m: Machine, rt: Reg) -> None:
    """mfxer: bits beside CA, OV and SO are copies of these since ISA 3.0, or of no meaning."""
    so, ov, ca = _flags(m)
    known = so | ov | ca
    rest = m.opaque("mfxer", known, m.get(XER))
    m.set(rt, known | rest & m.const((1 << _CA_BIT) - 1))


def write_xer(m: Machine, rs: Reg) -> None:
    """mtxer."""
    value = m.get(rs)
    for register, bit in ((SO, _SO_BIT), (OV, _OV_BIT), (CA, _CA_BIT)):
        m.set(register, m.lshr(value, m.const(bit)) & m.const(1))
    m.set(XER, value & m.const((1 << _CA_BIT) - 1))


def move_flags(m: Machine, bf: Reg) -> None:
    """mcrxr: SO, OV and CA into a field, and cleared."""
    so, ov, ca = (m.get(register) for register in (SO, OV, CA))
    m.set(bf, m.shl(so, m.const(3)) | m.shl(ov, m.const(2)) | m.shl(ca, m.const(1)))
    for register in _FLAGS:
        m.set(register, m.const(0))


def copy_flags(m: Machine, bf: Reg) -> None:
    """mcrxrx: OV, OV32, CA, CA32."""
    ov, ca = m.get(OV), m.get(CA)
    found = m.shl(ov, m.const(3)) | m.shl(ca, m.const(1))
    m.set(bf, found | undefined(m, "mcrxrx", ov, ca) & m.const(0b0101))


def read_clock(name: str) -> Does:
    """mftb and the like: no two say the same."""

    def does(m: Machine, rt: Reg) -> None:
        m.event(name, m.get(TIME))
        m.set(rt, m.observed(name))

    return does


def read_system(name: str, state: Reg = SPR) -> Does:
    """A register of the system; the operands behind the target say which."""

    def does(m: Machine, rt: Reg, *which: Any) -> None:
        numbers = [_value(m, part) for part in which]
        m.event(name, m.get(state), *numbers)
        m.set(rt, m.observed(name, m.get(state), *numbers))

    return does


def find_segment(m: Machine, rt: Reg, rb: Reg) -> None:
    """slbfee.: CR0 says whether an entry was found."""
    name, values = "slbfee.", (m.get(SPR), m.get(rb))
    m.event(name, *values)
    m.set(rt, m.observed(name, *values))
    m.set(Reg(CR), m.observed(f"{name} found", *values) * m.const(EQ) | m.get(SO))


def write_system(name: str, state: Reg = SPR) -> Does:
    """The same, written: what else changes with it nobody knows."""

    def does(m: Machine, *operands: Any) -> None:
        values = [_value(m, operand) for operand in operands]
        m.event(name, m.get(state), *values)
        m.set(state, m.observed(name, m.get(state), *values))

    return does


# Transactions ------------------------------------------------------------------------------


def transaction(name: str) -> Does:
    """tbegin. and the like: CR0 says what became of it; all registers may be kept, or put back."""

    def does(m: Machine, *operands: Any) -> None:
        values = [_value(m, operand) for operand in operands]
        m.event(name, *values, *map(m.get, (*_STATE, TM)))
        m.set(Reg(CR), m.observed(f"{name} cr0"))
        m.set(TM, m.observed(f"{name} state"))

    return does
