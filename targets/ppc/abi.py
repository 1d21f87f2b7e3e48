"""The three calling standards of PowerPC Linux: who may read which register when control leaves.

Sources: System V ABI, PowerPC Processor Supplement (1995) with its AltiVec part, for 32 bits;
64-bit PowerPC ELF ABI Supplement 1.9 (ELFv1); 64-Bit ELF V2 ABI Specification 1.5 (ELFv2); gcc-12
config/rs6000/rs6000.h (CALL_USED_REGISTERS, FUNCTION_VALUE, STATIC_CHAIN_REGNUM).  What a standard
does not name is kept: only what it says is lost may be lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import Reg, register_mask
from targets.ppc.registers import (
    CA,
    CONSTANTS,
    CR,
    CTR,
    FPR,
    GPR,
    LR,
    NAMES,
    OV,
    SP,
    THREAD,
    TOC,
    VR,
    VRSAVE,
    VSR,
    XER,
    names,
    parts,
)

_VOLATILE_GPRS = (0, *range(3, 13))
_VOLATILE_CRS = (0, 1, 5, 6, 7)
_VOLATILE_FPRS, _VOLATILE_VRS = range(14), range(20)
_STATIC_CHAIN, _ENTRY = Reg(11), Reg(12)
"""r11 is gcc's static chain too; r12 holds the callee's address where one is called by pointer."""

FRAME_BASES = register_mask((SP, 31))
"""The stack pointer, and what gcc uses as frame pointer."""

_SAVED = range(14, 32)
"""What a callee saves, and a system call leaves alone, of the general registers beside the stack
pointer and those of the system."""

SAVED = register_mask(_SAVED)

_DOUBLE, _QUAD = 64, 128  # bits of a floating-point register and of a vector register


@dataclass(frozen=True)
class Standard:
    """One calling standard, by the width of its registers in bits.

    The masks are of `targets.ppc.registers`; `saved` are those that a callee leaves as they are.
    `save_toc` is where a caller keeps its r2 over a call through the PLT, in bytes from r1.
    """

    name: str
    bits: int
    save_toc: int
    everything: int = field(init=False)
    saved: int = field(init=False)
    arguments: int = field(init=False)
    results: int = field(init=False)
    kept: int = field(init=False)

    def __post_init__(self) -> None:
        every = register_mask(number for number in range(len(names(self.bits))) if _exists(number))
        lost = register_mask(
            (
                *(GPR + n for n in _VOLATILE_GPRS),
                *(CR + n for n in _VOLATILE_CRS),
                *(CA, OV, LR, CTR),
                *(self._vectors(VSR + n for n in range(32))),
                *(self._vectors(VR + n for n in _VOLATILE_VRS)),
            )
        )
        # Of a saved floating-point register the doubleword beside it is lost all the same.
        kept = register_mask(self._doubles(FPR + n for n in range(32) if n not in _VOLATILE_FPRS))
        wide = self.bits == _DOUBLE
        passing = (
            *(GPR + n for n in range(3, 11)),
            *(_STATIC_CHAIN, _ENTRY, LR),
            # The bit of CR1 says whether variable arguments are in floating-point registers.
            *(() if wide else (CR + 1,)),
            *self._doubles(FPR + n for n in range(1, 14 if wide else 9)),
            *self._vectors(VR + n for n in range(2, 14)),
        )
        returning = (
            # Complex numbers of two long doubles, or, in 64-bit code, of two 128-bit integers.
            *(GPR + n for n in range(3, 7 if wide else 11)),
            *self._doubles(FPR + n for n in range(1, 9)),
            *self._vectors(VR + n for n in range(2, 10)),
        )
        saved = every & ~lost | kept
        set_ = object.__setattr__
        set_(self, "everything", every)
        set_(self, "saved", saved)
        set_(self, "arguments", register_mask(passing))
        set_(self, "results", register_mask(returning))
        # In 64-bit code the callee may have another r2, which the caller then loads again, and the
        # kernel's r13 is another where a call comes back on another processor.
        gprs = register_mask(GPR + n for n in range(32) if not (wide and n in (TOC, THREAD)))
        set_(self, "kept", saved & gprs)

    def _doubles(self, registers: Iterable[int]) -> tuple[Reg, ...]:
        return tuple(part for r in registers for part in parts(r, _DOUBLE, self.bits))

    def _vectors(self, registers: Iterable[int]) -> tuple[Reg, ...]:
        return tuple(part for r in registers for part in parts(r, _QUAD, self.bits))

    # What the floors above ask ------------------------------------------------------------

    @property
    def call_live(self) -> int:
        """What unseen code may read that is called."""
        return self.saved | self.arguments

    @property
    def return_live(self) -> int:
        """What unseen code may read that is returned to."""
        return self.saved | self.results

    def standard_call(self, insn: Insn) -> bool:
        """Whether a computed call is by the standard: each is."""
        return insn.op.flow in (Flow.INDIRECT_CALL, Flow.INDIRECT_CALL_IF)

    def live_after(self, insn: Insn) -> int:
        """What code that we do not see may read after this control transfer."""
        flow = insn.op.flow
        if flow in (Flow.RETURN, Flow.RETURN_IF):
            return self.return_live
        if flow in (Flow.INDIRECT_CALL, Flow.INDIRECT_CALL_IF):
            return self.call_live
        if flow in (Flow.INDIRECT, Flow.INDIRECT_IF):
            # A call in tail position: the callee returns to our caller.  The stub of the PLT that
            # goes to the dynamic linker says in r0 which function is wanted (64-bit ABIs).
            return self.call_live | self.return_live | 1 << GPR
        return self.everything

    def passed(self, insn: Insn) -> int:
        """What a direct call may give its callee."""
        return self.call_live

    def kept_over(self, insn: Insn) -> int:
        """Registers whose value outlives a call or a trap."""
        if insn.op.flow is Flow.TRAP:
            return register_mask((SP, TOC, THREAD, *_SAVED))
        return self.kept

    def standard_return(self, insn: Insn) -> bool:
        """Whether a return goes back through the link register: each does."""
        return insn.op.flow in (Flow.RETURN, Flow.RETURN_IF)

    def unwound(self, number: int) -> int | None:
        """The register that unwind tables give a number (gcc-12 rs6000.cc, rs6000_dbx_register).

        CR2's number stands for all fields that are saved; r1 is that of the frame.
        """
        return _UNWOUND.get(number)


def always_traps(insn: Insn) -> bool:
    """Whether an instruction traps whatever its operands are: `trap`, `twui` and their like."""
    return insn.op.flow is Flow.TRAP and insn.has("to") and insn.operand("to") == _IN_ANY_ORDER


_IN_ANY_ORDER = 31
"""Bits of TO: less and greater, with a sign and without one, and equal."""


def _exists(number: int) -> bool:
    return number not in CONSTANTS and not NAMES[number].startswith("reserved")


_UNWOUND = {
    **{n: GPR + n for n in range(32)},
    **{32 + n: FPR + n for n in range(32)},
    65: int(LR),
    66: int(CTR),
    **{68 + n: CR + n for n in range(8)},
    76: int(XER),
    **{77 + n: VR + n for n in range(32)},
    109: int(VRSAVE),
}

STANDARDS = {
    name: Standard(name, bits, save_toc)
    for name, bits, save_toc in (("sysv", 32, 0), ("elfv1", 64, 40), ("elfv2", 64, 24))
}
"""By name; where the callers of 32-bit code keep nothing the place is 0."""
