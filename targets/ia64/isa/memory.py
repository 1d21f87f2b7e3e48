"""M-type loads, stores, prefetches and semaphores (SDM vol. 3, 4.4.1 to 4.4.4)."""

from __future__ import annotations

from collections.abc import Iterator

from targets.ia64.isa.fields import F1, F2, R1, R2, R3, completer, number
from targets.ia64.isa.formats import ITANIUM_9500, SlotOp, form, maker

row = maker(
    "M",
    {
        "m": (36, 1),
        "x6": (30, 6),
        "x": (27, 1),
        "count": (19, 1),
    },
)

IMM9_LOAD = number("imm9", (13, 7), (27, 1), (36, 1), signed=True)
IMM9_STORE = number("imm9", (6, 7), (27, 1), (36, 1), signed=True)
INC3 = number("inc3", (13, 2), (15, 1), values=(16, 8, 4, 1, -16, -8, -4, -1))
# Locality hints.  The Itanium 9500 has eight where no other field needs the third bit.
_LOCAL = (".d4", ".d5", ".d6", ".d7")
LDHINT = completer("ldhint", (28, 2), (19, 1), "", ".nt1", ".d2", ".nta", *_LOCAL)
LDHINT_2 = completer("ldhint", (28, 2), "", ".nt1", None, ".nta")
STHINT = completer("sthint", (28, 2), (12, 1), "", ".d1", ".d2", ".nta", *_LOCAL)
STHINT_2 = completer("sthint", (28, 2), "", None, None, ".nta")
LFHINT = completer("lfhint", (28, 2), (12, 1), "", ".nt1", ".nt2", ".nta", *_LOCAL)
COUNT6 = number("cnt6", (6, 6), base=1)
STRIDE5 = number("str5", (13, 5), signed=True, scale=64)

_LOAD = "{ldhint} {r1}=[{r3}]"
M1 = form("M1", _LOAD, LDHINT, R1, R3)
M2 = form("M2", _LOAD + ",{r2}", LDHINT_2, R1, R3, R2, updates="r3")
M3 = form("M3", _LOAD + ",{imm9}", LDHINT_2, R1, R3, IMM9_LOAD, updates="r3")
M1_16 = form("M1", "{ldhint} {r1},ar.csd=[{r3}]", LDHINT, R1, R3)
M4 = form("M4", "{sthint} [{r3}]={r2}", STHINT, R3, R2)
M5 = form("M5", "{sthint} [{r3}]={r2},{imm9}", STHINT_2, R3, R2, IMM9_STORE, updates="r3")
M4_16 = form("M4", "{sthint} [{r3}]={r2},ar.csd", STHINT, R3, R2)

_FP_LOAD = "{ldhint} {f1}=[{r3}]"
M6 = form("M6", _FP_LOAD, LDHINT, F1, R3)
M7 = form("M7", _FP_LOAD + ",{r2}", LDHINT_2, F1, R3, R2, updates="r3")
M8 = form("M8", _FP_LOAD + ",{imm9}", LDHINT_2, F1, R3, IMM9_LOAD, updates="r3")
M9 = form("M9", "{sthint} [{r3}]={f2}", STHINT, R3, F2)
M10 = form("M10", "{sthint} [{r3}]={f2},{imm9}", STHINT_2, R3, F2, IMM9_STORE, updates="r3")
_PAIR = "{ldhint} {f1},{f2}=[{r3}]"
M11 = form("M11", _PAIR, LDHINT_2, F1, F2, R3)
M12_8 = form("M12", _PAIR + ",8", LDHINT_2, F1, F2, R3, updates="r3")
M12_16 = form("M12", _PAIR + ",16", LDHINT_2, F1, F2, R3, updates="r3")

M13 = form("M13", "{lfhint} [{r3}]", LFHINT, R3)
M13_COUNT = form("M13", "{lfhint} [{r3}],{cnt6},{str5}", LFHINT, R3, COUNT6, STRIDE5)
M14 = form("M14", "{lfhint} [{r3}],{r2}", LFHINT, R3, R2, updates="r3")
M15 = form("M15", "{lfhint} [{r3}],{imm9}", LFHINT, R3, IMM9_LOAD, updates="r3")

_EXCHANGE = "{ldhint} {r1}=[{r3}],{r2}"
M16 = form("M16", _EXCHANGE, LDHINT_2, R1, R3, R2)
M16_CCV = form("M16", _EXCHANGE + ",ar.ccv", LDHINT_2, R1, R3, R2)
M16_CSD = form("M16", _EXCHANGE + ",ar.csd,ar.ccv", LDHINT_2, R1, R3, R2)
M17 = form("M17", "{ldhint} {r1}=[{r3}],{inc3}", LDHINT_2, R1, R3, INC3)
M18 = form("M18", "{f1}={r2}", F1, R2)
M19 = form("M19", "{r1}={f2}", R1, F2)

# The kind is bits 5:2 of x6, the size bits 1:0.  A check load finds in the ALAT whether the value
# is still right; an advanced load enters it there.
_KINDS = {
    "": 0,
    ".s": 1,
    ".a": 2,
    ".sa": 3,
    ".bias": 4,
    ".acq": 5,
    ".c.clr": 8,
    ".c.nc": 9,
    ".c.clr.acq": 10,
}
_FP_KINDS = ("", ".s", ".a", ".sa", ".c.clr", ".c.nc")
_FP_SIZES = ("e", "8", "s", "d")
FILL, SPILL = 0x1B, 0x3B


def _load(kind: str) -> dict[str, str]:
    """What a load of the kind touches; a speculative one asks DCR what to defer."""
    alat = "alat" if kind.startswith(".c") or kind in (".a", ".sa") else ""
    dcr = " cr.dcr" if kind in (".s", ".sa") else ""
    return {"memory": "load", "reads": alat + dcr, "writes": alat}


def _loads() -> Iterator[SlotOp]:
    forms = ((M1, {"op": 4, "m": 0, "x": 0}), (M2, {"op": 4, "m": 1, "x": 0}), (M3, {"op": 5}))
    for layout, bits in forms:
        for kind, code in _KINDS.items():
            sched = "CLD" if kind.startswith(".c") else "LD"
            for size in range(4):
                name = f"ld{1 << size}{kind}"
                yield row(name, layout, sched, **bits, **_load(kind), x6=code << 2 | size)
        yield row("ld8.fill", layout, "LD", **bits, x6=FILL, memory="load", reads="ar.unat")
    wide = {"op": 4, "m": 0, "x": 1, "memory": "load", "writes": "ar.csd"}
    yield row("ld16", M1_16, "LD", **wide, x6=0x28)
    yield row("ld16.acq", M1_16, "LD", **wide, x6=0x2C)


def _stores() -> Iterator[SlotOp]:
    forms = ((M4, {"op": 4, "m": 0, "x": 0}), (M5, {"op": 5}))
    for layout, bits in forms:
        store = {**bits, "memory": "store", "reads": "alat", "writes": "alat"}
        for size in range(4):
            yield row(f"st{1 << size}", layout, "ST", **store, x6=0x30 | size)
            yield row(f"st{1 << size}.rel", layout, "ST", **store, x6=0x34 | size)
        store["writes"] = "alat ar.unat"
        yield row("st8.spill", layout, "ST", **store, x6=SPILL)
    wide = {"op": 4, "m": 0, "x": 1, "memory": "store", "reads": "alat ar.csd", "writes": "alat"}
    yield row("st16", M4_16, "ST", **wide, x6=0x30)
    yield row("st16.rel", M4_16, "ST", **wide, x6=0x34)


def _fp_loads() -> Iterator[SlotOp]:
    forms = ((M6, {"op": 6, "m": 0, "x": 0}), (M7, {"op": 6, "m": 1, "x": 0}), (M8, {"op": 7}))
    for layout, bits in forms:
        for kind in _FP_KINDS:
            sched = "FCLD" if kind.startswith(".c") else "FLD"
            for size, letter in enumerate(_FP_SIZES):
                x6 = _KINDS[kind] << 2 | size
                yield row(f"ldf{letter}{kind}", layout, sched, **bits, **_load(kind), x6=x6)
        yield row("ldf.fill", layout, "FLD", **bits, x6=FILL, memory="load")
    pairs = (("8", 1, M12_16), ("s", 2, M12_8), ("d", 3, M12_16))
    for kind in _FP_KINDS:
        for letter, size, updating in pairs:
            bits = {"op": 6, "x": 1, "x6": _KINDS[kind] << 2 | size}
            yield row(f"ldfp{letter}{kind}", M11, "FLDP", **bits, **_load(kind), m=0)
            yield row(f"ldfp{letter}{kind}", updating, "FLDP", **bits, **_load(kind), m=1)


def _fp_stores() -> Iterator[SlotOp]:
    for layout, bits in ((M9, {"op": 6, "m": 0, "x": 0}), (M10, {"op": 7})):
        store = {**bits, "memory": "store", "reads": "alat", "writes": "alat"}
        for size, letter in enumerate(_FP_SIZES):
            yield row(f"stf{letter}", layout, "STF", **store, x6=0x30 | size)
        yield row("stf.spill", layout, "STF", **store, x6=SPILL)


def _prefetches() -> Iterator[SlotOp]:
    forms = ((M13, {"op": 6, "m": 0, "x": 0}), (M14, {"op": 6, "m": 1, "x": 0}), (M15, {"op": 7}))
    for layout, bits in forms:
        for x6, name in enumerate(("", ".excl", ".fault", ".fault.excl"), 0x2C):
            single = {"count": 0} if layout is M13 and not name else {}
            yield row("lfetch" + name, layout, "LFETCH", **bits, **single, x6=x6, event=True)
    count = {"op": 6, "m": 0, "x": 0, "x6": 0x2C, "count": 1, "needs": ITANIUM_9500}
    yield row("lfetch.count", M13_COUNT, "LFETCH", **count, event=True)


def _semaphores() -> Iterator[SlotOp]:
    bits = {"op": 4, "m": 0, "x": 1, "memory": "load store", "reads": "alat", "writes": "alat"}
    for size in range(4):
        width = 1 << size
        compare = {**bits, "reads": "alat ar.ccv"}
        yield row(f"cmpxchg{width}.acq", M16_CCV, "SEM", **compare, x6=size)
        yield row(f"cmpxchg{width}.rel", M16_CCV, "SEM", **compare, x6=4 | size)
        yield row(f"xchg{width}", M16, "SEM", **bits, x6=8 | size)
    compare = {**bits, "reads": "alat ar.ccv ar.csd"}
    yield row("cmp8xchg16.acq", M16_CSD, "SEM", **compare, x6=0x20)
    yield row("cmp8xchg16.rel", M16_CSD, "SEM", **compare, x6=0x24)
    for size in (2, 3):
        yield row(f"fetchadd{1 << size}.acq", M17, "SEM", **bits, x6=0x10 | size)
        yield row(f"fetchadd{1 << size}.rel", M17, "SEM", **bits, x6=0x14 | size)


def _transfers() -> Iterator[SlotOp]:
    bits = {"op": 4, "m": 0, "x": 1}, {"op": 6, "m": 0, "x": 1}
    for x6, suffix in enumerate((".sig", ".exp", ".s", ".d"), 0x1C):
        yield row("getf" + suffix, M19, "FRFR", **bits[0], x6=x6)
        yield row("setf" + suffix, M18, "TOFR", **bits[1], x6=x6)


ROWS = (
    *_loads(),
    *_stores(),
    *_fp_loads(),
    *_fp_stores(),
    *_prefetches(),
    *_semaphores(),
    *_transfers(),
)
