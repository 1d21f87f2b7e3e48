"""The 750: two instructions a cycle in order to six units, branches folded.

Instructions wait at their unit, one at each, so that one whose operands are late holds up only
what comes behind it at the same unit.
"""

from __future__ import annotations

from rewriter.core.target.cpu import Counters, Figure
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
    DS7450,
    G3,
    GCC7XX,
    IN_LINES,
    TN2087,
    UM750,
    UM750_TABLES,
    cache,
    dispatched,
    guess,
    stores,
    takes,
)
from targets.ppc.isa.features import GRAPHICS, OLD

FETCH = Figure(32, f"{UM750}, 216-232: fetch out of one cache block")
_IU1, _IU, _LSU, _FPU, _SRU, _BPU = "iu1", "iu1|iu2", "lsu", "fpu", "sru", "bpu"
_LOAD = takes(_LSU, 2, GCC7XX, base=1)
_STORE = stores(_LSU, GCC7XX, base=1)

ROWS = (
    (f"{c.SIMPLE} {c.COUNT}", takes(_IU, 1, GCC7XX)),
    (f"{c.RECORDS} cmp cntlz.", takes(_IU, 1, GCC7XX, cr=2)),
    (f"{c.LOADS} {c.LOADS_UPDATE} {c.LOADS_EXTEND}", _LOAD),
    ("fpload fpload-u fpload-ux", _LOAD),
    (f"{c.STORES} {c.STORES_UPDATE} fpstore fpstore-u fpstore-ux", _STORE),
    ("load-many", takes(_LSU, 34, G3, 34)),
    ("store-many", takes(_LSU, 34, G3, 34)),
    ("load_l", takes(_LSU, 3, UM750_TABLES)),
    ("store_c", takes(_LSU, 8, G3)),
    ("dcbt", stores(_LSU, UM750_TABLES)),
    ("dcbz", takes(_LSU, 3, UM750_TABLES, 6)),
    ("dcbf", takes(_LSU, 3, UM750_TABLES, 5)),
    ("icbi", takes(_LSU, 3, UM750_TABLES, 4)),
    (c.BRANCHES, takes(_BPU, 1, GCC7XX)),
    ("mfcr mfcrf mtcr", takes(_IU1, 2, GCC7XX)),
    ("cr_logical cr_logical3", takes(_SRU, 3, GCC7XX, 2)),
    ("mtjmpr mtspr", takes(_SRU, 2, GCC7XX, 2)),
    ("mfjmpr mfspr", takes(_SRU, 3, GCC7XX, 2)),
    ("sync isync", takes(_SRU, 3, G3)),
    ("mul mul.", takes(_IU1, 4, GCC7XX, 4)),
    ("mul-small", takes(_IU1, 3, GCC7XX, 2)),
    ("div div.", takes(_IU1, 19, GCC7XX, 19)),
    ("fp fpsimple", takes(_FPU, 3, GCC7XX)),
    ("fpcompare", takes(_FPU, 2, GCC7XX)),
    ("dmul", takes(_FPU, 4, GCC7XX, 2)),
    ("sdiv", takes(_FPU, 17, GCC7XX, 17)),
    ("ddiv ssqrt dsqrt", takes(_FPU, 31, GCC7XX, 31)),
)

_UNITS = ("iu1", "iu2", "fpu", "sru")
GROUPING = Grouping(
    places=Figure(2, f"{UM750}, 216-232: dispatch of two"),
    branches=Figure(0, f"{UM750}, 216-232: no place for branches alone"),
    takes={},
    folded=frozenset({"branch", "branch-always", "jmpreg", "jmpreg-always"}),
)
QUEUES = (
    *(Queue(frozenset({unit}), guess(1, "one reservation station")) for unit in _UNITS),
    Queue(frozenset({"lsu"}), guess(2, "two reservation stations")),
)
FLIGHT = Flight(
    completes=Figure(2, f"{UM750}, 216-232: retires two"),
    instructions=Figure(6, f"{UM750}, 216-232: completion queue"),
)
ISSUE = guess(1, "a stage between dispatch and execution")

PIPELINE = Dispatched(
    width=Figure(3, f"{GCC7XX}: two and a branch"),
    classes=c.table(
        *ROWS, without=f"mul64 mul64. div64 div64. {c.ALTIVEC} {c.VSX} {c.QUAD} {c.MMA}"
    ),
    bypasses=(),
    grouping=GROUPING,
    queues=QUEUES,
    flight=FLIGHT,
    issue=ISSUE,
    fetch=Fetching(
        width=Figure(4, f"{UM750}, 216-232: fetch of four"),
        buffer=Figure(6, f"{UM750}, 216-232: instruction queue"),
        taken=Figure(0, f"{UM750}, 216-232: target cache (64 entries), taken to hit"),
        indirect=Figure(1, f"{UM750}, 216-232: they do not use the target cache"),
        mispredicted=guess(3, "as on the 7400, whose least is four cycles"),
        predictor=Counters(Figure(512, f"{UM750}, 216-232"), guess(2, "bits a counter")),
        return_stack=Figure(0, f"{UM750}, 216-232: none"),
        targets=Figure(0, f"{UM750}, 216-232: none"),
    ),
    memory=Accesses(
        icache=cache(32, 8, 32, 1, TN2087),
        dcache=cache(32, 8, 32, 2, TN2087),
        inner=(),
        misses=Figure(1, "IBM 740/750 datasheet: one outstanding miss"),
        stores=Figure(3, f"{UM750}, 287-289: store queue"),
        after_store=guess(2, "a load that aliases a store waits for it"),
        partial=guess(4, "a load wider than its store"),
        split=Figure(8, f"{DS7450}: misaligned, a cycle more, as on the 7400"),
        streams=Figure(0, f"{UM750}: none"),
    ),
    waiting=frozenset({"sync", "isync"}),
)

_CALLED = ("740/750", "745/755", "750CX", "750CXe", "750CL", "750FX", "750GX")
CPU = dispatched("750", "750, G3", frozenset({GRAPHICS, OLD}), FETCH, PIPELINE, IN_LINES, _CALLED)
