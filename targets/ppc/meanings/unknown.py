"""Results of which the table says no more than what they depend on.

A `shape` says how the operands of an instruction are used, a letter each in the order of its text:
its results (a number may stand before them), `=`, its sources.

    v  a vector-scalar register
    d  doubleword 0 of one; doubleword 1 of such a result is undefined
    q  two floating-point registers with a decimal number of quad precision
    p  two vector-scalar registers
    a  four, an accumulator (Power ISA 3.1B, Book I, 7.2.1.3)
    r  a general register, or a field of the condition register
    n  a number

A result in upper case is a source, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from rewriter.core.isa.instruction import Does
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.ppc.registers import (
    CR,
    FPSCR_CONTROLS,
    FPSCR_FLAGS,
    FPSCR_RESULT,
    VSCR_NJ,
    VSCR_SAT,
    parts,
)

Maker: TypeAlias = Callable[[str], Does]
"""Makes the meaning of a row from its name."""

CR1, CR6 = Reg(CR + 1), Reg(CR + 6)

_COUNTS = {"r": 1, "v": 1, "d": 1, "q": 2, "p": 2, "a": 4}
"""How many registers a letter stands for."""


def _registers(kind: str, first: int, bits: int, width: int) -> list[Reg]:
    """What an operand of this kind names, of which so many bits count if it is a vector's."""
    if kind == "r":
        return [Reg(first)]
    return [part for n in range(_COUNTS[kind]) for part in parts(first + n, bits, width)]


def _sources(m: Machine, kind: str, operand: Any) -> list[Value]:
    if kind == "n":
        return [m.const(operand) if isinstance(operand, int) else operand]
    bits = 64 if kind in "dq" else 128
    return [m.get(register) for register in _registers(kind, operand, bits, m.width)]


@dataclass(frozen=True)
class Unknown:
    """A row's results are unknown functions of its sources.

    It also reads the registers in `reads`, adds bits to those in `gathers`, and sets those in
    `sets`; it `rounds` if it may trap as arithmetic does.
    """

    shape: str
    reads: tuple[Reg, ...] = ()
    gathers: tuple[Reg, ...] = ()
    sets: tuple[Reg, ...] = ()
    rounds: bool = False

    def __call__(self, name: str) -> Does:
        results, _, sources = self.shape.partition("=")
        more = self.sets + ((CR6,) if name.endswith(".") else ())

        def does(m: Machine, *operands: Any) -> None:
            left = list(zip(results, operands, strict=False))
            used = [(kind.lower(), operand) for kind, operand in left if kind < "a" or kind == "n"]
            used += zip(sources, operands[len(results) :], strict=True)
            values = [value for kind, operand in used for value in _sources(m, kind, operand)]
            values += [m.get(register) for register in self.reads]
            if self.rounds:
                m.arithmetic(name, *values)
            for register in self.gathers:
                m.set(register, m.get(register) | m.opaque(f"{name} adds", *values))
            written = [
                register
                for kind, operand in left
                if kind != "n"
                for register in _registers(kind.lower(), operand, 128, m.width)
            ]
            for number, register in enumerate((*written, *more)):
                m.set(register, m.opaque(f"{name} {number}", *values))

        return does


@dataclass(frozen=True)
class Copying:
    """As `Unknown`, but a record form copies four flags of the FPSCR to CR1."""

    unknown: Unknown

    def __call__(self, name: str) -> Does:
        return recorded(name, self.unknown(name.removesuffix(".")))


def recorded(name: str, does: Does) -> Does:
    """What a floating-point instruction does; a record form also copies four flags to CR1."""
    if not name.endswith("."):
        return does

    def records(m: Machine, *operands: Any) -> None:
        does(m, *operands)
        m.set(CR1, m.opaque("flags", m.get(FPSCR_FLAGS), m.get(FPSCR_CONTROLS)))

    return records


def pure(shape: str) -> Unknown:
    """Results of the sources alone; those of a record form are also told in CR6."""
    return Unknown(shape)


def moving(shape: str) -> Copying:
    """Results of the sources alone; a record form copies the flags of the FPSCR."""
    return Copying(Unknown(shape))


def arithmetic(shape: str) -> Copying:
    """A rounded result, which FR, FI and FPRF describe."""
    flags = Unknown(shape, (FPSCR_CONTROLS,), (FPSCR_FLAGS,), (FPSCR_RESULT,), rounds=True)
    return Copying(flags)


def comparing(shape: str) -> Maker:
    """A comparison that may find no numbers; its result is in FPCC, too, but FR and FI stay."""
    reads = (FPSCR_CONTROLS, FPSCR_RESULT)
    return Unknown(shape, reads, (FPSCR_FLAGS,), (FPSCR_RESULT,), rounds=True)


def flagged(shape: str) -> Maker:
    """Arithmetic that nothing in the FPSCR describes; its record form is a vector's."""
    return Unknown(shape, (FPSCR_CONTROLS,), (FPSCR_FLAGS,), rounds=True)


def classifying(shape: str) -> Maker:
    """A test that cannot trap, whose result is in FPCC, too; FR and FI stay."""
    return Unknown(shape, reads=(FPSCR_RESULT,), sets=(FPSCR_RESULT,))


def saturating(shape: str, reads: tuple[Reg, ...] = ()) -> Unknown:
    """Results that may saturate, which VSCR remembers."""
    return Unknown(shape, reads, (VSCR_SAT,))


def single(shape: str) -> Unknown:
    """AltiVec's arithmetic on single precision: it obeys VSCR's non-IEEE mode and never traps."""
    return replace(pure(shape), reads=(VSCR_NJ,))
