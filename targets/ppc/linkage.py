"""How known routines are called on PowerPC.

`standard`: System V ABI, PowerPC processor supplement (32 bits); 64-bit PowerPC ELF ABI 1.9 and
ELFv2 1.1, which give the same registers to integers and pointers.  r2 is the pointer to data of a
64-bit library, and of threads with 32 bits; r12 is the address that is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rewriter.contracts.linkage import Linkage
from targets.ppc.registers import LR, SP, TOC

_ENTRY = 12

_STANDARD = Linkage(
    name="standard",
    arguments=tuple(range(3, 11)),
    result=3,
    link=LR,
    entry=_ENTRY,
    shared=TOC,
    stack=SP,
    preserved=(SP, TOC, *range(13, 32)),
)

LINKAGES: Mapping[str, Linkage] = MappingProxyType({_STANDARD.name: _STANDARD})
