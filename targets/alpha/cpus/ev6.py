"""The 21264: four instructions a cycle from aligned blocks, renamed, issued out of order.

Section and page numbers are those of the 21264/EV67 Hardware Reference Manual, chapter 2.
"""

from __future__ import annotations

from rewriter.core.target.cpu import (
    Bypass,
    Cache,
    Fetch,
    Figure,
    Memories,
    OutOfOrder,
    OutOfOrderCore,
    Sched,
    Tournament,
)
from targets.alpha.cpus.slotting import slot
from targets.alpha.cpus.sources import (
    GCC6,
    HRM,
    TABLE_2_1,
    TABLE_2_4,
    at_once,
    guess,
    no_result,
    out_of_order,
)
from targets.alpha.cpus.traits import NOP
from targets.alpha.registers import FP

FETCH_BLOCK = Figure(16, f"{HRM} 2-14: aligned 4-instruction fetch block")
_UPPER, _LOWER = ("U0", "U1"), ("L0", "L1")
_ANY = (*_UPPER, *_LOWER)
_STORE_PORTS = ("FST0", "FST1")
_FA, _FM = ("FA",), ("FM",)

# Stage in which the earliest retirement is possible, counted from the fetch stage.
_MEMORY_RETIRE = guess(10, "table 2-5, memory")
_FLOATING_RETIRE = guess(11, "table 2-5, floating point")
_JUMP_RETIRE = guess(10, "table 2-5, jumps")

_INTEGER = Sched(_ANY, at_once(TABLE_2_4))
_UPPER_ONLY = Sched(_UPPER, at_once(TABLE_2_4))
_LOAD = Sched(_LOWER, Figure(3, f"{TABLE_2_4}: Dcache hit"), retire=_MEMORY_RETIRE)
_STORE = Sched(_LOWER, no_result(TABLE_2_4), retire=_MEMORY_RETIRE)
_L1_ONLY = Sched(("L1",), no_result(GCC6), retire=_MEMORY_RETIRE)
_MULTIPLY = Sched(("U1",), Figure(7, TABLE_2_4))
_JUMP = Sched(("L0",), Figure(3, TABLE_2_4), retire=_JUMP_RETIRE)
_ADD = Sched(_FA, Figure(4, TABLE_2_4), retire=_FLOATING_RETIRE)
_DISCARDED = Sched((), guess(1, "section 2.5: discarded before the queues"))
_ASIDE = Figure(2, f"{GCC6}: from the store port to the lower pipe")


def _long(latency: int, busy: int, unit: str) -> Sched:
    """A divide or square root: the unit is not pipelined."""
    return Sched(_FA, Figure(latency, GCC6), unit, Figure(busy, GCC6), retire=_FLOATING_RETIRE)


CLASSES = {
    **dict.fromkeys(("iadd", "icmp", "ilog"), _INTEGER),
    "lda": Sched(_ANY, at_once(f"{GCC6}: iadd")),
    "ishf": _UPPER_ONLY,
    "sext": Sched(_UPPER, at_once("gcc config/alpha/alpha.md: a sign extension is a shift")),
    # Two instructions to the mapper; the second alone reads the value moved (HRM 2-26).
    "cmov": Sched(
        _ANY,
        at_once(TABLE_2_4),
        then=_ANY,
        after=at_once(TABLE_2_4),
        late=frozenset({"rb"}),
        split=True,
    ),
    **dict.fromkeys(("imull", "imulq", "iumulh"), _MULTIPLY),
    "imisc": Sched(("U0",), Figure(3, TABLE_2_4)),
    **dict.fromkeys(("ild", "ld_l"), _LOAD),
    "fld": Sched(_LOWER, Figure(4, f"{TABLE_2_4}: Dcache hit"), retire=_MEMORY_RETIRE),
    "ist": _STORE,
    "st_c": Sched(_LOWER, guess(3, "the flag of a store-conditional"), retire=_MEMORY_RETIRE),
    "fst": Sched(
        _STORE_PORTS,
        no_result(GCC6),
        then=_LOWER,
        after=_ASIDE,
        late=frozenset({"rb"}),
        retire=_MEMORY_RETIRE,
    ),
    **dict.fromkeys(("mb", "wmb", "mem_misc", "wh64"), _L1_ONLY),
    "misc": Sched(("L1",), at_once(TABLE_2_4)),
    "icbr": Sched(_UPPER, no_result(TABLE_2_4)),
    **dict.fromkeys(("br", "jsr", "pal"), _JUMP),
    "fbr": Sched(_FA, no_result(TABLE_2_4), retire=_FLOATING_RETIRE),
    **dict.fromkeys(("fadd", "fcpys"), _ADD),
    "fmul": Sched(_FM, Figure(4, TABLE_2_4), retire=_FLOATING_RETIRE),
    "fcmov": Sched(
        _FA,
        Figure(4, GCC6),
        then=_FA,
        after=Figure(4, GCC6),
        late=frozenset({"fb"}),
        split=True,
        retire=_FLOATING_RETIRE,
    ),
    "fdivs": _long(12, 9, "fdiv"),
    "fdivt": _long(15, 12, "fdiv"),
    "fsqrts": _long(18, 15, "fsqrt"),
    "fsqrtt": _long(33, 30, "fsqrt"),
    "ftoi": Sched(_STORE_PORTS, at_once(GCC6), then=_LOWER, after=_ASIDE, retire=_FLOATING_RETIRE),
    "itof": Sched(_LOWER, guess(4, "table 2-4; gcc has 3"), retire=_FLOATING_RETIRE),
    **dict.fromkeys((NOP, "trapb", "excb"), _DISCARDED),
}

_TO_STORE = frozenset({"fst", "ftoi"})
_BYPASSES = (
    Bypass(frozenset({"fadd", "fmul", "fcpys"}), _TO_STORE, Figure(6, TABLE_2_4)),
    Bypass(frozenset({"fcmov"}), _TO_STORE, Figure(6, f"{GCC6}: 10 with the first half")),
    Bypass(frozenset({"fdivs"}), _TO_STORE, guess(14, "two more than to others, as fadd")),
    Bypass(frozenset({"fdivt"}), _TO_STORE, guess(17, "two more than to others, as fadd")),
    Bypass(frozenset({"fsqrts"}), _TO_STORE, guess(20, "two more than to others, as fadd")),
    Bypass(frozenset({"fsqrtt"}), _TO_STORE, guess(35, "two more than to others, as fadd")),
)

_FETCH = Fetch(
    predictor=Tournament(
        local_entries=Figure(1024, f"{HRM} 2-4"),
        local_history_bits=Figure(10, f"{HRM} 2-4"),
        local_counter_bits=Figure(3, f"{HRM} 2-4"),
        global_history_bits=Figure(12, f"{HRM} 2-4"),
        global_counter_bits=Figure(2, f"{HRM} 2-4"),
        choice_counter_bits=Figure(2, f"{HRM} 2-5"),
    ),
    return_stack=guess(32, "entries"),
    line_bubble=Figure(1, f"{HRM} 2-14, 2-15"),
    way_bubble=Figure(2, f"{HRM} 2-15"),
    mispredicted=Figure(7, TABLE_2_1),
    jump_mispredicted=Figure(8, TABLE_2_1),
    itb_entries=Figure(128, f"{HRM} 2-5"),
    itb_miss=Figure(7, TABLE_2_1),
    page=Figure(8192, f"{HRM} 2-5"),
)

_WINDOW = OutOfOrderCore(
    map_stage=Figure(2, f"{HRM} 2-14"),
    issue_stage=Figure(3, f"{HRM} 2-14"),
    retire_stage=guess(7, "table 2-5, integer operate"),
    blocks=Figure(20, f"{HRM} 2-2"),
    integer_registers=Figure(41, f"{HRM} figure 2-1: 80 less 31 and 8 shadows"),
    floating_registers=Figure(41, f"{HRM} figure 2-1: 72 less 31"),
    map_reserve=Figure(4, f"{HRM}: the map stalls with fewer than 4 free registers"),
    integer_queue=Figure(20, f"{HRM} 2-3"),
    floating_queue=Figure(15, f"{HRM} 2-7"),
    crossing=Figure(1, TABLE_2_4),
    retire_width=guess(8, "two map blocks a cycle"),
    retire_branches=guess(1, "conditional branches retired a cycle"),
    cluster={"U0": 0, "L0": 0, "U1": 1, "L1": 1},
    prefer=("L0", "U1"),
    upper=_UPPER,
    lower=_LOWER,
    slotting=slot,
    floating=frozenset(range(FP, 2 * FP)),
)


def _on_chip(latency: Figure) -> Cache:
    return Cache(
        size=Figure(64 * 1024, f"{HRM} 2-11, 2-12"),
        line=Figure(64, f"{HRM} 2-11"),
        ways=Figure(2, f"{HRM} 2-11"),
        latency=latency,
    )


_MEMORY = Memories(
    loads=Figure(32, f"{HRM} 2-13"),
    stores=Figure(32, f"{HRM} 2-13"),
    misses=Figure(8, f"{HRM} 2-13: miss address file"),
    order_trap=Figure(14, TABLE_2_1),
    replay_trap=Figure(13, TABLE_2_1),
    store_wait_entries=Figure(1024, f"{HRM} 2-31"),
    store_wait_cleared=guess(16384, "cycles until the store-wait table is cleared"),
    dtb_entries=Figure(128, f"{HRM} 2-13"),
    dtb_miss=Figure(13, TABLE_2_1),
    walk=guess(20, "cycles of PALcode to fill a translation buffer"),
    store_to_load=guess(1, "cycles from a store's issue to that of a load made to wait for it"),
    icache=_on_chip(guess(1, "fetched in a cycle")),
    dcache=_on_chip(_LOAD.latency),
)

PIPELINE = OutOfOrder(
    width=Figure(4, f"{HRM} 2-14"),
    classes=CLASSES,
    bypasses=_BYPASSES,
    fetch=_FETCH,
    window=_WINDOW,
    memory=_MEMORY,
    write_hints=frozenset({"wh64"}),
    barriers=frozenset({"mb"}),
)

FEATURES = frozenset({"BWX", "MVI", "WH64", "FIX"})
CPU = out_of_order("ev6", "21264", FEATURES, FETCH_BLOCK, PIPELINE, "EV6")
