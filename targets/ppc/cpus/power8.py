"""POWER8: groups of six instructions and a branch, one a cycle, to sixteen units."""

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
    GCC8,
    GROUPED_SECTORS,
    P8,
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
from targets.ppc.isa.features import (
    ALTIVEC,
    DFP,
    GRAPHICS,
    ICACHE_SNOOP,
    ISEL,
    SQRT,
    TM,
    VSX,
    levels,
)

FETCH = guess(32, "eight instructions of an aligned block")
_FXU, _LU, _LSU, _VSU = "fx0|fx1", "lu0|lu1", "ls0|ls1", "vs0|vs1"
_ANY = f"{_LU}|{_LSU}"
_UPDATE = both(_ANY, _FXU)
_STORE = both(_LSU, _LU)

_ROWS = (
    (f"{c.SIMPLE} insert. insert64.", takes(_FXU, 1, GCC8)),
    ("integer. add. logical. cmp", takes(_FXU, 1, GCC8, cr=2)),
    ("shift. shift-var. exts.", then(takes(_FXU, 1, GCC8), _FXU, 1)),
    ("cntlz cntlz. popcnt", takes(_FXU, 2, GCC8)),
    ("load load-x", takes(_ANY, 3, GCC8)),
    ("load-u load-ux", takes(_UPDATE, 3, GCC8, base=1)),
    ("load-ext load-ext-x", then(takes(_ANY, 2, GCC8), _FXU, 1)),
    ("load-ext-u load-ext-ux", then(takes(_UPDATE, 2, GCC8), _FXU, 1)),
    ("fpload vecload", takes(_LU, 5, GCC8)),
    ("fpload-u fpload-ux", takes(both(_LU, _FXU), 5, GCC8, base=1)),
    (f"{c.STORES} {c.STORES_UPDATE}", apart(stores(_LSU, GCC8, base=1), _LU)),
    ("fpstore fpstore-u fpstore-ux vecstore", apart(stores(_LSU, GCC8, base=1), _VSU)),
    ("load-many store-many", takes("ls0", 37, "LLVM PPCScheduleG4Plus.td", 37)),
    ("load_l", takes(_ANY, 3, GCC8)),
    ("store_c", takes(_STORE, 10, GCC8)),
    ("sync isync", takes(_LSU, 1, GCC8)),
    ("dcbt dcbz dcbf icbi", stores(_LSU, GCC8)),
    (c.BRANCHES, takes("br", 3, GCC8)),
    ("cr_logical cr_logical3 mfcrf", takes("cr", 3, GCC8)),
    ("mfcr", takes("cr", 5, GCC8)),
    ("mtcr", takes(_FXU, 3, GCC8)),
    ("mtjmpr mtspr", takes(_FXU, 5, GCC8)),
    ("mfjmpr mfspr", takes(both("cr", _FXU), 5, GCC8)),
    ("mul mul64 mul-small", takes(_FXU, 4, GCC8)),
    ("mul. mul64.", takes(_FXU, 4, GCC8, cr=7)),
    ("div div.", takes(_FXU, 37, GCC8, 37)),
    ("div64 div64.", takes(_FXU, 68, GCC8, 68)),
    ("fp fpsimple dmul vecfloat vecdouble", takes(_VSU, 6, GCC8)),
    ("fpcompare", takes(_VSU, 8, GCC8)),
    ("sdiv", takes(_VSU, 27, GCC8)),
    ("ddiv", takes(_VSU, 33, GCC8)),
    ("ssqrt", takes(_VSU, 32, GCC8)),
    ("dsqrt", takes(_VSU, 44, GCC8)),
    ("vecsimple veclogical veccmp vecperm", takes(_VSU, 2, GCC8)),
    ("veccomplex crypto", takes(_VSU, 7, GCC8)),
    ("vecfdiv", takes(_VSU, 25, GCC8)),
    ("vecdiv", takes(_VSU, 31, GCC8)),
    ("mfvsr", takes(_VSU, 5, GCC8)),
    ("mtvsr", takes(_VSU, 6, GCC8)),
    ("dfp", takes("vs0", 13, P8)),
    ("htm", takes(_LSU, 4, "gcc config/rs6000/power9.md")),
)

_ADDRESSES = (
    *(c.LOADS, c.LOADS_UPDATE, c.LOADS_EXTEND, c.STORES, c.STORES_UPDATE, c.FLOATING),
    "vecload vecstore",
)
_TO_UNITS = frozenset(" ".join(_ADDRESSES).split())
_CONDITIONS = frozenset({"cr_logical", "cr_logical3", "mfcr", "mfcrf", "branch", "jmpreg"})
_ONE = frozenset(f"{c.SIMPLE} insert. insert64.".split())
_RECORDS = frozenset({"integer.", "add.", "logical.", "shift.", "shift-var.", "exts."})
_PRODUCTS = frozenset({"mul", "mul64", "mul-small", "mul.", "mul64."})
_FLOATS = frozenset({"vecfloat", "vecdouble"})
_AFTER_FLOAT = frozenset(
    {"vecsimple", "veccomplex", "vecperm", "veccmp", "fpstore", "fpstore-u", "vecstore"}
)
_CRACKED = (
    "load-u load-ux load-ext load-ext-x fpload-u fpload-ux store-ux vecstore shift. shift-var. "
    "mul. mul64."
)
_WHOLE = "load-ext-u load-ext-ux load_l store_c sync isync mtcr mfcr load-many store-many"
_FIRST = "mtjmpr mfjmpr mtspr mfspr cr_logical cr_logical3 mfcrf"

PIPELINE = Dispatched(
    width=Figure(7, f"{GCC8}: six and a branch"),
    classes=c.table(*_ROWS, without=f"{c.QUAD} {c.MMA}"),
    bypasses=(
        Bypass(_ONE, _TO_UNITS, Figure(2, f"{GCC8}: to a load or store")),
        Bypass(_RECORDS, _TO_UNITS, Figure(3, f"{GCC8}: to a load or store")),
        Bypass(_PRODUCTS, _TO_UNITS, Figure(5, f"{GCC8}: to a load or store")),
        Bypass(_RECORDS, _CONDITIONS, Figure(5, f"{GCC8}: condition")),
        Bypass(_FLOATS, _AFTER_FLOAT, Figure(7, GCC8)),
    ),
    grouping=Grouping(
        places=Figure(6, f"{GCC8}: du0 to du5"),
        branches=Figure(1, f"{GCC8}: du6"),
        takes=figures(2, _CRACKED, GCC8),
        alone=frozenset(_WHOLE.split()),
        first=frozenset(f"{_FIRST} {_CRACKED}".split()),
        last=frozenset(c.BRANCHES.split()),
    ),
    queues=(
        Queue(
            frozenset({"fx0", "fx1", "lu0", "lu1", "ls0", "ls1", "vs0", "vs1"}),
            Figure(64, f"{P8}: MicroOpBufferSize"),
        ),
    ),
    flight=Flight(completes=guess(1, "one group a cycle"), groups=guess(28, "groups in flight")),
    issue=guess(1, "the issue queue's stage"),
    fetch=Fetching(
        width=guess(8, "fetched a cycle"),
        buffer=guess(32, "instruction buffer"),
        taken=guess(1, "bubble after a taken branch"),
        indirect=guess(1, "bubble after a branch to a register"),
        mispredicted=Figure(16, f"{P8}: MispredictPenalty"),
        predictor=tables(16384, 2),
        return_stack=guess(32, "link stack"),
        targets=guess(256, "count cache"),
    ),
    memory=Accesses(
        icache=guessed_cache(32, 8, 128, 1),
        dcache=guessed_cache(64, 8, 128, 3),
        inner=(guessed_cache(512, 8, 128, 12),),
        misses=guess(16, "misses of loads outstanding"),
        stores=guess(40, "store queue"),
        after_store=Figure(5, f"{GCC8}: store-forwarding latency"),
        partial=guess(20, "a load wider than its store"),
        split=guess(64, "crossing half a line"),
        streams=Figure(12, f"{COSTS}: power8_cost, streams"),
    ),
    waiting=frozenset({"sync", "isync"}),
)

FEATURES = frozenset({GRAPHICS, SQRT, ALTIVEC, VSX, DFP, ISEL, ICACHE_SNOOP, TM}) | levels("2.07")

_CALLED = ("POWER8", "POWER8E", "POWER8NVL")
CPU = dispatched("power8", "POWER8", FEATURES, FETCH, PIPELINE, GROUPED_SECTORS, _CALLED)
