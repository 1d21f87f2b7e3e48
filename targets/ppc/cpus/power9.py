"""POWER9: six instructions and two branches a cycle, in order, to four slices of units.

Two of the six dispatch ports are shared by the two slices of a half: what needs three operands
takes half of one beside its own port.  So places are counted in halves of a port.
"""

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
    GCC9,
    IN_SECTORS,
    P9,
    apart,
    both,
    dispatched,
    figures,
    guess,
    guessed_cache,
    stores,
    tables,
    takes,
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
_LSU, _VSU, _BRU = "ls0|ls1|ls2|ls3", "vs0|vs1|vs2|vs3", "br0"
_LS_PAIR = "ls0+ls1|ls1+ls2|ls2+ls3|ls3+ls0"
_SUPER = "vs0+vs1|vs2+vs3"
_UPDATE = both(_LSU, _VSU)
_DIVIDE = "div0|div1"

_ROWS = (
    (f"{c.SIMPLE}", takes(_VSU, 2, GCC9)),
    ("integer. add. logical. exts. insert. insert64. cmp", takes(_VSU, 2, GCC9)),
    ("shift. shift-var.", takes(_VSU, 2, GCC9)),
    (c.COUNT, takes(_VSU, 3, GCC9)),
    ("load load-x load_l", takes(_LSU, 4, GCC9)),
    ("load-u load-ux", takes(_UPDATE, 4, GCC9, base=2)),
    ("load-ext load-ext-x", takes(_LSU, 6, GCC9)),
    ("load-ext-u load-ext-ux", takes(_UPDATE, 6, GCC9, base=2)),
    ("fpload", takes(_LSU, 4, GCC9)),
    ("fpload-u fpload-ux", takes(_UPDATE, 4, GCC9, base=2)),
    ("vecload", takes(_LS_PAIR, 5, GCC9)),
    ("store store-x fpstore", apart(stores(_LSU, GCC9))),
    ("store-u store-ux fpstore-u fpstore-ux", apart(stores(_UPDATE, GCC9, base=2))),
    ("vecstore", apart(stores(_LS_PAIR, GCC9))),
    ("store_c", takes(_UPDATE, 2, GCC9)),
    ("load-many store-many", takes("ls0", 37, "LLVM PPCScheduleG4Plus.td", 37)),
    ("sync isync", takes(_LSU, 4, GCC9)),
    ("dcbt dcbz dcbf icbi", stores(_LSU, GCC9)),
    (c.BRANCHES, takes(_BRU, 2, GCC9)),
    ("cr_logical cr_logical3 mfcrf mtcr", takes(_VSU, 2, GCC9)),
    ("mfcr", takes(_VSU, 6, GCC9)),
    ("mtjmpr mtspr", takes(_VSU, 5, GCC9)),
    ("mfjmpr mfspr", takes(both(_BRU, _VSU), 6, GCC9)),
    ("mul mul. mul64 mul64. mul-small", takes(_VSU, 5, GCC9)),
    ("div div.", takes(_DIVIDE, 16, GCC9, 8)),
    ("div64 div64.", takes(_DIVIDE, 24, GCC9, 8)),
    ("fpsimple mtvsr mfvsr", takes(_VSU, 2, GCC9)),
    ("fp dmul", takes(_VSU, 5, GCC9)),
    ("fpcompare", takes(_VSU, 3, GCC9)),
    ("sdiv", takes(_VSU, 22, GCC9, 5)),
    ("ddiv", takes(_VSU, 27, GCC9, 8)),
    ("ssqrt", takes(_VSU, 26, GCC9, 5)),
    ("dsqrt", takes(_VSU, 36, GCC9, 10)),
    ("veclogical", takes(_SUPER, 2, GCC9)),
    ("veccmp vecsimple", takes(_SUPER, 3, GCC9)),
    ("vecfloat vecdouble veccomplex", takes(_SUPER, 7, GCC9)),
    ("vecperm", takes("pm0|pm1", 3, GCC9)),
    ("vecfdiv", takes(_SUPER, 24, GCC9, 8)),
    ("vecdiv", takes(_SUPER, 27, GCC9, 8)),
    ("vecquad", takes("dfu", 12, GCC9)),
    ("qmul", takes("dfu", 24, GCC9, 8)),
    ("dfp", takes("dfu", 12, GCC9)),
    ("crypto", takes("cy", 6, GCC9)),
    ("htm", takes(_LSU, 4, GCC9)),
)

_ANY, _SLICE, _PAIR, _PAIR_AND_HALF = 2, 3, 4, 5
_CONDITIONS = frozenset({"cr_logical", "cr_logical3", "mfcr", "mfcrf"})
_THREE_SOURCES = (
    "insert insert64 shift shift-var fpload store store-x fpstore mul mul64 mul-small fpsimple fp "
    "dmul fpcompare sdiv ddiv ssqrt dsqrt mtvsr mfvsr"
)
_CRACKED = "load-u load-ux load-ext load-ext-x htm"
_CRACKED_3 = (
    "fpload-u fpload-ux store-u store-ux fpstore-u fpstore-ux store_c insert. insert64. shift. "
    "shift-var. mul. mul64."
)
_EVEN = (
    "div div. div64 div64. dfp vecstore veclogical veccmp vecsimple vecfloat vecdouble veccomplex "
    "vecperm vecfdiv vecdiv vecquad qmul crypto"
)
_WHOLE = "load-ext-u load-ext-ux mfcr load-many store-many"


def _crossing(cycles: int, *names: str) -> Bypass:
    return Bypass(frozenset(names), _CONDITIONS, Figure(cycles, f"{GCC9}: condition"))


PIPELINE = Dispatched(
    width=Figure(8, f"{P9}: IssueWidth"),
    classes=c.table(*_ROWS, without=c.MMA),
    bypasses=(
        _crossing(5, "integer.", "add.", "logical.", "exts."),
        _crossing(7, "insert.", "insert64.", "shift.", "shift-var."),
        _crossing(6, "cntlz."),
        _crossing(10, "mul.", "mul64."),
    ),
    grouping=Grouping(
        places=Figure(12, f"{GCC9}: x0 to x3, xa and xb, counted in halves"),
        branches=Figure(2, f"{GCC9}: br0 and br1"),
        takes={
            **figures(_ANY, " ".join(c.NAMES), f"{GCC9}: DU_any"),
            **figures(_SLICE, _THREE_SOURCES, f"{GCC9}: DU_slice_3"),
            **figures(_PAIR, f"{_CRACKED} {_EVEN}", f"{GCC9}: DU_C2, DU_super, DU_even"),
            **figures(_PAIR_AND_HALF, _CRACKED_3, f"{GCC9}: DU_C2_3"),
        },
        alone=frozenset(_WHOLE.split()),
    ),
    queues=(
        Queue(
            frozenset(pipe for port in (_LSU, _VSU) for pipe in port.split("|")),
            Figure(44, f"{P9}: four queues of eleven"),
        ),
    ),
    flight=Flight(completes=guess(64, "a cycle"), instructions=guess(256, "completion table")),
    issue=guess(1, "the issue queue's stage"),
    fetch=Fetching(
        width=Figure(8, f"{P9}: fetched a cycle"),
        buffer=guess(32, "instruction buffer"),
        taken=guess(1, "bubble after a taken branch"),
        indirect=guess(1, "bubble after a branch to a register"),
        mispredicted=Figure(16, f"{P9}: MispredictPenalty"),
        predictor=tables(16384, 2),
        return_stack=guess(32, "link stack"),
        targets=guess(256, "count cache"),
    ),
    memory=Accesses(
        icache=guessed_cache(32, 8, 128, 1),
        dcache=guessed_cache(32, 8, 128, 4),
        inner=(guessed_cache(512, 8, 128, 14),),
        misses=guess(16, "misses of loads outstanding"),
        stores=guess(40, "store queue"),
        after_store=Figure(6, f"{GCC9}: store-forwarding latency"),
        partial=guess(20, "a load wider than its store"),
        split=guess(64, "crossing half a line"),
        streams=Figure(8, f"{COSTS}: power9_cost, streams"),
    ),
    waiting=frozenset({"sync", "isync"}),
)

FEATURES = frozenset({GRAPHICS, SQRT, ALTIVEC, VSX, DFP, ISEL, ICACHE_SNOOP, TM}) | levels("3.0B")

_CALLED = ("POWER9",)
CPU = dispatched("power9", "POWER9", FEATURES, FETCH, PIPELINE, IN_SECTORS, _CALLED)
