"""The 21064: two instructions of an aligned pair a cycle, in order.

Pairing and latencies are those of gcc's description, which names the resources of the chip: issue
buses ib0 and ib1, and the boxes behind them.
"""

from __future__ import annotations

from rewriter.core.target.cpu import Bypass, Cache, Counters, Figure, InOrder, Sched
from targets.alpha.cpus.sources import GCC4, guess, in_order, no_result

FETCH = guess(8, "aligned pair")
_IB0, _IB1 = ("ib0",), ("ib1",)
_EITHER = ("ib0", "ib1")
_TWO = Figure(2, GCC4)
_LOAD = Figure(3, f"{GCC4}: loads complete in three cycles")
_STORE = no_result(GCC4)

_INTEGER = Sched(_IB0, _TWO, "ebox")
_BRANCH = Sched(_IB1, Figure(2, GCC4), "bbox", Figure(2, f"{GCC4}: ties up the unit"))
_FLOATING = Sched(_IB1, Figure(6, GCC4), "fbox")
_LONG_MULTIPLY = Sched(_IB0, Figure(21, GCC4), "imul", Figure(19, GCC4))
_MULTIPLY = Sched(_IB0, Figure(23, GCC4), "imul", Figure(21, GCC4))
_MISC = Sched(_IB1, Figure(1, GCC4))
_LOAD_CLASS = Sched(_EITHER, _LOAD, "abox")

CLASSES = {
    **dict.fromkeys(("iadd", "icmp", "ilog", "lda", "ishf", "cmov"), _INTEGER),
    "imull": _LONG_MULTIPLY,
    **dict.fromkeys(("imulq", "iumulh"), _MULTIPLY),
    **dict.fromkeys(("ild", "fld", "ld_l"), _LOAD_CLASS),
    **dict.fromkeys(("ist", "st_c"), Sched(_IB1, _STORE, "abox")),
    "fst": Sched(_IB0, _STORE, "abox"),
    **dict.fromkeys(("mb", "wmb"), Sched(_IB1, _STORE, "abox", Figure(4, GCC4))),
    **dict.fromkeys(("icbr", "br", "jsr", "pal"), _BRANCH),
    "fbr": Sched(_IB0, _TWO, "bbox", Figure(2, GCC4)),
    **dict.fromkeys(("fadd", "fmul", "fcpys", "fcmov"), _FLOATING),
    "fdivs": Sched(_IB1, Figure(34, GCC4), "fdiv", Figure(30, GCC4)),
    "fdivt": Sched(_IB1, Figure(63, GCC4), "fdiv", Figure(59, GCC4)),
    **dict.fromkeys(("misc", "mem_misc", "trapb", "excb"), _MISC),
}

_ADD = frozenset({"iadd", "ilog", "lda"})
_EBOX = _ADD | {"ishf", "cmov", "icmp"}
_FPOP = frozenset({"fadd", "fmul", "fcpys", "fcmov"})
_STORES = frozenset({"ist", "st_c"})
_ADD_READERS = _EBOX | {"icbr", "imull", "imulq", "iumulh"}

_BYPASSES = (
    Bypass(_EBOX, _STORES, Figure(0, f"{GCC4}: a store may issue before its data"), "ra"),
    Bypass(_ADD, _ADD_READERS, Figure(1, GCC4)),
    Bypass(frozenset({"icmp"}), frozenset({"icbr"}), Figure(1, GCC4)),
    Bypass(frozenset({"imull"}), _STORES, Figure(20, GCC4), "ra"),
    Bypass(frozenset({"imulq", "iumulh"}), _STORES, Figure(22, GCC4), "ra"),
    Bypass(_FPOP, _FPOP, Figure(4, GCC4)),
)


def cache(kilobytes: int) -> Cache:
    """A first-level cache: direct-mapped, 32-byte lines."""
    return Cache(
        size=guess(kilobytes * 1024, "on-chip cache, bytes"),
        line=guess(32, "line, bytes"),
        ways=guess(1, "direct-mapped"),
        latency=_LOAD,
    )


PIPELINE = InOrder(
    width=Figure(2, f"{GCC4}: ib0 and ib1"),
    classes=CLASSES,
    bypasses=_BYPASSES,
    exclusions=(),
    after_store={},
    barred=(),
    waiting=frozenset({"trapb", "excb", "mb"}),
    predictor=Counters(guess(2048, "one history bit an instruction"), guess(1, "history bit")),
    return_stack=guess(4, "entries"),
    ahead=guess(1, "pairs; Linux' delay loop takes the two cycles that were measured"),
    taken=guess(1, "bubble after a taken branch"),
    mispredicted=guess(4, "bubbles after a wrong prediction"),
    icache=cache(8),
    dcache=cache(8),
    inner=(),
    misses=guess(3, "loads in flight"),
    write_buffer=guess(4, "entries of 32 bytes"),
)

CPU = in_order("ev4", "21064", frozenset(), FETCH, PIPELINE, "EV4", "LCA4")
