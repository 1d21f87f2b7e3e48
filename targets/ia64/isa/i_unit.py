"""I-type instructions: shifts, fields, tests, moves, multimedia (SDM vol. 3, 4.3)."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.isa.instruction import Flow
from targets.ia64.isa.fields import (
    AR3,
    B1,
    B2,
    P1,
    P2,
    R1,
    R2,
    R3,
    completer,
    number,
    target,
)
from targets.ia64.isa.formats import ITANIUM_9300, SlotOp, form, maker

row = maker(
    "I",
    {
        "za": (36, 1),
        "x2a": (34, 2),
        "zb": (33, 1),
        "ve": (32, 1),
        "x2c": (30, 2),
        "x2b": (28, 2),
        "x2": (34, 2),
        "x": (33, 1),
        "y26": (26, 1),
        "y13": (13, 1),
        "tb": (36, 1),
        "ta": (33, 1),
        "c": (12, 1),
        "tf": (19, 1),
        "x3": (33, 3),
        "x6": (27, 6),
        "x22": (22, 1),
    },
)

COUNT = number("count", (30, 2), values=(0, 7, 15, 16))
COUNT5 = number("count5", (14, 5))
COUNT5_LEFT = number("count5", (20, 5), scale=-1, base=31)
COUNT6 = number("count6", (27, 6))
_TYPES = ("@brcst", *[None] * 7, "@mix", "@shuf", "@alt", "@rev", *[None] * 4)
MBTYPE = completer("mbtype4", (20, 4), *_TYPES)
MHTYPE = number("mhtype8", (20, 8), hexadecimal=True)
POS6 = number("pos6", (14, 6))
POS6_I12 = number("pos6", (20, 6), scale=-1, base=63)
POS6_I14 = number("pos6", (14, 6), scale=-1, base=63)
POS6_I15 = number("pos6", (31, 6), scale=-1, base=63)
POS5_I30 = number("pos5", (14, 5), base=32)
LEN6 = number("len6", (27, 6), base=1)
LEN4 = number("len4", (27, 4), base=1)
IMM1 = number("imm1", (36, 1), signed=True)
IMM8 = number("imm8", (13, 7), (36, 1), signed=True)
IMM21 = number("imm21", (6, 20), (36, 1), hexadecimal=True)
MASK17 = number("mask17", (6, 7), (24, 8), (36, 1), signed=True, scale=2, hexadecimal=True)
IMM44 = number("imm44", (6, 27), (36, 1), signed=True, scale=1 << 16, hexadecimal=True)
TARGET25 = target("target25", (6, 7), (20, 13), (36, 1))
TAG13 = target("tag13", (24, 9))
WH = completer("wh", (20, 2), ".sptk", "", ".dptk", None)
IH = completer("ih", (23, 1), "", ".imp")

I1 = form("I1", "{r1}={r2},{r3},{count}", R1, R2, R3, COUNT)
I2 = form("I2", "{r1}={r2},{r3}", R1, R2, R3)
I3 = form("I3", "{r1}={r2},{mbtype4}", R1, R2, MBTYPE)
I4 = form("I4", "{r1}={r2},{mhtype8}", R1, R2, MHTYPE)
I5 = form("I5", "{r1}={r3},{r2}", R1, R3, R2)
I6 = form("I6", "{r1}={r3},{count5}", R1, R3, COUNT5)
I7 = form("I7", "{r1}={r2},{r3}", R1, R2, R3)
I8 = form("I8", "{r1}={r2},{count5}", R1, R2, COUNT5_LEFT)
I9 = form("I9", "{r1}={r3}", R1, R3)
I10 = form("I10", "{r1}={r2},{r3},{count6}", R1, R2, R3, COUNT6)
I11 = form("I11", "{r1}={r3},{pos6},{len6}", R1, R3, POS6, LEN6)
I12 = form("I12", "{r1}={r2},{pos6},{len6}", R1, R2, POS6_I12, LEN6)
I13 = form("I13", "{r1}={imm8},{pos6},{len6}", R1, IMM8, POS6_I12, LEN6)
I14 = form("I14", "{r1}={imm1},{r3},{pos6},{len6}", R1, IMM1, R3, POS6_I14, LEN6)
I15 = form("I15", "{r1}={r2},{r3},{pos6},{len4}", R1, R2, R3, POS6_I15, LEN4)
I16 = form("I16", "{p1},{p2}={r3},{pos6}", P1, P2, R3, POS6)
I17 = form("I17", "{p1},{p2}={r3}", P1, P2, R3)
I18 = form("I18", "{imm21}", IMM21)
I19 = form("I19", "{imm21}", IMM21)
I20 = form("I20", "{r2},{target25}", R2, TARGET25)
I21 = form("I21", "{wh}{ih} {b1}={r2},{tag13}", WH, IH, B1, R2, TAG13)
I22 = form("I22", "{r1}={b2}", R1, B2)
I23 = form("I23", "pr={r2},{mask17}", R2, MASK17)
I24 = form("I24", "pr.rot={imm44}", IMM44)
I25_IP = form("I25", "{r1}=ip", R1)
I25_PR = form("I25", "{r1}=pr", R1)
I26 = form("I26", "{ar3}={r2}", AR3, R2)
I27 = form("I27", "{ar3}={imm8}", AR3, IMM8)
I28 = form("I28", "{r1}={ar3}", R1, AR3)
I29 = form("I29", "{r1}={r3}", R1, R3)
I30 = form("I30", "{p1},{p2}={pos5}", P1, P2, POS5_I30)

_SIZES = {
    "1": {"za": 0, "zb": 0},
    "2": {"za": 0, "zb": 1},
    "4": {"za": 1, "zb": 0},
    "": {"za": 1, "zb": 1},  # a whole register, in shifts
}
_ALL_PREDICATES = " ".join(f"p{n}" for n in range(1, 64))
_ROTATING_PREDICATES = " ".join(f"p{n}" for n in range(16, 64))

# Name, sizes, format, (x2a, x2b, x2c), class.
_MULTIMEDIA = (
    ("pmpy{}.r", "2", I2, (2, 1, 3), "MMMUL"),
    ("pmpy{}.l", "2", I2, (2, 3, 3), "MMMUL"),
    ("mix{}.r", "124", I2, (2, 0, 2), "MMSHF"),
    ("mix{}.l", "124", I2, (2, 2, 2), "MMSHF"),
    ("pack{}.uss", "2", I2, (2, 0, 0), "MMSHF"),
    ("pack{}.sss", "24", I2, (2, 2, 0), "MMSHF"),
    ("unpack{}.h", "124", I2, (2, 0, 1), "MMSHF"),
    ("unpack{}.l", "124", I2, (2, 2, 1), "MMSHF"),
    ("pmin{}.u", "1", I2, (2, 1, 0), "MMALU_I"),
    ("pmax{}.u", "1", I2, (2, 1, 1), "MMALU_I"),
    ("pmin{}", "2", I2, (2, 3, 0), "MMALU_I"),
    ("pmax{}", "2", I2, (2, 3, 1), "MMALU_I"),
    ("psad{}", "1", I2, (2, 3, 2), "MMALU_I"),
    ("mux{}", "1", I3, (3, 2, 2), "MMSHF"),
    ("mux{}", "2", I4, (3, 2, 2), "MMSHF"),
    ("pshr{}", "24", I5, (0, 2, 0), "MMSHF"),
    ("pshr{}.u", "24", I5, (0, 0, 0), "MMSHF"),
    ("pshr{}", "24", I6, (1, 3, 0), "MMSHF"),
    ("pshr{}.u", "24", I6, (1, 1, 0), "MMSHF"),
    ("pshl{}", "24", I7, (0, 0, 1), "MMSHF"),
    ("pshl{}", "24", I8, (3, 1, 1), "MMSHF"),
)


def _multimedia() -> Iterator[SlotOp]:
    mm = {"op": 7, "ve": 0}
    for x2b, name in ((3, "pmpyshr2"), (1, "pmpyshr2.u")):
        yield row(name, I1, "MMMUL", **mm, **_SIZES["2"], x2a=0, x2b=x2b)
    for name, sizes, layout, (x2a, x2b, x2c), sched in _MULTIMEDIA:
        selected = {**mm, "x2a": x2a, "x2b": x2b, "x2c": x2c}
        for size in sizes:
            yield row(name.format(size), layout, sched, **selected, **_SIZES[size])
    yield row("shr", I5, "MMSHF", **mm, **_SIZES[""], x2a=0, x2b=2, x2c=0)
    yield row("shr.u", I5, "MMSHF", **mm, **_SIZES[""], x2a=0, x2b=0, x2c=0)
    yield row("shl", I7, "MMSHF", **mm, **_SIZES[""], x2a=0, x2b=0, x2c=1)
    yield row("popcnt", I9, "MMMUL", **mm, **_SIZES["2"], x2a=1, x2b=1, x2c=2)
    later = {"needs": ITANIUM_9300}
    yield row("clz", I9, "MMMUL", **mm, **_SIZES["2"], x2a=1, x2b=1, x2c=3, **later)
    yield row("mpy4", I2, "MMMUL", **mm, **_SIZES["4"], x2a=0, x2b=1, x2c=3, **later)
    yield row("mpyshl4", I2, "MMMUL", **mm, **_SIZES["4"], x2a=0, x2b=3, x2c=3, **later)


def _fields() -> Iterator[SlotOp]:
    yield row("shrp", I10, "ISHF", op=5, x2=3, x=0)
    yield row("extr.u", I11, "ISHF", op=5, x2=1, x=0, y13=0)
    yield row("extr", I11, "ISHF", op=5, x2=1, x=0, y13=1)
    yield row("dep.z", I12, "ISHF", op=5, x2=1, x=1, y26=0)
    yield row("dep.z", I13, "ISHF", op=5, x2=1, x=1, y26=1)
    yield row("dep", I14, "ISHF", op=5, x2=3, x=1)
    yield row("dep", I15, "ISHF", op=4)


# (ta, tb, c) of a test's completers.
_TESTS = {
    ".z": (0, 0, 0),
    ".z.unc": (0, 0, 1),
    ".z.and": (0, 1, 0),
    ".nz.and": (0, 1, 1),
    ".z.or": (1, 0, 0),
    ".nz.or": (1, 0, 1),
    ".z.or.andcm": (1, 1, 0),
    ".nz.or.andcm": (1, 1, 1),
}


def _tests() -> Iterator[SlotOp]:
    for suffix, (ta, tb, c) in _TESTS.items():
        bits = {"op": 5, "x2": 0, "ta": ta, "tb": tb, "c": c}
        yield row("tbit" + suffix, I16, "TBIT", **bits, y13=0)
        yield row("tnat" + suffix, I17, "TBIT", **bits, y13=1, tf=0)
        yield row("tf" + suffix, I30, "TBIT", **bits, y13=1, tf=1, needs=ITANIUM_9300)


_EXTENSIONS = {  # x6
    "zxt1": 0x10,
    "zxt2": 0x11,
    "zxt4": 0x12,
    "sxt1": 0x14,
    "sxt2": 0x15,
    "sxt4": 0x16,
    "czx1.l": 0x18,
    "czx2.l": 0x19,
    "czx1.r": 0x1C,
    "czx2.r": 0x1D,
}


def _moves() -> Iterator[SlotOp]:
    misc = {"op": 0, "x3": 0}
    yield row("break.i", I19, "BRK_I", **misc, x6=0, flow=Flow.TRAP, event=True)
    yield row("nop.i", I18, "NOP_I", **misc, x6=1, y26=0)
    yield row("hint.i", I18, "NOP_I", **misc, x6=1, y26=1, event=True)
    yield row("chk.s.i", I20, "CHK_I", op=0, x3=1, flow=Flow.BRANCH)
    yield row("mov", I24, "TOPR", op=0, x3=2, writes=_ROTATING_PREDICATES)
    yield row("mov", I23, "TOPR", op=0, x3=3, writes=_ALL_PREDICATES)
    yield row("mov", I21, "TOBR", op=0, x3=7, x22=0)
    yield row("mov.ret", I21, "TOBR", op=0, x3=7, x22=1)
    yield row("mov.i", I27, "TOAR_I", **misc, x6=0x0A)
    yield row("mov.i", I26, "TOAR_I", **misc, x6=0x2A)
    yield row("mov.i", I28, "FRAR_I", **misc, x6=0x32)
    yield row("mov", I25_IP, "FRIP", **misc, x6=0x30, reads="ip")
    yield row("mov", I22, "FRBR", **misc, x6=0x31)
    yield row("mov", I25_PR, "FRPR", **misc, x6=0x33, reads=_ALL_PREDICATES)
    for name, x6 in _EXTENSIONS.items():
        yield row(name, I29, "XTD", **misc, x6=x6)


ROWS = (*_multimedia(), *_fields(), *_tests(), *_moves())
