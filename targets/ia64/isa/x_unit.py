"""X-type instructions: two slots of an MLX bundle (SDM vol. 3, 4.7)."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.isa.instruction import Flow
from targets.ia64.isa.b_unit import BWH, CALL, DH, PH
from targets.ia64.isa.fields import B1, LONG, R1, number, target
from targets.ia64.isa.formats import SlotOp, form, maker

row = maker(
    "X",
    {
        "x3": (33, 3),
        "x6": (27, 6),
        "y26": (26, 1),
        "vc": (20, 1),
        "btype": (6, 3),
    },
)

IMM62 = number("imm62", (6, 20), (36, 1), (LONG, 41), hexadecimal=True)
IMM64 = number("imm64", (13, 7), (27, 9), (22, 5), (21, 1), (LONG, 41), (36, 1), hexadecimal=True)
TARGET64 = target("target64", (13, 20), (LONG + 2, 39), (36, 1))

X1 = form("X1", "{imm62}", IMM62)
X2 = form("X2", "{r1}={imm64}", R1, IMM64)
X3 = form("X3", "{bwh}{ph}{dh} {target64}", BWH, PH, DH, TARGET64)
X4 = form("X4", "{bwh}{ph}{dh} {b1}={target64}", BWH, PH, DH, B1, TARGET64)
X5 = form("X5", "{imm62}", IMM62)


def _rows() -> Iterator[SlotOp]:
    yield row("break.x", X1, "BRK_X", op=0, x3=0, x6=0, flow=Flow.TRAP, event=True)
    yield row("nop.x", X5, "NOP_X", op=0, x3=0, x6=1, y26=0)
    yield row("hint.x", X5, "NOP_X", op=0, x3=0, x6=1, y26=1, event=True)
    yield row("movl", X2, "LONG_I", op=6, vc=0)
    yield row("brl.cond", X3, "BR", op=0xC, btype=0, flow=Flow.BRANCH)
    yield row("brl.call", X4, "BR", op=0xD, **CALL, flow=Flow.CALL)


ROWS = (*_rows(),)
