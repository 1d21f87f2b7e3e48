"""How known routines are called on Alpha.

`standard`: the calling standard (gcc-12 config/alpha/alpha.h).  `divide`: the linkage of the
division routines (gcc-12 config/alpha/alpha.md, divmodsi_internal, divmoddi_internal: dividend
$24, divisor $25, result $27, return address $23, and $28 is lost; nothing else is).  User-copy
routines of Linux 6.1 follow the standard.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rewriter.contracts.linkage import STANDARD, Linkage
from targets.alpha.registers import A0, AT, FP, GP, PV, RA, SP, V0, ZERO

_T9, _T10, _T11 = 23, 24, 25

_STANDARD = Linkage(
    name=STANDARD,
    arguments=tuple(range(A0, A0 + 6)),
    result=V0,
    link=RA,
    entry=PV,
    shared=GP,
    stack=SP,
    preserved=(*range(9, 16), GP, SP),
    others=tuple(range(FP + 16, FP + 22)),
)
_DIVIDE = Linkage(
    name="divide",
    arguments=(_T10, _T11),
    result=PV,
    link=_T9,
    entry=PV,
    shared=GP,
    stack=SP,
    preserved=tuple(r for r in range(ZERO) if r not in (_T9, PV, AT)),
)

LINKAGES: Mapping[str, Linkage] = MappingProxyType(
    {linkage.name: linkage for linkage in (_STANDARD, _DIVIDE)}
)
