"""A-type instructions: integer and multimedia operations of an M or an I slot (SDM vol. 3, 4.2)."""

from __future__ import annotations

from collections.abc import Iterator

from targets.ia64.isa.fields import P1, P2, R1, R2, R3, R3_LOW, number
from targets.ia64.isa.formats import SlotOp, form, maker

row = maker(
    "A",
    {
        "x2a": (34, 2),
        "ve": (33, 1),
        "x4": (29, 4),
        "x2b": (27, 2),
        "tb": (36, 1),
        "x2": (34, 2),
        "ta": (33, 1),
        "c": (12, 1),
        "za": (36, 1),
        "zb": (33, 1),
        "r2": (13, 7),
    },
)

IMM8 = number("imm8", (13, 7), (36, 1), signed=True)
IMM14 = number("imm14", (13, 7), (27, 6), (36, 1), signed=True)
IMM22 = number("imm22", (13, 7), (27, 9), (22, 5), (36, 1), signed=True)
COUNT2 = number("count2", (27, 2), base=1)

A1 = form("A1", "{r1}={r2},{r3}", R1, R2, R3)
A1_ONE = form("A1", "{r1}={r2},{r3},1", R1, R2, R3)
A2 = form("A2", "{r1}={r2},{count2},{r3}", R1, R2, COUNT2, R3)
A3 = form("A3", "{r1}={imm8},{r3}", R1, IMM8, R3)
A4 = form("A4", "{r1}={imm14},{r3}", R1, IMM14, R3)
A5 = form("A5", "{r1}={imm22},{r3}", R1, IMM22, R3_LOW)
A6 = form("A6", "{p1},{p2}={r2},{r3}", P1, P2, R2, R3)
A7 = form("A7", "{p1},{p2}=r0,{r3}", P1, P2, R3)
A8 = form("A8", "{p1},{p2}={imm8},{r3}", P1, P2, IMM8, R3)
A9 = form("A9", "{r1}={r2},{r3}", R1, R2, R3)
A10 = form("A10", "{r1}={r2},{count2},{r3}", R1, R2, COUNT2, R3)

_LOGIC = ("and", "andcm", "or", "xor")  # x2b


def _integer() -> Iterator[SlotOp]:
    alu = {"op": 8, "x2a": 0, "ve": 0}
    yield row("add", A1, "IALU", **alu, x4=0, x2b=0)
    yield row("add", A1_ONE, "IALU", **alu, x4=0, x2b=1)
    yield row("sub", A1_ONE, "IALU", **alu, x4=1, x2b=0)
    yield row("sub", A1, "IALU", **alu, x4=1, x2b=1)
    yield row("addp4", A1, "PNT", **alu, x4=2, x2b=0)
    yield row("shladd", A2, "IALU", **alu, x4=4)
    yield row("shladdp4", A2, "PNT", **alu, x4=6)
    yield row("sub", A3, "IALU", **alu, x4=9, x2b=1)
    for x2b, name in enumerate(_LOGIC):
        yield row(name, A1, "ILOG", **alu, x4=3, x2b=x2b)
        yield row(name, A3, "ILOG", **alu, x4=0xB, x2b=x2b)
    yield row("adds", A4, "IALU", op=8, x2a=2, ve=0)
    yield row("addp4", A4, "PNT", op=8, x2a=3, ve=0)
    yield row("addl", A5, "IALU", op=9)


# (ta, c) -> the relation; None: the one that belongs to the opcode, with its completer.
_ORDERED = {0xC: "lt", 0xD: "ltu", 0xE: "eq"}
_PARALLEL = {0xC: "and", 0xD: "or", 0xE: "or.andcm"}
_WITH_ZERO = {(0, 0): "gt", (0, 1): "le", (1, 0): "ge", (1, 1): "lt"}


def _compares() -> Iterator[SlotOp]:
    for op in (0xC, 0xD, 0xE):
        relation, parallel = _ORDERED[op], _PARALLEL[op]
        for size, name in ((0, "cmp"), (1, "cmp4")):
            register, immediate = {"op": op, "tb": 0, "x2": size}, {"op": op, "x2": 2 + size}
            for layout, bits in ((A6, register), (A8, immediate)):
                yield row(f"{name}.{relation}", layout, "ICMP", **bits, ta=0, c=0)
                yield row(f"{name}.{relation}.unc", layout, "ICMP", **bits, ta=0, c=1)
                yield row(f"{name}.eq.{parallel}", layout, "ICMP", **bits, ta=1, c=0)
                yield row(f"{name}.ne.{parallel}", layout, "ICMP", **bits, ta=1, c=1)
            for (ta, c), against_zero in _WITH_ZERO.items():
                full = f"{name}.{against_zero}.{parallel}"
                yield row(full, A7, "ICMP", op=op, tb=1, x2=size, ta=ta, c=c, r2=0)


_SIZES = {1: {"za": 0, "zb": 0}, 2: {"za": 0, "zb": 1}, 4: {"za": 1, "zb": 0}}
_SATURATION = ("", ".sss", ".uuu", ".uus")  # x2b


def _multimedia() -> Iterator[SlotOp]:
    alu = {"op": 8, "x2a": 1}
    for size, bits in _SIZES.items():
        for x4, name in ((0, "padd"), (1, "psub")):
            for x2b, saturation in enumerate(_SATURATION if size < 4 else ("",)):
                full = f"{name}{size}{saturation}"
                yield row(full, A9, "MMALU_A", **alu, **bits, x4=x4, x2b=x2b)
        yield row(f"pcmp{size}.eq", A9, "MMALU_A", **alu, **bits, x4=9, x2b=0)
        yield row(f"pcmp{size}.gt", A9, "MMALU_A", **alu, **bits, x4=9, x2b=1)
    for size in (1, 2):
        bits = {**alu, **_SIZES[size]}
        yield row(f"pavg{size}", A9, "MMALU_A", **bits, x4=2, x2b=2)
        yield row(f"pavg{size}.raz", A9, "MMALU_A", **bits, x4=2, x2b=3)
        yield row(f"pavgsub{size}", A9, "MMALU_A", **bits, x4=3, x2b=2)
    yield row("pshladd2", A10, "MMALU_A", **alu, **_SIZES[2], x4=4)
    yield row("pshradd2", A10, "MMALU_A", **alu, **_SIZES[2], x4=6)


ROWS = (*_integer(), *_compares(), *_multimedia())
