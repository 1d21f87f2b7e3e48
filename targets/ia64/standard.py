"""The software conventions of IA-64: which registers mean something after a return.

Itanium Software Conventions and Runtime Architecture Guide, chapter 5; gcc's ia64.h has the same in
CALL_USED_REGISTERS.
"""

from __future__ import annotations

from collections.abc import Mapping

from rewriter.core.isa.registers import register_mask
from targets.ia64.registers import BR, FR, GR, NAMES, NUMBERS, PR, numbers

_SCRATCH = register_mask(
    (
        *(GR + n for n in (2, 3, *range(14, 32))),
        *(FR + n for n in (6, 7, *range(32, 128))),
        *(PR + n for n in range(6, 16)),
        *(BR + n for n in (6, 7)),
    )
)
"""Scratch registers that hold no result either; r8 to r11 and f8 to f15 may."""

RETURNED = (1 << len(NAMES)) - 1 & ~_SCRATCH
"""Registers that may be read behind a return."""

PRESERVED_FLOATING = (*range(FR + 2, FR + 6), *range(FR + 16, FR + 32))
PRESERVED_PREDICATES = (*range(PR + 1, PR + 6), *range(PR + 16, PR + 64))
PRESERVED_OTHERS = (*range(BR + 1, BR + 6), *numbers("ar.lc", "ar.unat"))
PRESERVED = (
    *numbers("r1", "r4", "r5", "r6", "r7", "r12", "r13"),
    *PRESERVED_FLOATING,
    *PRESERVED_PREDICATES,
    *PRESERVED_OTHERS,
    *numbers("ar.pfs", "ar.fpsr", "ar.rsc"),
)
"""Registers that hold behind a call what they held before it."""

OPEN: Mapping[int, int] = {NUMBERS["ar.fpsr"]: 0x3F << 26}
"""Bits of those that a call may change: the flags of status field 1, of divisions and the like."""

OF_PROGRAMS = register_mask((*range(FR + 2, FR + 6), *range(FR + 12, FR + 128)))
"""Floating-point registers that interruptions of Linux leave as they are: they save f6 to f11
(`arch/ia64/include/uapi/asm/ptrace.h`), and kernels are compiled without f12 to f15 and f32 to f127
(`arch/ia64/Makefile`, -mfixed-range)."""

STACK, THREAD = GR + 12, GR + 13
"""Whatever interrupts code may use them at any time, and overwrite what is below the stack."""
