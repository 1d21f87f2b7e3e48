"""What ELF files of each target say in their headers: known before a target is loaded."""

from __future__ import annotations

from rewriter.core.target.ident import Ident

EM_ALPHA, EM_ALPHA_OFFICIAL = 0x9026, 41
EM_IA_64 = 50
EM_PPC, EM_PPC64 = 20, 21

ALPHA_NUMBERS = frozenset({EM_ALPHA, EM_ALPHA_OFFICIAL})

ALPHA = Ident(EM_ALPHA, 64, "little")
IA64 = Ident(EM_IA_64, 64, "little", 0x10)  # EF_IA_64_ABI64
PPC = Ident(EM_PPC64, 64, "little", 2)
"""The usual ones."""

EF_PPC64_ABI = 3
"""The bits of e_flags that number a 64-bit file's calling standard; 0 where it does not say."""


def is_alpha(ident: Ident) -> bool:
    """Files for Alpha."""
    return ident.machine in ALPHA_NUMBERS and _usual_form(ident)


def is_ia64(ident: Ident) -> bool:
    """Files for IA-64."""
    return ident.machine == EM_IA_64 and _usual_form(ident)


def is_ppc(ident: Ident) -> bool:
    """Files for PowerPC: 32-bit ones are big-endian, 64-bit ones have a standard that is known."""
    if ident.machine == EM_PPC:
        return (ident.bits, ident.byteorder) == (32, "big")
    known = ident.flags & EF_PPC64_ABI != EF_PPC64_ABI
    return ident.machine == EM_PPC64 and ident.bits == 64 and known


def _usual_form(ident: Ident) -> bool:
    return (ident.bits, ident.byteorder) == (64, "little")


OTHERS = {
    2: "SPARC", 3: "x86", 4: "m68k", 8: "MIPS", 15: "PA-RISC", 20: "PowerPC", 21: "PowerPC64",
    22: "S/390", 40: "ARM", 42: "SuperH", 43: "SPARC V9", 62: "x86-64", 94: "Xtensa",
    183: "AArch64", 243: "RISC-V", 258: "LoongArch",
}  # fmt: skip
"""Machines of other programs, by the names that their users know (gABI, registry of e_machine)."""
