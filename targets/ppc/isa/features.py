"""What a CPU must have for a row: one name for each row, a set of them for each CPU.

A row without a name is in every PowerPC.  Levels of the architecture are named after the version
of the Power ISA that first has the row (or its PowerPC predecessor 2.00 to 2.02); a CPU has all
levels up to its own.  Facilities are optional at their levels, so that they have names of their
own.  What needs registers of 64 bits (`is_wide`) is in no 32-bit processor.
"""

from __future__ import annotations

from rewriter.core.readings.machine import ByteOrder

LEVELS = ("2.00", "2.01", "2.02", "2.03", "2.05", "2.06", "2.07", "3.0", "3.0B", "3.1")
"""2.00 and 2.01 POWER4 and 970, 2.02 POWER5, 2.03 POWER5+, 2.05 POWER6, 2.06 POWER7, 2.07 POWER8,
3.0 and 3.0B POWER9, 3.1 POWER10."""

GRAPHICS = "GRAPHICS"  # fres, frsqrte, fsel, stfiwx: 603, 750 and later
SQRT = "SQRT"  # fsqrt, fsqrts: POWER4 and later
ALTIVEC, VSX, DFP, TM = "ALTIVEC", "VSX", "DFP", "TM"  # VSX of 2.06: later rows need their level
ISEL = "ISEL"  # 2.03, embedded; POWER7 and later
ICACHE_SNOOP = "ICACHE_SNOOP"  # no row's: fetch sees stores, POWER5 and later (uapi cputable.h)
OLD = "OLD"  # of processors before the level 2.00 only: mcrxr

_WIDE = "64"


def wide(level: str = "") -> str:
    """What a row needs that handles 64 bits in a register: such a processor, of some level."""
    return f"{_WIDE}-{level}" if level else _WIDE


def is_wide(needs: str) -> bool:
    """Whether what needs this handles 64 bits in a register."""
    return needs.startswith(_WIDE)


def baseline(bits: int, byteorder: ByteOrder) -> frozenset[str]:
    """What every processor has that runs files of a width and byte order.

    64-bit processors run 32-bit code too.  POWER4 and the 970 have no little-endian order, and
    gcc compiles little-endian programs of Linux for no less than POWER8 (it defines _ARCH_PWR8).
    """
    if bits == 32:
        return frozenset()
    return frozenset({wide(), "2.07"} if byteorder == "little" else {wide()})


def levels(last: str) -> frozenset[str]:
    """What processors of 64 bits have by their level."""
    known = LEVELS[: LEVELS.index(last) + 1]
    return frozenset((*known, *map(wide, known), wide()))
