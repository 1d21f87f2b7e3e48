"""PowerPC's registers in one numbering, and their names (Power ISA 3.1B, Book I, chapters 2 to 7).

What is as wide as a machine's registers has one number.  A vector-scalar register has one for
each part of that width: two on a 64-bit machine, four on a 32-bit one, the most significant first
and `PART` apart.  The floating-point register n is doubleword 0 of VSR n, the vector register n is
VSR 32 + n.  A floating-point instruction leaves something in doubleword 1 that is undefined before
ISA 3.1: to a row it is a result of which nothing is known.

FPSCR and VSCR have a number for what instructions obey (rounding, enabled exceptions, non-IEEE
mode), one for bits that instructions only ever add to (exceptions, saturation), and FPSCR one for
what describes the last result (FR, FI, FPRF).

A field of the condition register is a register of four bits: less, greater, equal, and a copy of
SO, from the most significant.  CA and OV stand for CA32 and OV32 too, but hold one bit; XER is
what is left of that register, the length of string accesses.  SPR stands for all other special
registers, TM for what transactions keep, TIME for the clocks, which change by themselves.
"""

from __future__ import annotations

from rewriter.core.isa.registers import Reg, register_mask

GPR, CR = 0, 32
CA, OV, SO, LR, CTR, VRSAVE, TAR, XER, MSR, SPR, TM, TIME = map(Reg, range(40, 52))
VSCR_NJ, VSCR_SAT, FPSCR_CONTROLS, FPSCR_FLAGS, FPSCR_RESULT = map(Reg, range(52, 57))
ZERO = Reg(63)  # what a base register is whose field is 0
VSR = 64
FPR, VR = VSR, VSR + 32
PART = 64  # from the number of a part of a vector-scalar register to that of the next

CONSTANTS: dict[int, int] = {ZERO: 0}

GENERAL = register_mask(range(GPR, GPR + 32))

LT, GT, EQ, UN = 8, 4, 2, 1  # the bits of a condition register field

SP, TOC, THREAD, GOT = Reg(1), Reg(2), Reg(13), Reg(30)

_SINGLE = ("ca", "ov", "so", "lr", "ctr", "vrsave", "tar", "xer", "msr", "spr", "tm", "time")
_STATUS = ("vscr.nj", "vscr.sat", "fpscr.controls", "fpscr.flags", "fpscr.result")
_VECTORS = (*(f"f{n}" for n in range(32)), *(f"v{n}" for n in range(32)))

NAMES: tuple[str, ...] = (
    *(f"r{n}" for n in range(32)),
    *(f"cr{n}" for n in range(8)),
    *(*_SINGLE, *_STATUS),
    *(f"reserved{n}" for n in range(57, 63)),
    "0",
    *_VECTORS,
    *(f"{name}.{part}" for part in (1, 2, 3) for name in _VECTORS),
)


def names(width: int) -> tuple[str, ...]:
    """The names of all registers of a machine whose registers have so many bits."""
    return NAMES[: VSR + PART * (128 // width)]


def parts(register: int, bits: int, width: int) -> tuple[Reg, ...]:
    """The numbers of the first `bits` bits of a vector-scalar register, the first part first."""
    return tuple(Reg(register + PART * n) for n in range(max(1, bits // width)))
