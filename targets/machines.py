"""ELF machine numbers (`e_machine`), by target: known before a target is loaded."""

from __future__ import annotations

EM_ALPHA, EM_ALPHA_OFFICIAL = 0x9026, 41
EM_IA_64 = 50

ALPHA = frozenset({EM_ALPHA, EM_ALPHA_OFFICIAL})
IA64 = frozenset({EM_IA_64})

OTHERS = {
    2: "SPARC", 3: "x86", 4: "m68k", 8: "MIPS", 15: "PA-RISC", 20: "PowerPC", 21: "PowerPC64",
    22: "S/390", 40: "ARM", 42: "SuperH", 43: "SPARC V9", 62: "x86-64", 94: "Xtensa",
    183: "AArch64", 243: "RISC-V", 258: "LoongArch",
}  # fmt: skip
"""Machines of other programs, by the names that their users know (gABI, registry of e_machine)."""
