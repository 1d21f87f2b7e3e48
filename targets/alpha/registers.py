"""Alpha's registers.  Integer $0-$31 are 0-31, floating $f0-$f31 are 32-63.

Roles are the calling standard's (Linux/Tru64; Alpha Architecture Handbook v4 and the
`Calling Standard for AXP Systems`): v0 $0, t0-t7 $1-$8, s0-s5 $9-$14, fp/s6 $15, a0-a5 $16-$21,
t8-t11 $22-$25, ra $26, pv/t12 $27, at $28, gp $29, sp $30, zero $31.
"""

from __future__ import annotations

FP = 32  # number of $f0
T7 = 8
ZERO, FZERO = 31, FP + 31
V0, RA, PV, AT, GP, SP = 0, 26, 27, 28, 29, 30
A0 = 16
STATIC_CHAIN = 1  # of a nested function (gcc-12 config/alpha/alpha.h, STATIC_CHAIN_REGNUM)

CONSTANTS = {ZERO: 0, FZERO: 0}

INTEGER_NAMES = (
    *(
        "v0",
        "t0",
        "t1",
        "t2",
        "t3",
        "t4",
        "t5",
        "t6",
        "t7",
        "s0",
        "s1",
        "s2",
        "s3",
        "s4",
        "s5",
        "fp",
    ),
    *(
        "a0",
        "a1",
        "a2",
        "a3",
        "a4",
        "a5",
        "t8",
        "t9",
        "t10",
        "t11",
        "ra",
        "t12",
        "at",
        "gp",
        "sp",
        "zero",
    ),
)
NAMES = INTEGER_NAMES + tuple(f"$f{n}" for n in range(32))
