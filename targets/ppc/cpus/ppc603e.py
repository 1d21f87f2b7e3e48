"""The 603e: two instructions a cycle in order to five units, branches folded, no history."""

from __future__ import annotations

from rewriter.core.target.cpu import Figure
from rewriter.core.target.dispatched_cpu import (
    Accesses,
    Dispatched,
    Fetching,
    Flight,
    Grouping,
    Queue,
)
from targets.ppc.cpus import classes as c
from targets.ppc.cpus.sources import (
    G3,
    GCC603,
    IN_LINES,
    dispatched,
    guess,
    guessed_cache,
    stores,
    takes,
)
from targets.ppc.isa.features import GRAPHICS, OLD

FETCH = guess(32, "instructions come out of one line of the instruction cache")
_IU, _LSU, _FPU, _SRU, _BPU = "iu", "lsu", "fpu", "sru", "bpu"
_LOAD = takes(_LSU, 2, GCC603, base=1)
_STORE = stores(_LSU, GCC603, base=1)

CLASSES = c.table(
    (f"{c.SIMPLE} {c.COUNT}", takes(_IU, 1, GCC603)),
    (f"{c.RECORDS} cmp cntlz.", takes(_IU, 1, GCC603, cr=3)),
    (f"{c.LOADS} {c.LOADS_UPDATE} {c.LOADS_EXTEND} load-many", _LOAD),
    ("fpload fpload-u fpload-ux", _LOAD),
    (f"{c.STORES} {c.STORES_UPDATE} store-many fpstore fpstore-u fpstore-ux", _STORE),
    ("load_l", takes(_LSU, 2, G3)),
    ("store_c", takes(_LSU, 8, G3)),
    ("dcbt", stores(_LSU, GCC603)),
    ("dcbz dcbf icbi", takes(_LSU, 3, G3, 3)),
    (c.BRANCHES, takes(_BPU, 1, GCC603)),
    ("cr_logical cr_logical3 mfcr mfcrf mtcr", takes(_SRU, 2, GCC603)),
    ("mtjmpr mtspr", takes(_SRU, 4, GCC603)),
    ("mfjmpr mfspr", takes(_SRU, 2, GCC603)),
    ("sync isync", takes(_SRU, 3, G3)),
    ("mul mul.", takes(_IU, 3, GCC603, 2)),
    ("mul-small", takes(_IU, 2, GCC603, 2)),
    ("div div.", takes(_IU, 37, GCC603, 37)),
    ("fp fpsimple", takes(_FPU, 3, GCC603)),
    ("fpcompare", takes(_FPU, 3, GCC603)),
    ("dmul", takes(_FPU, 4, GCC603, 2)),
    ("sdiv", takes(_FPU, 18, GCC603, 18)),
    ("ddiv ssqrt dsqrt", takes(_FPU, 33, GCC603, 33)),
    without=f"mul64 mul64. div64 div64. {c.ALTIVEC} {c.VSX} {c.QUAD} {c.MMA}",
)

PIPELINE = Dispatched(
    width=Figure(3, f"{GCC603}: two and a branch"),
    classes=CLASSES,
    bypasses=(),
    grouping=Grouping(
        places=Figure(2, f"{GCC603}: dispatch of two"),
        branches=Figure(0, f"{GCC603}: branches go to their own unit"),
        takes={},
        folded=frozenset({"branch", "branch-always", "jmpreg", "jmpreg-always"}),
    ),
    queues=tuple(
        Queue(frozenset({unit}), guess(1, "one reservation station"))
        for unit in (_IU, _LSU, _FPU, _SRU)
    ),
    flight=Flight(
        completes=guess(2, "completed a cycle"), instructions=guess(5, "completion buffer")
    ),
    issue=guess(1, "a stage between dispatch and execution"),
    fetch=Fetching(
        width=guess(2, "fetched a cycle"),
        buffer=guess(6, "instruction queue"),
        taken=guess(1, "bubble after a taken branch"),
        indirect=guess(1, "bubble after a branch to a register"),
        mispredicted=guess(2, "cycles after a wrong prediction"),
        predictor=None,
        return_stack=guess(0, "none"),
        targets=guess(0, "none"),
    ),
    memory=Accesses(
        icache=guessed_cache(16, 4, 32, 1),
        dcache=guessed_cache(16, 4, 32, 2),
        inner=(),
        misses=guess(1, "misses outstanding"),
        stores=guess(2, "store queue"),
        after_store=guess(2, "a load of what was stored"),
        partial=guess(4, "a load wider than its store"),
        split=guess(8, "crossing a doubleword"),
        streams=guess(0, "none"),
    ),
    waiting=frozenset({"sync", "isync"}),
)

_CALLED = ("603e", "603ev")
CPU = dispatched("603e", "603e", frozenset({GRAPHICS, OLD}), FETCH, PIPELINE, IN_LINES, _CALLED)
