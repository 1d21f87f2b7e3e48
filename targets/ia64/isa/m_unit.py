"""M-type instructions other than memory accesses: checks, moves, system (SDM vol. 3, 4.4.5 on)."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.isa.instruction import Flow
from targets.ia64.isa.fields import AR3, CR3, F1, F2, R1, R2, R3, number, target
from targets.ia64.isa.formats import FIRST, ITANIUM_9500, LAST, PRIVILEGED, SlotOp, form, maker

row = maker(
    "M",
    {
        "x3": (33, 3),
        "x2": (31, 2),
        "x4": (27, 4),
        "x6": (27, 6),
        "x": (36, 1),
        "y26": (26, 1),
        "ch": (10, 2),
        "qp": (0, 6),
    },
)

IMM8 = number("imm8", (13, 7), (36, 1), signed=True)
IMM2 = number("imm2", (13, 2))
IMM21 = number("imm21", (6, 20), (36, 1), hexadecimal=True)
IMM19 = number("imm19", (6, 4), (12, 14), (36, 1))
IMM16 = number("imm16", (6, 4), (12, 11), (36, 1))
DAHR3 = number("dahr3", (23, 3))
IMM24 = number("imm24", (6, 21), (31, 2), (36, 1), hexadecimal=True)
TARGET_S = target("target25", (6, 7), (20, 13), (36, 1))
TARGET_A = target("target25", (13, 20), (36, 1))
SOF, SOL = number("sof", (13, 7)), number("sol", (20, 7))
SOR = number("sor", (27, 4), scale=8)

M20 = form("M20", "{r2},{target25}", R2, TARGET_S)
M21 = form("M21", "{f2},{target25}", F2, TARGET_S)
M22 = form("M22", "{r1},{target25}", R1, TARGET_A)
M23 = form("M23", "{f1},{target25}", F1, TARGET_A)
M24 = form("M24", "")
M25 = form("M25", "", predicated=False)
M26 = form("M26", "{r1}", R1)
M27 = form("M27", "{f1}", F1)
M28 = form("M28", "{r3}", R3)
M29 = form("M29", "{ar3}={r2}", AR3, R2)
M30 = form("M30", "{ar3}={imm8}", AR3, IMM8)
M31 = form("M31", "{r1}={ar3}", R1, AR3)
M32 = form("M32", "{cr3}={r2}", CR3, R2)
M33 = form("M33", "{r1}={cr3}", R1, CR3)
M34 = form("M34", "{r1}=ar.pfs,{sof},{sol},{sor}", R1, SOF, SOL, SOR, predicated=False)
M37 = form("M37", "{imm21}", IMM21)
M38 = form("M38", "{r1}={r3},{r2}", R1, R3, R2)
M39 = form("M39", "{r1}={r3},{imm2}", R1, R3, IMM2)
M40 = form("M40", "{r3},{imm2}", R3, IMM2)
M43 = form("M43", "{r1}={r3}", R1, R3)
M44 = form("M44", "{imm24}", IMM24)
M45 = form("M45", "{r3},{r2}", R3, R2)
M46 = form("M46", "{r1}={r3}", R1, R3)
M47 = form("M47", "{r3}", R3)
M48 = form("M48", "{imm21}", IMM21)
M48_HINT = form("M48", "{imm19}", IMM19)
M50 = form("M50", "dahr{dahr3}={imm16}", DAHR3, IMM16)

_ALWAYS = {"qp": 0}  # a processor refuses another predicate
_ZERO = {"op": 0, "x3": 0}
_ONE = {"op": 1, "x3": 0}
_PRIVILEGED = {"rules": (PRIVILEGED,)}
_USER = "psr.um psr.mf"  # what a mask instruction can change
_WHOLE = "psr " + _USER


def _checks() -> Iterator[SlotOp]:
    branch = {"flow": Flow.BRANCH}
    yield row("chk.s.m", M20, "CHK_M", op=1, x3=1, **branch)
    yield row("chk.s", M21, "CHK_M", op=1, x3=3, **branch)
    for x3, layout, suffix in ((4, M22, "nc"), (5, M22, "clr"), (6, M23, "nc"), (7, M23, "clr")):
        effect = {"reads": "alat", "writes": "alat" if suffix == "clr" else ""}
        yield row(f"chk.a.{suffix}", layout, "CHK_ALAT", op=0, x3=x3, **effect, **branch)


def _synchronisation() -> Iterator[SlotOp]:
    ordered = {**_ZERO, "event": True}
    yield row("invala", M24, "SYST_M", **ordered, x4=0, x2=1, writes="alat")
    yield row("fwb", M24, "SYST_M0", **ordered, x4=0, x2=2)
    yield row("mf", M24, "SYST_M0", **ordered, x4=2, x2=2)
    yield row("mf.a", M24, "SYST_M0", **ordered, x4=3, x2=2)
    yield row("srlz.d", M24, "SYST_M0", **ordered, x4=0, x2=3)
    yield row("srlz.i", M24, "SYST_M0", **ordered, x4=1, x2=3)
    yield row("sync.i", M24, "SYST_M0", **ordered, x4=3, x2=3)
    entry = {"reads": "alat", "writes": "alat"}
    yield row("invala.e", M26, "SYST_M", **ordered, x4=2, x2=1, **entry)
    yield row("invala.e", M27, "SYST_M", **ordered, x4=3, x2=1, **entry)
    rse = {"rules": (FIRST,), "writes": "rse ar.bspstore ar.rnat", **_ALWAYS}
    backing = "rse ar.bsp ar.rnat ar.rsc"
    yield row(
        "flushrs", M25, "RSE_M", **ordered, x4=0xC, x2=0, **rse, reads=f"{backing} ar.bspstore"
    )
    yield row("loadrs", M25, "RSE_M", **ordered, x4=0xA, x2=0, **rse, reads=backing)
    yield row("fc", M28, "SYST_M2", **_ONE, x6=0x30, x=0, event=True)
    yield row("fc.i", M28, "SYST_M2", **_ONE, x6=0x30, x=1, event=True)


def _misc() -> Iterator[SlotOp]:
    yield row("break.m", M37, "BRK_M", **_ZERO, x4=0, x2=0, flow=Flow.TRAP, event=True)
    yield row("nop.m", M48, "NOP_M", **_ZERO, x4=1, x2=0, y26=0)
    yield row("hint.m", M48_HINT, "NOP_M", **_ZERO, x4=1, x2=0, y26=1, ch=0, event=True)
    dahr = {"writes": "dahr", "needs": ITANIUM_9500}
    yield row("mov", M50, "SYST_M2", **_ZERO, x4=1, x2=0, y26=1, ch=1, **dahr)
    user = {"reads": _USER, "writes": _USER}
    yield row("sum", M44, "SYST_M2", **_ZERO, x4=4, **user)
    yield row("rum", M44, "SYST_M2", **_ZERO, x4=5, **user)
    system = {"writes": _WHOLE, "rules": (PRIVILEGED,)}
    yield row("ssm", M44, "SYST_M2", **_ZERO, x4=6, **system, reads=f"{_WHOLE} cr.tpr")
    yield row("rsm", M44, "SYST_M2", **_ZERO, x4=7, **system, reads=_WHOLE)
    frame = {
        "reads": "ar.pfs ar.bspstore ar.rnat ar.rsc cfm rse",
        "writes": "ar.bspstore ar.rnat cfm rse",
        "rules": (FIRST,),
    }
    yield row("alloc", M34, "SYST_M2", op=1, x3=6, **frame, **_ALWAYS)


# A register file behind an index: name, x6 of the move to it (the move from it is 0x10 above).
_FILES = {"rr": 0, "dbr": 1, "ibr": 2, "pkr": 3, "pmc": 4, "pmd": 5, "msr": 6}


def _moves() -> Iterator[SlotOp]:
    yield row("mov.m", M30, "TOAR_M", **_ZERO, x4=8, x2=2)
    yield row("mov.m", M29, "TOAR_M", **_ONE, x6=0x2A)
    yield row("mov.m", M31, "FRAR_M", **_ONE, x6=0x22)
    yield row("mov", M32, "TOCR", **_ONE, x6=0x2C, **_PRIVILEGED)
    yield row("mov", M33, "FRCR", **_ONE, x6=0x24, **_PRIVILEGED)
    for name, x6 in _FILES.items():
        to = form("M42", f"{name}[{{r3}}]={{r2}}", R3, R2)
        yield row("mov", to, "SYST_M2", **_ONE, x6=x6, writes=name, **_PRIVILEGED)
        source = form("M43", f"{{r1}}={name}[{{r3}}]", R1, R3)
        reads, rules = ("pmc pmd", ()) if name == "pmd" else (name, (PRIVILEGED,))
        yield row("mov", source, "SYST_M2", **_ONE, x6=0x10 | x6, reads=reads, rules=rules)
    cpuid = form("M43", "{r1}=cpuid[{r3}]", R1, R3)
    yield row("mov", cpuid, "SYST_M2", **_ONE, x6=0x17, reads="cpuid")
    dahr = form("M43", "{r1}=dahr[{r3}]", R1, R3)
    yield row("mov", dahr, "SYST_M2", **_ONE, x6=0x20, reads="dahr", needs=ITANIUM_9500)
    get_user, get_psr = form("M36", "{r1}=psr.um", R1), form("M36", "{r1}=psr", R1)
    yield row("mov", get_user, "SYST_M2", **_ONE, x6=0x21, reads=_USER)
    yield row("mov", get_psr, "SYST_M2", **_ONE, x6=0x25, reads=f"{_WHOLE} psr.cpl", **_PRIVILEGED)
    set_user, set_psr = form("M35", "psr.um={r2}", R2), form("M35", "psr.l={r2}", R2)
    yield row("mov", set_user, "SYST_M2", **_ONE, x6=0x29, writes=_USER)
    low = {"reads": "cr.tpr", "writes": _WHOLE}
    yield row("mov", set_psr, "SYST_M2", **_ONE, x6=0x2D, **low, **_PRIVILEGED)


def _translation() -> Iterator[SlotOp]:
    purge = {"writes": "tlb", "event": True}
    yield row("ptc.l", M45, "SYST_M2", **_ONE, x6=0x09, **purge, rules=(PRIVILEGED,))
    yield row("ptc.g", M45, "SYST_M2", **_ONE, x6=0x0A, **purge, rules=(PRIVILEGED, LAST))
    yield row("ptc.ga", M45, "SYST_M2", **_ONE, x6=0x0B, **purge, rules=(PRIVILEGED, LAST))
    yield row("ptr.d", M45, "SYST_M2", **_ONE, x6=0x0C, **purge, rules=(PRIVILEGED,))
    yield row("ptr.i", M45, "SYST_M2", **_ONE, x6=0x0D, **purge, rules=(PRIVILEGED,))
    yield row("ptc.e", M28, "SYST_M2", **_ONE, x6=0x34, **purge, rules=(PRIVILEGED,))
    insert = {"reads": "cr.ifa cr.itir", "writes": "tlb", "event": True}
    for x6, file in ((0x0E, "d"), (0x0F, "i")):
        layout = form("M42", f"{file}tr[{{r3}}]={{r2}}", R3, R2)
        yield row(f"itr.{file}", layout, "SYST_M2", **_ONE, x6=x6, **insert, rules=(PRIVILEGED,))
    cache = form("M41", "{r2}", R2)
    for x6, file in ((0x2E, "d"), (0x2F, "i")):
        rules = (PRIVILEGED, LAST)
        yield row(f"itc.{file}", cache, "SYST_M2", **_ONE, x6=x6, **insert, rules=rules)
    for x6, name in ((0x1A, "thash"), (0x1B, "ttag")):
        yield row(name, M46, "SYST_M2", **_ONE, x6=x6, reads="cr.pta rr")
    for x6, name in ((0x1E, "tpa"), (0x1F, "tak")):
        yield row(name, M46, "SYST_M2", **_ONE, x6=x6, reads="tlb", rules=(PRIVILEGED,))


def _probes() -> Iterator[SlotOp]:
    probe = {**_ONE, "reads": "tlb psr"}
    yield row("probe.r", M39, "SYST_M2", **probe, x6=0x18)
    yield row("probe.w", M39, "SYST_M2", **probe, x6=0x19)
    yield row("probe.rw.fault", M40, "SYST_M2", **probe, x6=0x31, event=True)
    yield row("probe.r.fault", M40, "SYST_M2", **probe, x6=0x32, event=True)
    yield row("probe.w.fault", M40, "SYST_M2", **probe, x6=0x33, event=True)
    yield row("probe.r", M38, "SYST_M2", **probe, x6=0x38)
    yield row("probe.w", M38, "SYST_M2", **probe, x6=0x39)


ROWS = (
    *_checks(),
    *_synchronisation(),
    *_misc(),
    *_moves(),
    *_translation(),
    *_probes(),
)
