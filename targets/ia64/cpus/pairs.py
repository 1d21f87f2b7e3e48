"""The Itanium 2's tables of pairs: register stack engine, system instructions, processor state.

Each row: earlier kinds, later kinds, cycles between their issue, the counter of the wait, source.
A distance of 1 costs nothing.  The counters are those of the performance monitoring unit.
"""

from __future__ import annotations

from rewriter.core.target.bundled_cpu import ANY, Echo, Pair
from rewriter.core.target.cpu import Figure, assumed
from targets.ia64.cpus.sources import KNB, LINUX, SEED, disputed, guess

ARCR = "BE_EXE_BUBBLE.ARCR"
AR_DEP = "BE_RSE_BUBBLE.AR_DEP"
OVERFLOW = "BE_RSE_BUBBLE.OVERFLOW"
LOADRS = "BE_RSE_BUBBLE.LOADRS"
BANK_SWITCH = "BE_RSE_BUBBLE.BANK_SWITCH"
XPN = "BE_FLUSH_BUBBLE.XPN"
BRU = "BE_FLUSH_BUBBLE.BRU"
FE = "BACK_END_BUBBLE.FE"
DCURECIR = "BE_L1D_FPU_BUBBLE.L1D_DCURECIR"

_SERIALISE = "srlz"
_TO_M0 = ("srlz", "sync.i", "fwb", "mf", "mf.a", "invala")


def _from(names: str | tuple[str, ...]) -> frozenset[str]:
    return frozenset((names,) if isinstance(names, str) else names)


def _pair(
    earlier: str | tuple[str, ...],
    later: str | tuple[str, ...],
    cycles: int | Figure,
    counter: str,
    shares: tuple[tuple[str, int], ...] = (),
    source: str = SEED,
) -> Pair:
    figure = cycles if isinstance(cycles, Figure) else Figure(cycles, source)
    split = tuple((name, Figure(value, source)) for name, value in shares)
    return Pair(_from(earlier), _from(later), figure, counter, split)


_BSPSTORE_USE = disputed(5, f"5 in {SEED}, 6 in {LINUX}")
_NEXT_CYCLE = 1

RSE = (
    _pair("mov ar.rsc=reg", "RSE_AR", 12, AR_DEP),
    _pair("mov ar.rsc=imm", "RSE_AR", 2, AR_DEP),
    _pair("mov ar.bspstore=", "RSE_AR", _BSPSTORE_USE, AR_DEP),
    _pair("mov =ar.bspstore", "mov ar.rnat=", 8, ARCR),
    _pair("mov =ar.bsp", "mov ar.rnat=", 8, ARCR),
    _pair(("mov =ar.rnat", "mov =ar.unat"), ("mov ar.rnat=", "mov ar.unat="), 6, ARCR),
    _pair(("mov ar.rnat=", "mov ar.unat="), ("mov =ar.rnat", "mov =ar.unat"), 6, ARCR),
    _pair("mov =ar.unat", "F unit", 6, ARCR),
    _pair("mov ar.bspstore=", "flushrs", 13, OVERFLOW),
    _pair("mov ar.rnat=", "flushrs", 2, OVERFLOW),
    _pair(ANY, "flushrs", 2, OVERFLOW),
    _pair("mov ar.rsc=", "loadrs", 13, LOADRS),
    _pair("mov ar.bspstore=", "loadrs", 13, LOADRS),
    _pair("mov =ar.bspstore", "loadrs", 3, LOADRS),
    _pair("loadrs", "loadrs", 9, LOADRS),
    _pair(ANY, "loadrs", 2, LOADRS),
)

SYSTEM = (
    _pair("epc", ANY, _NEXT_CYCLE, ARCR),
    _pair(("bsw.0", "bsw.1"), ANY, 6, BANK_SWITCH),
    _pair("rfi", ANY, 13, XPN, ((BRU, 1), (XPN, 8), (FE, 3))),
    _pair("srlz.d", ANY, _NEXT_CYCLE, ARCR),
    _pair("srlz.i", ANY, 12, XPN, ((XPN, 8), (FE, 3))),
    _pair(("sum", "rum", "mov psr.um="), ANY, 5, ARCR),
    _pair(("sum", "rum", "mov psr.um="), _SERIALISE, 10, ARCR),
    _pair(("ssm", "rsm", "mov psr.l="), _SERIALISE, 5, ARCR),
    _pair(("mov =psr.um", "mov =psr"), _SERIALISE, 2, ARCR),
    _pair(("mov pkr=", "mov rr="), _TO_M0, 14, ARCR),
)

_CR = f"{KNB}, labelled as of the first Itanium"
CONTROL = (
    _pair(
        ("mov cr.ipsr=", "mov cr.ifs=", "mov cr.iim=", "mov cr.iha="),
        _SERIALISE,
        assumed(10, _CR),
        ARCR,
    ),
    _pair(
        ("mov cr.dcr=", "mov cr.isr=", "mov cr.iip=", "mov cr.iipa="),
        _SERIALISE,
        assumed(5, _CR),
        ARCR,
    ),
    _pair(("mov cr.itm=", "mov cr.tpr="), _SERIALISE, assumed(35, _CR), ARCR),
    _pair("mov ar.fpsr=", "F unit", assumed(9, _CR), ARCR),
)

PAIRS = (*RSE, *SYSTEM, *CONTROL)

# The article gives the place of the bubble; how long it is and what counts it are assumed.
ECHOES = tuple(
    Echo(kind, Figure(5, SEED), guess(1, "bubbles; how many is not published"), DCURECIR)
    for kind in ("mov rr=", "mov pkr=")
)

# Ends of a cycle that no stop asks for, with their sources.
SPLITS_AFTER = {
    **dict.fromkeys(("SEM", "mf.a", "invala", "invala.e"), KNB),
    **dict.fromkeys(("srlz.d", "srlz.i", "sync.i", "mov =ar.unat"), SEED),
    "epc": f"{SEED}; {LINUX}",
}
SPLITS_BEFORE = {"mf": SEED}
SPLITS_BETWEEN = {("mov =ar.bsp", "B unit"): SEED, ("M unit", "fwb"): SEED}
