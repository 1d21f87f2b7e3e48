"""What Linux tells a program of the CPU: the words AT_HWCAP and AT_HWCAP2 of its auxiliary vector.

Bits are those of Linux, arch/powerpc/include/uapi/asm/cputable.h; which of them a chip has, of
arch/powerpc/kernel/cputable.c: up to 2.06 only the bit of its own level, from 2.07 on those of the
levels before it, too.  What no feature of a CPU stands for is left out.  glibc's loader keeps the
two words in `_rtld_global_ro`, in this order, where resolvers of IFUNC symbols read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rewriter.core.target.cpu import Cpu
from targets.ppc.isa.features import ALTIVEC, DFP, ISEL, LEVELS, TM, VSX, wide

_ALWAYS = 0x8C000000  # 32 bits, floating point, an MMU
_HAS: Mapping[str, int] = MappingProxyType(
    {wide(): 0x40000000, ALTIVEC: 0x10000000, DFP: 0x400, VSX: 0x80}
)
_LEVEL: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("2.00", "2.01"), 0x80000),  # POWER4
        "2.02": 0x40000,  # POWER5
        "2.03": 0x60000,  # POWER5+
        "2.05": 0x1000,
        "2.06": 0x100,
    }
)
_HAS_2: Mapping[str, int] = MappingProxyType(
    {"2.07": 0x80000000, TM: 0x40000000, ISEL: 0x8000000, "3.0": 0x800000, "3.1": 0x40000}
)


class Hwcaps:
    """What resolvers are asked of 64-bit libraries; there are none in those of 32 bits.

    `symbol` is what glibc's loader knows once it has started.
    """

    symbol = "_rtld_global_ro"

    def words(self, cpu: Cpu) -> tuple[int, int]:
        """AT_HWCAP and AT_HWCAP2."""
        first = _ALWAYS | sum(bit for feature, bit in _HAS.items() if feature in cpu.features)
        levels = [level for level in LEVELS if level in _LEVEL and level in cpu.features]
        second = sum(bit for feature, bit in _HAS_2.items() if feature in cpu.features)
        return first | _LEVEL[levels[-1]], second
