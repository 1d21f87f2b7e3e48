"""The software conventions of IA-64: which registers mean something after a return.

Itanium Software Conventions and Runtime Architecture Guide, chapter 5; gcc's ia64.h has the same in
CALL_USED_REGISTERS.
"""

from __future__ import annotations

from rewriter.core.isa import register_mask
from targets.ia64.registers import BR, FR, GR, NAMES, PR

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
