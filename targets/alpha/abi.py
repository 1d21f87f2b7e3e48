"""Who may read which register when control leaves code that we see.

Source: the calling standard that gcc's alpha back end and glibc follow (gcc-12
config/alpha/alpha.h, CALL_USED_REGISTERS and FUNCTION_ARG).
"""

from __future__ import annotations

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import register_mask
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import A0, CONSTANTS, FP, GP, PV, RA, SP, STATIC_CHAIN, V0

ALL = register_mask(r for r in range(2 * FP) if r not in CONSTANTS)
SAVED = register_mask((*range(9, 16), *range(FP + 2, FP + 10), GP, SP))
"""Callee-saved: $9-$15, $f2-$f9, and $30; $29 where caller and callee share it."""

KEPT = register_mask((*range(9, 16), SP))
"""Integer registers whose value outlives a call."""

FRAME = register_mask((*range(9, 16), *range(FP + 2, FP + 10), RA, SP))
"""What compilers keep in frames: $9-$15, $f2-$f9, the return address, the stack pointer."""

FRAME_BASES = register_mask((SP, 15))
"""The stack pointer, and what gcc and the standard use as frame pointer."""

ARGUMENTS = register_mask((*range(A0, A0 + 6), *range(FP + 16, FP + 22), PV, RA))
"""The static chain is not among them: gcc passes it to functions that it knows, and through
trampolines, which load it themselves.  (Go's closures do otherwise.)"""

RETURNED_BY_HELPERS = register_mask((A0, A0 + 1))
_HELPERS = "_Ots"
"""Compaq's run-time routines for 128-bit floating point, by the start of their names."""


def results(name: str) -> int:
    """Registers that a function of this name returns values in, beside the standard's.

    `_OtsAddX` and its like return 128 bits in $16 and $17 (gcc-12 config/alpha/alpha.cc,
    alpha_emit_xfloating_libcall).
    """
    return RETURNED_BY_HELPERS if name.startswith(_HELPERS) else 0


RESULTS = register_mask((V0, FP, FP + 1, RA))

CALL_LIVE = SAVED | ARGUMENTS
RETURN_LIVE = SAVED | RESULTS


_STORES, _LOADS = frozenset({"stq", "stt"}), frozenset({"ldq", "ldt"})


def unwound(number: int) -> int | None:
    """DWARF numbers registers as we do (gcc-12 config/alpha/alpha.h: DWARF_FRAME_REGNUM)."""
    return number if 0 <= number < 2 * FP else None


def whole(insn: Insn) -> tuple[int, int, bool] | None:
    """A mask of the register, base and direction of what saves or restores all of a register."""
    if insn.name not in _STORES | _LOADS:
        return None
    return 1 << insn.operands[0], insn.operand("rb"), insn.name in _STORES


def saves(insn: Insn) -> int:
    """Mask of the register that an instruction stores whole, by the stack pointer."""
    said = whole(insn)
    return said[0] if said is not None and said[1:] == (SP, True) else 0


def _touches_frame(insn: Insn) -> bool:
    """Whether the stack pointer moves, or a register is kept in the frame, as compilers do it."""
    said = whole(insn)
    if said is not None and FRAME & said[0] and FRAME_BASES >> said[1] & 1:
        return True
    return insn.op.flow is Flow.NEXT and bool(TABLE.defs(insn) >> SP & 1)


_LATE_TRAPS = frozenset({"fadd", "fmul", "fdivs", "fdivt", "fsqrts", "fsqrtt"})
_CLOCK = frozenset({"misc"})


def in_order(insn: Insn) -> bool:
    """Whether nothing may pass an instruction, though its operands would allow it.

    That is what unwind rows go by, what makes gp, cycle counters, and arithmetic that traps late:
    what a handler may rely on in the shadow of such a trap depends on the order of instructions
    (Handbook v4, 4.7.7.3: software completion).
    """
    if insn.op.sched in _LATE_TRAPS or insn.op.sched in _CLOCK or insn.name.endswith("/v"):
        return True
    makes_gp = insn.name in ("ldah", "lda", "ldq") and insn.operand("ra") == GP
    return makes_gp or _touches_frame(insn)


_TRAP_BARRIERS = frozenset({"trapb", "excb"})


def is_completed(insn: Insn) -> bool:
    """Whether software completes it: arithmetic with /S (Handbook v4, 4.7.7.3).

    Chips before the 21264 report its trap late; Linux looks for it behind the last branch, jump,
    PAL call or barrier (arch/alpha/math-emu/math.c, alpha_fp_emul_imprecise).
    """
    return insn.op.sched in _LATE_TRAPS and "s" in insn.name.partition("/")[2]


def is_barrier(insn: Insn) -> bool:
    """Whether all traps of what stands before it have come when it is executed."""
    return insn.name in _TRAP_BARRIERS


def standard_return(insn: Insn) -> bool:
    """Whether a RETURN goes back through the standard link register."""
    return insn.op.flow is Flow.RETURN and insn.operand("rb") == RA


_DIVIDE = 23
"""The link register of the division routines, which write but $23 to $25, $27 and $28 (gcc-12
config/alpha/alpha.md, the patterns of divmodsi and divmoddi)."""


def standard_call(insn: Insn) -> bool:
    """Whether a computed call leaves its return address in the standard link register, and finds
    its callee where the standard has it."""
    return (insn.operand("ra"), insn.operand("rb")) == (RA, PV)


def live_after(insn: Insn) -> int:
    """What code that we do not see may read after this control transfer.

    Other linkages than the standard one (divide's $23, millicode's $28) may pass anything; but
    nothing is given in the standard link register to a division routine, which leaves it as it is.
    """
    flow = insn.op.flow
    if flow is Flow.RETURN:
        return RETURN_LIVE if standard_return(insn) else ALL
    if flow is Flow.INDIRECT_CALL:
        if standard_call(insn):
            return CALL_LIVE
        divides = (insn.operand("ra"), insn.operand("rb")) == (_DIVIDE, PV)
        return ALL & ~register_mask((RA,)) if divides else ALL
    if flow is Flow.INDIRECT:
        # gcc's sibling call: the callee returns to our caller.
        return CALL_LIVE | RETURN_LIVE if insn.operand("rb") == PV else ALL
    return ALL


def kept_over(insn: Insn) -> int:
    """Registers whose value outlives a call or a trap: a linkage of its own may keep none."""
    if insn.op.flow is Flow.TRAP:
        return KEPT
    return KEPT if insn.operand("ra") in (RA, _DIVIDE) else 0


def always_traps(insn: Insn) -> bool:
    """Whether an instruction traps where control must not come: `__builtin_trap` and BUG."""
    return insn.op.name == "bugchk"


def passed(insn: Insn) -> int:
    """What a call of a known function may give it: the standard's registers and the static chain
    through $26, else any."""
    return CALL_LIVE | register_mask((STATIC_CHAIN,)) if insn.operand("ra") == RA else ALL
