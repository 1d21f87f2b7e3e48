"""How known routines are called on PowerPC.

`standard`: System V ABI, PowerPC processor supplement with its AltiVec part (32 bits); 64-bit
PowerPC ELF ABI 1.9 and ELFv2 1.1, which give the same registers to integers and pointers.  r2 is
the pointer to data of a 64-bit library, and of threads with 32 bits; r12 is the address that is
called.  The caller's frame begins with words for the callee: 8 bytes with 32 bits, 48 and room for
eight arguments in ELFv1, of which ELFv2 has less.

`thread`: what clang takes for granted of `__tls_get_addr`, which finds a thread-local variable: it
loses integer registers, LR, CTR and fields of the condition register as any function does, and
keeps whatever holds floating-point numbers and vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from rewriter.contracts.linkage import STANDARD, THREAD, Linkage
from rewriter.core.masks import bits
from targets.ppc.abi import STANDARDS
from targets.ppc.registers import CR, FPR, LR, SP, TOC, VR, VRSAVE, VSR, parts

_ENTRY = 12
_FRAMES = {32: 8, 64: 48 + 8 * 8}
_PASSED = {width: STANDARDS[name].arguments for width, name in ((32, "sysv"), (64, "elfv2"))}

GENERAL = (SP, TOC, *range(13, 32))
"""The general registers that come back as they went in."""


@cache
def linkages(width: int) -> Mapping[str, Linkage]:
    """By name, for registers of so many bits."""
    floating = (part for n in range(14, 32) for part in parts(FPR + n, 64, width))
    vectors = (part for n in range(20, 32) for part in parts(VR + n, 128, width))
    fields = tuple(CR + n for n in (2, 3, 4))
    standard = Linkage(
        name=STANDARD,
        arguments=tuple(range(3, 11)),
        result=3,
        link=LR,
        entry=_ENTRY,
        shared=TOC,
        stack=SP,
        preserved=(*GENERAL, *fields, *floating, *vectors, VRSAVE),
        frame=_FRAMES[width],
        others=tuple(register for register in bits(_PASSED[width]) if register >= VSR),
    )
    every = (part for n in range(64) for part in parts(VSR + n, 128, width))
    thread = replace(
        standard,
        name=THREAD,
        arguments=standard.arguments[:1],
        preserved=(*GENERAL, *fields, *every, VRSAVE),
    )
    return MappingProxyType({linkage.name: linkage for linkage in (standard, thread)})
