"""POWER7: groups of four instructions and two branches, one a cycle, to twelve units."""

from __future__ import annotations

from rewriter.core.target.cpu import Bypass, Figure
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
    COSTS,
    GCC7,
    GROUPED_SECTORS,
    P7,
    apart,
    both,
    dispatched,
    figures,
    guess,
    guessed_cache,
    stores,
    tables,
    takes,
    then,
)
from targets.ppc.isa.features import ALTIVEC, DFP, GRAPHICS, ICACHE_SNOOP, ISEL, SQRT, VSX, levels

FETCH = guess(32, "eight instructions of an aligned block")
_FXU, _LSU, _VSU, _BRU = "fx1|fx2", "ls1|ls2", "vs1|vs2", "br"
_UPDATE = both(_LSU, _FXU)
_STORE = apart(stores(_LSU, GCC7), _FXU)

_ROWS = (
    (f"{c.SIMPLE} popcnt", takes(_FXU, 1, GCC7)),
    ("cntlz cntlz.", takes(_FXU, 2, GCC7)),
    ("cmp integer. add. logical. insert. insert64.", takes(_FXU, 1, GCC7)),
    ("shift. shift-var. exts.", then(takes(_FXU, 1, GCC7), _FXU, 1)),
    ("load load-x", takes(_LSU, 2, GCC7)),
    ("load-u load-ux", takes(_UPDATE, 2, GCC7, base=1)),
    ("load-ext load-ext-x", then(takes(_LSU, 2, GCC7), _FXU, 1)),
    ("load-ext-u load-ext-ux", then(takes(_UPDATE, 3, GCC7), _FXU, 1)),
    ("fpload vecload", takes(_LSU, 3, GCC7)),
    ("fpload-u fpload-ux", takes(_UPDATE, 3, GCC7, base=1)),
    ("store store-x", _STORE),
    ("store-u store-ux", apart(stores(_UPDATE, GCC7, base=1), _FXU)),
    ("fpstore", apart(stores(_LSU, GCC7), _VSU)),
    ("fpstore-u fpstore-ux", apart(stores(_UPDATE, GCC7, base=1), _VSU)),
    ("vecstore", apart(stores(_LSU, GCC7), "vs2")),
    ("load-many store-many", takes("ls1", 37, "LLVM PPCScheduleG4Plus.td", 37)),
    ("load_l", takes(_LSU, 3, GCC7)),
    ("store_c", takes(_LSU, 10, GCC7)),
    ("sync", takes(_LSU, 11, GCC7)),
    ("isync", takes(_FXU, 1, GCC7)),
    ("dcbt dcbz dcbf icbi", stores(_LSU, GCC7)),
    (c.BRANCHES, takes(_BRU, 3, GCC7)),
    ("cr_logical cr_logical3 mfcrf", takes("cr", 3, GCC7)),
    ("mfcr", takes("cr", 6, GCC7)),
    ("mtcr", takes(both("cr", _FXU), 3, GCC7)),
    ("mtjmpr mtspr", takes(_FXU, 4, GCC7)),
    ("mfjmpr mfspr", takes(both("cr", _FXU), 5, GCC7)),
    ("mul mul64 mul-small", takes(_FXU, 4, GCC7)),
    ("mul. mul64.", then(takes(_FXU, 1, GCC7), _FXU, 4)),
    ("div div.", takes(_FXU, 36, GCC7, 36)),
    ("div64 div64.", takes(_FXU, 68, GCC7, 68)),
    ("fp fpsimple dmul vecdouble dfp", takes(_VSU, 6, GCC7)),
    ("fpcompare", takes(_VSU, 8, GCC7)),
    ("sdiv", takes(_VSU, 27, GCC7)),
    ("ddiv", takes(_VSU, 33, GCC7)),
    ("ssqrt", takes(_VSU, 32, GCC7)),
    ("dsqrt", takes(_VSU, 44, GCC7)),
    ("vecsimple veclogical veccmp", takes("vs1", 2, GCC7)),
    ("vecfloat", takes("vs1", 6, GCC7)),
    ("veccomplex", takes("vs1", 7, GCC7)),
    ("vecperm", takes("vs2", 3, GCC7)),
    ("vecfdiv", takes(_VSU, 26, GCC7)),
    ("vecdiv", takes(_VSU, 32, GCC7)),
)

_COMPARES = frozenset({"cmp", "integer.", "add.", "logical.", "shift.", "shift-var.", "exts."})
_VECTORS = frozenset({"vecsimple", "veclogical", "veccmp", "veccomplex", "vecperm"})
_CRACKED = (
    "load-ext load-ext-x load-u load-ext-u fpload-u fpload-ux store-u shift. shift-var. exts. "
    "mul. mul64. div div. div64 div64."
)
_WHOLE = "load-ux load-ext-ux store-ux load_l store_c sync isync mtcr load-many store-many"
_FIRST = "mtjmpr mfjmpr mtspr mfspr cr_logical cr_logical3 mfcr mfcrf"

PIPELINE = Dispatched(
    width=Figure(6, f"{P7}: four and two branches"),
    classes=c.table(*_ROWS, without=f"mtvsr mfvsr crypto htm {c.QUAD} {c.MMA}"),
    bypasses=(
        Bypass(_COMPARES, frozenset({"cr_logical", "cr_logical3"}), Figure(3, GCC7)),
        Bypass(frozenset({"vecfloat", "vecdouble"}), _VECTORS, Figure(7, GCC7)),
    ),
    grouping=Grouping(
        places=Figure(4, f"{GCC7}: du1 to du4"),
        branches=Figure(1, f"{GCC7}: du5"),
        takes=figures(2, _CRACKED, GCC7),
        alone=frozenset(_WHOLE.split()),
        first=frozenset(f"{_FIRST} {_CRACKED}".split()),
        last=frozenset(c.BRANCHES.split()),
    ),
    queues=(Queue(frozenset({"fx1", "fx2", "ls1", "ls2", "vs1", "vs2"}), guess(48, "two of 24")),),
    flight=Flight(completes=guess(1, "one group a cycle"), groups=guess(20, "groups in flight")),
    issue=guess(1, "the issue queue's stage"),
    fetch=Fetching(
        width=guess(8, "fetched a cycle"),
        buffer=guess(32, "instruction buffer"),
        taken=guess(1, "bubble after a taken branch"),
        indirect=guess(1, "bubble after a branch to a register"),
        mispredicted=Figure(16, f"{P7}: MispredictPenalty"),
        predictor=tables(8192, 2),
        return_stack=guess(16, "link stack"),
        targets=guess(128, "count cache"),
    ),
    memory=Accesses(
        icache=guessed_cache(32, 4, 128, 1),
        dcache=guessed_cache(32, 8, 128, 2),
        inner=(guessed_cache(256, 8, 128, 8),),
        misses=guess(8, "misses of loads outstanding"),
        stores=guess(32, "store queue"),
        after_store=Figure(6, f"{GCC7}: store-forwarding latency"),
        partial=guess(20, "a load wider than its store"),
        split=guess(64, "crossing half a line"),
        streams=Figure(12, f"{COSTS}: power7_cost, streams"),
    ),
    waiting=frozenset({"sync", "isync"}),
)

FEATURES = frozenset({GRAPHICS, SQRT, ALTIVEC, VSX, DFP, ISEL, ICACHE_SNOOP}) | levels("2.06")

_CALLED = ("POWER7", "POWER7+")
CPU = dispatched("power7", "POWER7", FEATURES, FETCH, PIPELINE, GROUPED_SECTORS, _CALLED)
