"""IA-64's registers in one numbering, and their names (Intel SDM 2.3, volume 1, section 3.1).

Static names: what a rotating or stacked name stands for depends on CFM, which the table
does not know.  An AR or CR without a name of its own is `ar23`, `cr3`.
"""

from __future__ import annotations

from rewriter.core.isa.registers import Reg

GR, FR, PR, BR, AR, CR = 0, 128, 256, 320, 328, 456

_AR_NAMES = {
    **{n: f"k{n}" for n in range(8)},
    16: "rsc",
    17: "bsp",
    18: "bspstore",
    19: "rnat",
    21: "fcr",
    24: "eflag",
    25: "csd",
    26: "ssd",
    27: "cflg",
    28: "fsr",
    29: "fir",
    30: "fdr",
    32: "ccv",
    36: "unat",
    40: "fpsr",
    44: "itc",
    45: "ruc",
    64: "pfs",
    65: "lc",
    66: "ec",
}
_CR_NAMES = {
    0: "dcr",
    1: "itm",
    2: "iva",
    8: "pta",
    16: "ipsr",
    17: "isr",
    19: "iip",
    20: "ifa",
    21: "itir",
    22: "iipa",
    23: "ifs",
    24: "iim",
    25: "iha",
    26: "iib0",
    27: "iib1",
    64: "lid",
    65: "ivr",
    66: "tpr",
    67: "eoi",
    **{68 + n: f"irr{n}" for n in range(4)},
    72: "itv",
    73: "pmv",
    74: "cmcv",
    80: "lrr0",
    81: "lrr1",
}
# What instructions touch without a number for it in their encoding, as SDM volume 3, chapter 5
# separates it: the user mask, the bits that floating-point writes set (psr.mf) and the privilege
# level from the rest of PSR, the flags of FPSR from its controls.  The register files behind an
# index in a general register (pmc, ibr, ...) are one resource each.
_REST_NAMES = (
    *("ip", "cfm", "psr", "psr.um", "psr.mf", "psr.cpl", "alat", "rse", "tlb"),
    *("fpsr.controls", "fpsr.flags"),
    *("rr", "dbr", "ibr", "pkr", "pmc", "pmd", "msr", "cpuid", "dahr"),
)

NAMES: tuple[str, ...] = (
    *(f"r{n}" for n in range(128)),
    *(f"f{n}" for n in range(128)),
    *(f"p{n}" for n in range(64)),
    *(f"b{n}" for n in range(8)),
    *("ar." + _AR_NAMES[n] if n in _AR_NAMES else f"ar{n}" for n in range(128)),
    *("cr." + _CR_NAMES[n] if n in _CR_NAMES else f"cr{n}" for n in range(128)),
    *_REST_NAMES,
)
NUMBERS = {name: Reg(number) for number, name in enumerate(NAMES)}

# r0, p0, +0.0 in f0 and +1.0 in f1 (sign, 17-bit exponent, 64-bit significand: 82 bits).
CONSTANTS = {GR: 0, FR: 0, FR + 1: 0xFFFF << 64 | 1 << 63, PR: 1}


def numbers(*names: str) -> tuple[Reg, ...]:
    """The numbers of registers by name."""
    return tuple(NUMBERS[name] for name in names)


def _together(**named: str) -> dict[int, tuple[Reg, ...]]:
    return {NUMBERS[k.replace("_", ".")]: numbers(*v.split()) for k, v in named.items()}


# What a move from an application register reads besides it, what a move to one reads (the mode of
# the register stack engine, in ar.rsc, says whether it may), and what that writes.
READ_WITH = _together(
    ar_bsp="rse",
    ar_bspstore="rse ar.rsc",
    ar_rnat="rse ar.rsc",
    ar_fpsr="fpsr.controls fpsr.flags",
)
READ_TO_WRITE = _together(
    ar_bspstore="rse ar.rsc",
    ar_rnat="rse ar.rsc",
)
WRITTEN_WITH = _together(
    ar_bspstore="rse ar.bsp ar.rnat",
    ar_fpsr="fpsr.controls fpsr.flags",
)
