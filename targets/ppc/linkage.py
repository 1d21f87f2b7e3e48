"""How known routines are called on PowerPC.

`standard`: System V ABI, PowerPC processor supplement (32 bits); 64-bit PowerPC ELF ABI 1.9 and
ELFv2 1.1, which give the same registers to integers and pointers.  r2 is the pointer to data of a
64-bit library, and of threads with 32 bits; r12 is the address that is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rewriter.contracts.linkage import Linkage

_SP, _TOC, _ENTRY = 1, 2, 12
_LR = 65  # its number in DWARF: no integer register holds the return address

_STANDARD = Linkage(
    name="standard",
    arguments=tuple(range(3, 11)),
    result=3,
    link=_LR,
    entry=_ENTRY,
    shared=_TOC,
    stack=_SP,
    preserved=(_SP, _TOC, *range(13, 32)),
)

LINKAGES: Mapping[str, Linkage] = MappingProxyType({_STANDARD.name: _STANDARD})
