"""One IA-64 instruction on a machine of its own."""

from __future__ import annotations

import functools
import struct
from fractions import Fraction

from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.readings.interpret import Memory
from targets.ia64.isa.rows import TABLE
from targets.ia64.machine.alat import Alat, KeepAll
from targets.ia64.machine.state import FPSR, State
from targets.ia64.meanings import bound
from targets.ia64.meanings.floating.real import DOUBLE, SINGLE
from targets.ia64.registers import FR, GR, PR

DATA, BACKING = 0x10000, 0x80000
TO, LEFT, RIGHT = GR + 8, GR + 9, GR + 10
P1, P2 = PR + 6, PR + 7
F_TO, F_A, F_B, F_C = FR + 8, FR + 9, FR + 10, FR + 11
_OPERANDS = {
    "r1": TO,
    "r2": LEFT,
    "r3": RIGHT,
    "p1": P1,
    "p2": P2,
    "f1": F_TO,
    "f2": F_A,
    "f3": F_B,
    "f4": F_C,
    "qp": PR,
}


def machine() -> State:
    """A state with 64 KiB of data at `DATA`."""
    memory = Memory()
    memory.map(DATA, 0x10000)
    memory.map(BACKING, 0x10000)
    return State(memory, Alat(KeepAll()), BACKING)


@functools.cache
def _row(name: str, text: str) -> Op:
    return next(op for op in TABLE if op.name == name and op.format.syntax.endswith(text))


def instruction(name: str, text: str = "", **operands: int) -> Insn:
    """The row of that name whose format's text ends with `text`; registers as `_OPERANDS` says."""
    op = _row(name, text)
    return Insn(op, tuple(_value(op, index, operands) for index in range(len(op.format.operands))))


def _value(op: Op, index: int, operands: dict[str, int]) -> int:
    operand = op.format.operands[index]
    if operand.name in operands:
        return operands[operand.name]
    return _OPERANDS.get(operand.name, operand.extract(0))


def run(state: State, name: str, text: str = "", **operands: int) -> State:
    """Runs one instruction, at address 0x4000."""
    state.target = state.access = None
    bound(instruction(name, text, **operands), 0x4000)(state)
    return state


_shared = functools.cache(machine)


def computed(name: str, a: int, b: int = 0, text: str = "", **operands: int) -> int:
    """r8 after an instruction with r9 = a and r10 = b, the registers r2 and r3 of its format."""
    state = _shared()
    state.put(LEFT, a)
    state.put(RIGHT, b)
    return run(state, name, text, **operands).r[TO]


def double(value: float) -> int:
    """A register that holds a double-precision number."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return DOUBLE.to_register(bits)


def single(value: float) -> int:
    """A register that holds a single-precision number."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return SINGLE.to_register(bits)


def fraction(register: int) -> Fraction:
    """The value of a finite number in a register, by the manual's formula."""
    sign, exponent = register >> 81, register >> 64 & 0x1FFFF
    significand = register & (1 << 64) - 1
    magnitude = Fraction(significand) * Fraction(2) ** (exponent - 0xFFFF - 63)
    return -magnitude if sign else magnitude


# Bits of FPSR's first status field: control of range, precision, rounding; the flags.
WRE, PRECISION, ROUNDING, FLAGS = 7, 8, 10, 13
INVALID, DENORMAL, ZERO_DIVIDE, OVERFLOW, UNDERFLOW, INEXACT = (1 << n for n in range(6))


def loaded(*values: int) -> State:
    """A state with registers in f9, f10, f11: f2, f3 and f4 of the formats."""
    state = machine()
    for register, value in zip((F_A, F_B, F_C), values, strict=False):
        state.put_floating(register, value)
    return state


def control(state: State, mode: int = 0, wide: int = 0, precision: int = 3) -> None:
    """Sets the first status field's controls."""
    field = wide << WRE | precision << PRECISION | mode << ROUNDING
    state.r[FPSR] = state.r[FPSR] & ~(0x7F << WRE - 1) | field


def flags(state: State) -> int:
    return state.r[FPSR] >> FLAGS & 63


def as_double(register: int) -> float:
    (value,) = struct.unpack("<d", struct.pack("<Q", DOUBLE.from_register(register)))
    assert isinstance(value, float)
    return value
