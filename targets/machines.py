"""What ELF files of each target say in their headers: known before a target is loaded."""

from __future__ import annotations

from rewriter.core.target.ident import Ident

EM_ALPHA, EM_ALPHA_OFFICIAL = 0x9026, 41
EM_IA_64 = 50

ALPHA_NUMBERS = frozenset({EM_ALPHA, EM_ALPHA_OFFICIAL})

ALPHA = Ident(EM_ALPHA, 64, "little")
IA64 = Ident(EM_IA_64, 64, "little", 0x10)  # EF_IA_64_ABI64
"""The usual ones."""


def is_alpha(ident: Ident) -> bool:
    """Files for Alpha."""
    return ident.machine in ALPHA_NUMBERS and _usual_form(ident)


def is_ia64(ident: Ident) -> bool:
    """Files for IA-64."""
    return ident.machine == EM_IA_64 and _usual_form(ident)


def _usual_form(ident: Ident) -> bool:
    return (ident.bits, ident.byteorder) == (64, "little")


OTHERS = {
    2: "SPARC", 3: "x86", 4: "m68k", 8: "MIPS", 15: "PA-RISC", 20: "PowerPC", 21: "PowerPC64",
    22: "S/390", 40: "ARM", 42: "SuperH", 43: "SPARC V9", 62: "x86-64", 94: "Xtensa",
    183: "AArch64", 243: "RISC-V", 258: "LoongArch",
}  # fmt: skip
"""Machines of other programs, by the names that their users know (gABI, registry of e_machine)."""
