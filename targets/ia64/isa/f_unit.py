"""F-type instructions: floating point, and integer multiply (SDM vol. 3, 4.6)."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.isa.instruction import Flow
from targets.ia64.isa.fields import F1, F2, F3, F4, P1, P2, completer, number, target
from targets.ia64.isa.formats import SlotOp, form, maker

row = maker(
    "F",
    {
        "x": (36, 1),
        "x2": (34, 2),
        "rb": (36, 1),
        "ra": (33, 1),
        "ta": (12, 1),
        "q": (36, 1),
        "x1": (33, 1),
        "x6": (27, 6),
        "y26": (26, 1),
        "f4": (27, 7),
    },
)

# Which of the four status fields of FPSR: a completer, since arithmetic is the same in each.
SF = completer("sf", (34, 2), ".s0", ".s1", ".s2", ".s3")
FCLASS9 = number("fclass9", (33, 2), (20, 7), hexadecimal=True)
AMASK7 = number("amask7", (13, 7), hexadecimal=True)
OMASK7 = number("omask7", (20, 7), hexadecimal=True)
IMM21 = number("imm21", (6, 20), (36, 1), hexadecimal=True)
TARGET25 = target("target25", (6, 20), (36, 1))

F1_FMA = form("F1", "{sf} {f1}={f3},{f4},{f2}", SF, F1, F3, F4, F2)
F2_XMA = form("F2", "{f1}={f3},{f4},{f2}", F1, F3, F4, F2)
F3_SELECT = form("F3", "{f1}={f3},{f4},{f2}", F1, F3, F4, F2)
F4_CMP = form("F4", "{sf} {p1},{p2}={f2},{f3}", SF, P1, P2, F2, F3)
F5 = form("F5", "{p1},{p2}={f2},{fclass9}", P1, P2, F2, FCLASS9)
F6 = form("F6", "{sf} {f1},{p2}={f2},{f3}", SF, F1, P2, F2, F3)
F7 = form("F7", "{sf} {f1},{p2}={f3}", SF, F1, P2, F3)
F8 = form("F8", "{sf} {f1}={f2},{f3}", SF, F1, F2, F3)
F9 = form("F9", "{f1}={f2},{f3}", F1, F2, F3)
F10 = form("F10", "{sf} {f1}={f2}", SF, F1, F2)
F11 = form("F11", "{f1}={f2}", F1, F2)
F12 = form("F12", "{sf} {amask7},{omask7}", SF, AMASK7, OMASK7)
F13 = form("F13", "{sf}", SF)
F14 = form("F14", "{sf} {target25}", SF, TARGET25)
F15 = form("F15", "{imm21}", IMM21)
F16 = form("F16", "{imm21}", IMM21)

# Arithmetic obeys the controls in FPSR, and its flags there only ever gather.
_FPSR = {"reads": "fpsr.controls", "writes": "fpsr.flags"}


def _multiply() -> Iterator[SlotOp]:
    for op, name in ((0x8, "fma"), (0xA, "fms"), (0xC, "fnma")):
        yield row(name, F1_FMA, "FMAC", op=op, x=0, **_FPSR)
        yield row(f"{name}.s", F1_FMA, "FMAC", op=op, x=1, **_FPSR)
        yield row(f"{name}.d", F1_FMA, "FMAC", op=op + 1, x=0, **_FPSR)
        parallel = name.replace("f", "fp", 1)
        yield row(parallel, F1_FMA, "SFMAC", op=op + 1, x=1, **_FPSR)
    for x2, name in ((0, "xma.l"), (3, "xma.h"), (2, "xma.hu")):
        yield row(name, F2_XMA, "XMA", op=0xE, x=1, x2=x2)
    yield row("fselect", F3_SELECT, "FMISC", op=0xE, x=0)


def _compares() -> Iterator[SlotOp]:
    relations = {(0, 0): "eq", (0, 1): "lt", (1, 0): "le", (1, 1): "unord"}  # ra, rb
    for ta, unc in ((0, ""), (1, ".unc")):
        for (ra, rb), relation in relations.items():
            full = f"fcmp.{relation}{unc}"
            yield row(full, F4_CMP, "FCMP", op=4, ra=ra, rb=rb, ta=ta, **_FPSR)
        yield row(f"fclass.m{unc}", F5, "FCLASS", op=5, ta=ta)


def _approximations() -> Iterator[SlotOp]:
    for op, name, sched in ((0, "f", "FMISC"), (1, "fp", "SFMISC")):
        yield row(f"{name}rcpa", F6, sched, op=op, x1=1, q=0, **_FPSR)
        yield row(f"{name}rsqrta", F7, sched, op=op, x1=1, q=1, **_FPSR)


# Names without the f (scalar) or fp (parallel) before them, and x6.
_MINMAX = (("min", 0x14), ("max", 0x15), ("amin", 0x16), ("amax", 0x17))
_MERGES = (("merge.s", 0x10), ("merge.ns", 0x11), ("merge.se", 0x12))
_CONVERSIONS = (
    ("cvt.fx", 0x18),
    ("cvt.fxu", 0x19),
    ("cvt.fx.trunc", 0x1A),
    ("cvt.fxu.trunc", 0x1B),
)
_BITS = (
    ("fpack", 0x28),
    ("fand", 0x2C),
    ("fandcm", 0x2D),
    ("for", 0x2E),
    ("fxor", 0x2F),
    ("fswap", 0x34),
    ("fswap.nl", 0x35),
    ("fswap.nr", 0x36),
    ("fmix.lr", 0x39),
    ("fmix.r", 0x3A),
    ("fmix.l", 0x3B),
    ("fsxt.r", 0x3C),
    ("fsxt.l", 0x3D),
)
_PARALLEL_COMPARES = ("eq", "lt", "le", "unord", "neq", "nlt", "nle", "ord")


def _bitwise() -> Iterator[SlotOp]:
    for op, name, misc, add in ((0, "f", "FMISC", "FMINMAX"), (1, "fp", "SFMISC", "SFMINMAX")):
        bits = {"op": op, "x1": 0}
        for suffix, x6 in _MINMAX:
            yield row(name + suffix, F8, add, **bits, x6=x6, **_FPSR)
        for suffix, x6 in _MERGES:
            yield row(name + suffix, F9, misc, **bits, x6=x6)
        for suffix, x6 in _CONVERSIONS:
            yield row(name + suffix, F10, f"{'S' * op}FCVTFX", **bits, x6=x6, **_FPSR)
    for name, x6 in _BITS:
        yield row(name, F9, "FMISC", op=0, x1=0, x6=x6)
    yield row("fcvt.xf", F11, "FCVTXF", op=0, x1=0, x6=0x1C)
    for x6, relation in enumerate(_PARALLEL_COMPARES, 0x30):
        yield row(f"fpcmp.{relation}", F8, "SFCMP", op=1, x1=0, x6=x6, **_FPSR)


def _status() -> Iterator[SlotOp]:
    bits = {"op": 0, "x1": 0}
    yield row(
        "fsetc", F12, "FOTHER", **bits, x6=0x04, reads="fpsr.controls", writes="fpsr.controls"
    )
    yield row("fclrf", F13, "FOTHER", **bits, x6=0x05, writes="fpsr.flags")
    flags = {"reads": "fpsr.controls fpsr.flags", "flow": Flow.BRANCH}
    yield row("fchkf", F14, "FOTHER", **bits, x6=0x08, **flags)
    yield row("break.f", F15, "BRK_F", **bits, x6=0x00, flow=Flow.TRAP, event=True)
    yield row("nop.f", F16, "NOP_F", **bits, x6=0x01, y26=0)
    yield row("hint.f", F16, "NOP_F", **bits, x6=0x01, y26=1, event=True)


ROWS = (*_multiply(), *_compares(), *_approximations(), *_bitwise(), *_status())
