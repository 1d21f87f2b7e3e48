"""The 21164: up to four instructions of an aligned block a cycle, in order.

Rules and latencies: 21164PC Hardware Reference Manual chapter 2 (the 21164PC has the core of the
21164), and gcc's description where the manual's page is not at hand.
"""

from __future__ import annotations

from rewriter.core.target.cpu import Bypass, Cache, Counters, Figure, InOrder, Sched
from targets.alpha.cpus.sources import GCC5, GMP, HRM_164PC, at_once, guess, in_order, no_result

FETCH = Figure(16, f"{HRM_164PC} 2-4: aligned INT16 issue group")
_E0, _E1, _E01 = ("E0",), ("E1",), ("E0", "E1")
_FA, _FM = ("FA",), ("FM",)

_INTEGER = Sched(_E01, at_once(GCC5))
_SHIFT = Sched(_E0, at_once(GCC5))
_STORE = Sched(_E0, no_result(GCC5))
_CONTROL = Sched(_E1, at_once(GCC5))
_LOAD = Sched(_E01, Figure(2, f"{GCC5}: loads complete in two cycles"))
_ADD = Sched(_FA, Figure(4, GCC5))
_PAGE = f"{HRM_164PC} 2-25"

CLASSES = {
    **dict.fromkeys(("iadd", "icmp", "ilog", "lda"), _INTEGER),
    "ishf": _SHIFT,
    "cmov": Sched(_E01, Figure(2, GCC5)),
    "imull": Sched(_E0, Figure(8, _PAGE), "imul", Figure(4, f"{_PAGE}: next multiply")),
    "imulq": Sched(_E0, Figure(12, _PAGE), "imul", Figure(8, f"{_PAGE}: next multiply")),
    "iumulh": Sched(_E0, Figure(14, _PAGE), "imul", Figure(10, f"{GMP}: the manual has 8")),
    **dict.fromkeys(("ild", "fld"), _LOAD),
    "ld_l": Sched(_E0, _LOAD.latency),
    **dict.fromkeys(("ist", "fst", "st_c", "mb", "wmb", "mem_misc"), _STORE),
    **dict.fromkeys(("icbr", "br", "jsr", "pal"), _CONTROL),
    "fbr": Sched(_FA, at_once(GCC5)),
    **dict.fromkeys(("fadd", "fcmov"), _ADD),
    "fmul": Sched(_FM, Figure(4, GCC5)),
    "fcpys": Sched((*_FA, *_FM), Figure(4, GCC5)),
    "fdivs": Sched(_FA, Figure(15, f"{GCC5}: depends on the data"), "fdiv", Figure(15, GCC5)),
    "fdivt": Sched(_FA, Figure(22, f"{GCC5}: depends on the data"), "fdiv", Figure(22, GCC5)),
    **dict.fromkeys(("misc", "trapb", "excb"), Sched(_E0, Figure(2, GCC5))),
}

_LOADS = frozenset({"ild", "fld", "ld_l"})
_STORES = frozenset({"ist", "fst", "st_c"})
_TESTED = frozenset({"icmp", "ilog"})
_MULTIPLIES = frozenset({"imull", "imulq", "iumulh"})
_SLOW_INPUT = f"{GCC5}: the multiplier has no bypasses"

_BYPASSES = (
    Bypass(
        _TESTED,
        frozenset({"icbr", "cmov"}),
        Figure(0, f"{HRM_164PC} 2-25: a test may issue with what it tests"),
        "ra",
    ),
    Bypass(
        _LOADS | {"ishf", "sext", "imisc", "cmov", "iadd", "lda"} | _TESTED,
        _MULTIPLIES,
        Figure(3, _SLOW_INPUT),
    ),
    Bypass(frozenset({"imull"}), _MULTIPLIES, Figure(9, _SLOW_INPUT)),
    Bypass(frozenset({"imulq"}), _MULTIPLIES, Figure(13, _SLOW_INPUT)),
    Bypass(frozenset({"iumulh"}), _MULTIPLIES, Figure(15, _SLOW_INPUT)),
)

_ON_CHIP = Cache(
    size=guess(8 * 1024, "on-chip cache, bytes"),
    line=guess(32, "line, bytes"),
    ways=guess(1, "direct-mapped"),
    latency=_LOAD.latency,
)
_SECOND_LEVEL = Cache(
    size=guess(96 * 1024, "second-level cache, bytes"),
    line=guess(64, "line, bytes"),
    ways=guess(3, "ways"),
    latency=Figure(12, "gcc config/alpha/alpha.cc: cache latencies"),
    busy=guess(2, "a line out of the second-level cache"),
)

_STORE_PAGE = f"{HRM_164PC} 2-33"

PIPELINE = InOrder(
    width=Figure(4, f"{HRM_164PC} 2-4"),
    classes=CLASSES,
    bypasses=_BYPASSES,
    exclusions=((_LOADS, _STORES),),
    after_store={1: Figure(7, f"{_STORE_PAGE}: replay trap")},
    barred=(Figure(2, f"{GMP}; {_STORE_PAGE}: issue stall"),),
    waiting=frozenset({"trapb", "excb", "mb"}),
    predictor=Counters(guess(2048, "counters"), guess(2, "bits a counter")),
    return_stack=guess(12, "entries"),
    ahead=guess(2, "blocks; GMP's loops take what was measured"),
    taken=guess(1, "bubble after a taken branch"),
    mispredicted=guess(5, "cycles after a wrong prediction"),
    icache=_ON_CHIP,
    dcache=_ON_CHIP,
    inner=(_SECOND_LEVEL,),
    misses=Figure(6, f"{HRM_164PC} 2-28: miss address file"),
    write_buffer=Figure(6, f"{HRM_164PC} 2-28: entries"),
)

CPU = in_order("ev5", "21164", frozenset(), FETCH, PIPELINE, "EV5")
