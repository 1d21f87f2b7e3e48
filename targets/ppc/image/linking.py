"""What the headers of a PowerPC file say of its machine, and what dynamic relocations make.

Sources: binutils, include/elf/ppc.h and ppc64.h; 64-Bit ELF V2 ABI 1.5, sections 3.5 and 4.1.
Both machines share the numbers of the relocations that loaders apply.
"""

from __future__ import annotations

from rewriter.core.target.ident import Ident
from targets.machines import EF_PPC64_ABI

_ADDR32, _GLOB_DAT, _JMP_SLOT, _RELATIVE, _UADDR32, _ADDR64, _UADDR64 = 1, 20, 21, 22, 24, 38, 43
_SYMBOLIC = frozenset((_ADDR32, _GLOB_DAT, _JMP_SLOT, _UADDR32, _ADDR64, _UADDR64))


def abi_of(ident: Ident) -> str:
    """The calling standard of files with this identity, by its name in `targets.ppc.abi`.

    64-bit files that do not say it are ELFv1 where big-endian, as old ones are, and else ELFv2.
    """
    if ident.bits == 32:
        return "sysv"
    said = ident.flags & EF_PPC64_ABI or (1 if ident.byteorder == "big" else 2)
    return f"elfv{said}"


def relocated(r_type: int, addend: int, symbol: int | None) -> int | None:
    """What a dynamic relocation makes of its word; None where that is no address of this file."""
    if r_type == _RELATIVE:
        return addend
    if r_type in _SYMBOLIC and symbol is not None:
        return symbol + addend
    return None
