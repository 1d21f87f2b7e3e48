"""POWER4: groups of four instructions and a branch, one a cycle, to eight units.

Slots of a group are filled in program order.  What makes more than one internal operation is
cracked and takes two slots, or is microcoded and has a group for itself.
"""

from __future__ import annotations

from rewriter.core.target.cpu import Figure
from rewriter.core.target.dispatched_cpu import (
    Accesses,
    Banks,
    Dispatched,
    Fetching,
    Flight,
    Grouping,
    Queue,
)
from targets.ppc.cpus import classes as c
from targets.ppc.cpus.sources import (
    GCC,
    GCC4,
    IN_SECTORS,
    LECTURE,
    TN2087,
    apart,
    both,
    cache,
    dispatched,
    figures,
    guess,
    stores,
    tables,
    takes,
    then,
)
from targets.ppc.isa.features import GRAPHICS, SQRT, levels

FETCH = Figure(32, f"{LECTURE}: eight instructions of an aligned block")
_IU, _LSU, _FPU = "iu1|iu2", "lsu1|lsu2", "fpu1|fpu2"
_BOTH = both(_LSU, _IU)
_CRACKED_SHIFT = then(takes(_IU, 1, GCC4, cr=3), _IU, 1)
_STORE = apart(stores(_LSU, GCC4), _IU)

ROWS = (
    (f"{c.SIMPLE} {c.COUNT}", takes(_IU, 2, GCC4)),
    ("insert insert. insert64.", then(takes(_IU, 2, GCC4), _IU, 2)),
    ("cmp integer. add. logical.", takes(_IU, 2, GCC4, cr=3)),
    ("shift. shift-var. exts.", _CRACKED_SHIFT),
    ("load load-x", takes(_LSU, 4, GCC4)),
    ("load-ext load-ext-x", then(takes(_LSU, 2, GCC4), _IU, 3)),
    ("load-ext-u load-ext-ux", then(takes(_BOTH, 2, GCC4, base=2), _IU, 3)),
    ("load-u", takes(_BOTH, 4, GCC4, base=2)),
    ("load-ux", takes(_BOTH, 3, GCC4, base=2)),
    ("fpload", takes(_LSU, 6, GCC4)),
    ("fpload-u fpload-ux", takes(_BOTH, 6, GCC4, base=2)),
    ("store store-x", _STORE),
    ("store-u store-ux", apart(stores(_BOTH, GCC4, base=2), _IU)),
    ("fpstore", apart(stores(_LSU, GCC4), _FPU)),
    ("fpstore-u fpstore-ux", apart(stores(_BOTH, GCC4, base=2), _FPU)),
    ("load-many store-many", takes("lsu1", 64, "LLVM PPCScheduleG5.td", 64)),
    ("load_l store_c sync", takes("lsu1", 11, GCC4)),
    ("isync", takes("lsu1", 2, GCC4)),
    ("dcbt", stores(_LSU, GCC4)),
    ("dcbz dcbf", takes(_LSU, 3, "LLVM PPCScheduleG5.td")),
    ("icbi", takes(_LSU, 40, "LLVM PPCScheduleG5.td")),
    (c.BRANCHES, takes("bpu", 2, GCC4)),
    ("cr_logical", takes("cru", 2, GCC4)),
    ("cr_logical3", takes("cru", 4, GCC4, 2)),
    ("mfcr", takes("cru", 6, GCC4, 4)),
    ("mfcrf", takes("cru", 3, GCC4)),
    ("mtcr", takes("iu1", 4, GCC4)),
    ("mtjmpr mfjmpr", takes("bpu", 3, GCC4)),
    ("mtspr mfspr", takes("bpu", 8, "LLVM PPCScheduleG5.td")),
    ("mul", takes(_IU, 5, GCC4, 4)),
    ("mul.", takes(_IU, 5, GCC4, 4, cr=8)),
    ("mul-small", takes(_IU, 4, GCC4, 3)),
    ("mul64", takes(_IU, 7, GCC4, 6)),
    ("mul64.", takes(_IU, 7, GCC4, 6, cr=10)),
    ("div div.", takes("iu2", 36, GCC4, 35)),
    ("div64 div64.", takes("iu2", 68, GCC4, 67)),
    ("cntlz.", _CRACKED_SHIFT),
    ("fp fpsimple dmul", takes(_FPU, 6, GCC4)),
    ("fpcompare", takes(_FPU, 5, GCC4)),
    ("sdiv ddiv", takes(_FPU, 33, GCC4, 28)),
    ("ssqrt dsqrt", takes(_FPU, 40, GCC4, 35)),
)

_CRACKED = (
    "load-ext load-ext-x load-u store-u fpload-u fpload-ux fpstore-u fpstore-ux cr_logical3 "
    "shift. shift-var. exts. cntlz. mul. mul64. div div. div64 div64. insert insert. insert64."
)
_MICROCODED = "load-ext-u load-ext-ux load-ux store-ux mfcr load-many store-many"
_WHOLE = "load_l store_c sync isync"
_FIRST = "mfcrf mtcr cr_logical cr_logical3 mtjmpr mfjmpr mtspr mfspr div div. div64 div64."
_TO_REGISTER = frozenset({"jmpreg", "jmpreg-always", "jmpreg-sets"})

GROUPING = Grouping(
    places=Figure(4, f"{GCC4}: du1 to du4"),
    branches=Figure(1, f"{GCC4}: du5"),
    takes=figures(2, _CRACKED, f"{GCC}: is_cracked_insn; {GCC4}"),
    alone=frozenset(f"{_MICROCODED} {_WHOLE}".split()),
    first=frozenset(_FIRST.split()),
    last=frozenset(c.BRANCHES.split()),
    apart=((frozenset({"mtjmpr"}), _TO_REGISTER),),
    lanes={"lsu1": frozenset({0, 3}), "lsu2": frozenset({1, 2})},
)

QUEUES = (
    Queue(frozenset({"iu1", "iu2", "lsu1", "lsu2"}), guess(36, "four queues of nine")),
    Queue(frozenset({"fpu1", "fpu2"}), guess(20, "four queues of five")),
    Queue(frozenset({"bpu"}), guess(12, "branch queue")),
    Queue(frozenset({"cru"}), guess(10, "condition queue")),
)

PIPELINE = Dispatched(
    width=Figure(5, f"{GCC4}: four and a branch"),
    classes=c.table(*ROWS, without=f"{c.ALTIVEC} {c.VSX} {c.QUAD} {c.MMA}"),
    bypasses=(),
    grouping=GROUPING,
    queues=QUEUES,
    flight=Flight(
        completes=guess(1, "one group a cycle"), groups=Figure(20, f"{LECTURE}: groups in flight")
    ),
    issue=guess(1, "the issue queue's stage"),
    fetch=Fetching(
        width=Figure(8, f"{LECTURE}: fetch of eight"),
        buffer=guess(32, "instruction buffer"),
        taken=guess(1, "bubble after a taken branch"),
        indirect=guess(1, "bubble after a branch to a register"),
        mispredicted=Figure(12, f"{LECTURE}: least misprediction"),
        predictor=tables(16384, 1),
        return_stack=guess(16, "link stack"),
        targets=guess(32, "count cache"),
    ),
    memory=Accesses(
        icache=cache(64, 1, 128, 1, TN2087),
        dcache=cache(32, 2, 128, 4, TN2087),
        inner=(cache(1440, 9, 128, 12, LECTURE),),
        misses=Figure(8, f"{LECTURE}: outstanding misses of loads"),
        stores=guess(32, "store queue"),
        after_store=Figure(12, f"{GCC4}: store"),
        partial=Figure(26, f"{GCC}: rs6000_adjust_cost, 14 more for a load wider than its store"),
        split=guess(64, "crossing half a line"),
        streams=Figure(8, "gcc config/rs6000/rs6000.cc: power4_cost, streams"),
        through=Banks(
            number=Figure(3, f"{LECTURE}: three controllers of the second cache"),
            busy=guess(2, "cycles of a bank for a store"),
        ),
    ),
    waiting=frozenset({"sync", "isync"}),
)

FEATURES = frozenset({GRAPHICS, SQRT}) | levels("2.00")

_CALLED = ("POWER4", "POWER4+")
CPU = dispatched("power4", "POWER4", FEATURES, FETCH, PIPELINE, IN_SECTORS, _CALLED)
