"""B-type instructions: branches and a few that change the frame or the mode (SDM vol. 3, 4.5)."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.isa.instruction import Flow
from targets.ia64.isa.fields import B1, B2, completer, number, target
from targets.ia64.isa.formats import LAST, PRIVILEGED, SLOT2, SlotOp, form, maker

row = maker(
    "B",
    {
        "btype": (6, 3),
        "x6": (27, 6),
        "qp": (0, 6),
    },
)

BWH = completer("bwh", (33, 2), ".sptk", ".spnt", ".dptk", ".dpnt")
BWH_CALL = completer("bwh", (32, 3), None, ".sptk", None, ".spnt", None, ".dptk", None, ".dpnt")
IPWH = completer("ipwh", (3, 2), ".sptk", ".loop", ".dptk", ".exit")
INDWH = completer("indwh", (3, 2), ".sptk", None, ".dptk", None)
PH = completer("ph", (12, 1), ".few", ".many")
DH = completer("dh", (35, 1), "", ".clr")
IH = completer("ih", (35, 1), "", ".imp")
IMM21 = number("imm21", (6, 20), (36, 1), hexadecimal=True)
TARGET25 = target("target25", (13, 20), (36, 1))
TAG13 = target("tag13", (6, 7), (33, 2))

_HINTS = "{bwh}{ph}{dh} "
B1_COND = form("B1", _HINTS + "{target25}", BWH, PH, DH, TARGET25)
B2_LOOP = form("B2", _HINTS + "{target25}", BWH, PH, DH, TARGET25, predicated=False)
B3_CALL = form("B3", _HINTS + "{b1}={target25}", BWH, PH, DH, B1, TARGET25)
B4_COND = form("B4", _HINTS + "{b2}", BWH, PH, DH, B2)
B4_IA = form("B4", _HINTS + "{b2}", BWH, PH, DH, B2, predicated=False)
B5_CALL = form("B5", _HINTS + "{b1}={b2}", BWH_CALL, PH, DH, B1, B2)
B6 = form("B6", "{ipwh}{ih} {target25},{tag13}", IPWH, IH, TARGET25, TAG13, predicated=False)
B7 = form("B7", "{indwh}{ih} {b2},{tag13}", INDWH, IH, B2, TAG13, predicated=False)
B8 = form("B8", "", predicated=False)
B9 = form("B9", "{imm21}", IMM21)

_ALWAYS = {"qp": 0}  # a processor refuses another predicate

# A branch that rotates registers: btype, whether it has a qualifying predicate, what it counts.
_ROTATING = (
    ("br.wexit", 2, True, "ar.ec cfm", "ar.ec cfm p63"),
    ("br.wtop", 3, True, "ar.ec cfm", "ar.ec cfm p63"),
    ("br.cexit", 6, False, "ar.lc ar.ec cfm", "ar.lc ar.ec cfm p63"),
    ("br.ctop", 7, False, "ar.lc ar.ec cfm", "ar.lc ar.ec cfm p63"),
)
_FRAME = "ar.bsp cfm dahr rse"
CALL = {"reads": "ar.bsp cfm ar.ec psr.cpl rse", "writes": _FRAME + " ar.pfs"}


def _branches() -> Iterator[SlotOp]:
    yield row("br.cond", B1_COND, "BR", op=4, btype=0, flow=Flow.BRANCH)
    counted = {"reads": "ar.lc", "writes": "ar.lc", "rules": (SLOT2,), "flow": Flow.BRANCH}
    yield row("br.cloop", B2_LOOP, "BR_B2", op=4, btype=5, **counted, **_ALWAYS)
    for name, btype, predicated, reads, writes in _ROTATING:
        layout = B1_COND if predicated else B2_LOOP
        effect = {"reads": reads, "writes": writes, "rules": (SLOT2,), "flow": Flow.BRANCH}
        effect |= {} if predicated else _ALWAYS
        yield row(name, layout, "BR_B2", op=4, btype=btype, **effect)
    yield row("br.call", B3_CALL, "BR", op=5, **CALL, flow=Flow.CALL)
    yield row("br.call", B5_CALL, "BR", op=1, **CALL, flow=Flow.INDIRECT_CALL)
    yield row("br.cond", B4_COND, "BR", op=0, x6=0x20, btype=0, flow=Flow.INDIRECT)
    yield row(
        "br.ia",
        B4_IA,
        "BR",
        op=0,
        x6=0x20,
        btype=1,
        **_ALWAYS,
        writes="psr rse",
        flow=Flow.INDIRECT,
    )
    back = {"reads": "ar.bsp ar.pfs cfm psr.cpl rse", "writes": _FRAME + " ar.ec psr.cpl"}
    yield row("br.ret", B4_COND, "BR", op=0, x6=0x21, btype=4, **back, flow=Flow.RETURN)


def _predictions() -> Iterator[SlotOp]:
    yield row("brp", B6, "BRP", op=7)
    yield row("brp", B7, "BRP", op=2, x6=0x10)
    yield row("brp.ret", B7, "BRP", op=2, x6=0x11)


_BANKED = " ".join(f"r{n}" for n in range(16, 32))
# x6, what is read, what is written, rules.
_STATE = {
    "cover": (0x02, "ar.bsp cfm rse", "ar.bsp cfm cr.ifs rse", (LAST,)),
    "clrrrb": (0x04, "cfm", "cfm", (LAST,)),
    "clrrrb.pr": (0x05, "cfm", "cfm", (LAST,)),
    "bsw.0": (0x0C, "psr", "psr " + _BANKED, (LAST, PRIVILEGED)),
    "bsw.1": (0x0D, "psr", "psr " + _BANKED, (LAST, PRIVILEGED)),
    "epc": (0x10, "ar.pfs psr.cpl", "psr.cpl", ()),
    "vmsw.0": (0x18, "psr", "psr", (PRIVILEGED,)),
    "vmsw.1": (0x19, "psr", "psr", (PRIVILEGED,)),
}
_INTERRUPTION = {
    "reads": "ar.bsp cr.ipsr cr.iip cr.ifs cr.tpr rse",
    "writes": f"{_FRAME} psr psr.um psr.mf psr.cpl {_BANKED}",
    "rules": (LAST, PRIVILEGED),
    "flow": Flow.RETURN,
}


def _others() -> Iterator[SlotOp]:
    yield row("break.b", B9, "BRK_B", op=0, x6=0x00, flow=Flow.TRAP, event=True)
    yield row("nop.b", B9, "NOP_B", op=2, x6=0x00)
    yield row("hint.b", B9, "NOP_B", op=2, x6=0x01, event=True)
    for name, (x6, reads, writes, rules) in _STATE.items():
        touches = {"reads": reads, "writes": writes, "rules": rules}
        yield row(name, B8, "BR_B2", op=0, x6=x6, **touches, **_ALWAYS, event=True)
    yield row("rfi", B8, "BR_B2", op=0, x6=0x08, **_INTERRUPTION, **_ALWAYS, event=True)


ROWS = (*_branches(), *_predictions(), *_others())
