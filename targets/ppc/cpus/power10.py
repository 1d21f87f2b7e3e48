"""POWER10: eight instructions a cycle, in order, to four units, two for loads, two for stores."""

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
    GCC10,
    P10,
    SECTORS_ASSUMED,
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
from targets.ppc.isa.features import ALTIVEC, DFP, GRAPHICS, ICACHE_SNOOP, ISEL, SQRT, VSX, levels

FETCH = guess(32, "eight instructions of an aligned block")
_LU, _STU, _EXU = "ld0|ld1", "st0|st1", "ex0|ex1|ex2|ex3"
_UPDATE = both(_LU, _STU)

_ROWS = (
    (f"{c.SIMPLE} integer. add. logical. exts. cmp", takes(_EXU, 2, GCC10)),
    ("insert. insert64. shift. shift-var.", takes(_EXU, 3, GCC10)),
    (c.COUNT, takes(_EXU, 3, GCC10)),
    (f"{c.LOADS} load-ext load-ext-x vecload", takes(_LU, 4, GCC10)),
    (f"{c.LOADS_UPDATE} load-ext-u load-ext-ux", takes(_UPDATE, 4, GCC10, base=2)),
    ("fpload", takes(_LU, 4, GCC10)),
    ("fpload-u fpload-ux", takes(_UPDATE, 4, GCC10, base=2)),
    (f"{c.STORES} fpstore vecstore", apart(stores(_STU, GCC10))),
    (f"{c.STORES_UPDATE} fpstore-u fpstore-ux", apart(stores(_STU, GCC10, base=2))),
    ("load-many store-many", takes(_UPDATE, 37, "LLVM PPCScheduleG4Plus.td", 37)),
    ("sync isync", takes(_STU, 1, GCC10)),
    ("dcbt dcbz dcbf icbi", stores(_STU, GCC10)),
    (c.BRANCHES, takes("br0|br1", 2, P10)),
    ("cr_logical cr_logical3 mfcrf", takes(_EXU, 2, GCC10)),
    ("mfcr mtcr mtjmpr mtspr", takes(_EXU, 3, GCC10)),
    ("mfjmpr mfspr", takes(_EXU, 2, GCC10)),
    ("mul mul. mul64 mul64. mul-small", takes(_EXU, 5, GCC10)),
    ("div div. div64 div64.", takes(_EXU, 12, GCC10)),
    ("fpsimple fpcompare", takes(_EXU, 3, GCC10)),
    ("fp dmul vecfloat vecdouble", takes(_EXU, 5, GCC10)),
    ("sdiv", takes(_EXU, 22, GCC10)),
    ("ddiv", takes(_EXU, 27, GCC10)),
    ("ssqrt", takes(_EXU, 26, GCC10)),
    ("dsqrt", takes(_EXU, 36, GCC10)),
    ("veclogical vecsimple mtvsr mfvsr", takes(_EXU, 2, GCC10)),
    ("veccmp vecperm", takes(_EXU, 3, GCC10)),
    ("veccomplex crypto", takes(_EXU, 6, GCC10)),
    ("vecfdiv", takes(_EXU, 24, GCC10)),
    ("vecdiv", takes(_EXU, 27, GCC10)),
    ("vecquad dfp", takes(_EXU, 12, GCC10)),
    ("qmul", takes(_EXU, 24, GCC10)),
    ("htm", takes(_LU, 4, GCC10)),
    ("mma mma-p", takes("mm0|mm1", 10, P10)),
    ("integer-p", takes(_EXU, 2, f"{GCC10}: paddi")),
    ("load-p load-ext-p fpload-p vecload-p", takes(_LU, 4, f"{GCC10}: prefixed-load")),
    ("store-p fpstore-p vecstore-p", apart(stores(_STU, f"{GCC10}: prefixed-store"))),
    ("load-many-p store-many-p", takes(_UPDATE, 37, "LLVM PPCScheduleG4Plus.td", 37)),
    ("vecperm-p", takes(_EXU, 3, GCC10)),
)

_CONDITIONS = frozenset({"cr_logical", "cr_logical3", "mfcr", "mfcrf"})
_PRODUCTS = frozenset({"mul", "mul.", "mul64", "mul64.", "mul-small"})
_PAIRED = (
    "load-u load-ux load-ext-u load-ext-ux fpload-u fpload-ux load-many store-many sync isync mul. "
    "mul64. div. div64. mfcr mma"
)


def _crossing(cycles: int, *names: str) -> Bypass:
    return Bypass(frozenset(names), _CONDITIONS, Figure(cycles, f"{GCC10}: condition"))


PIPELINE = Dispatched(
    width=Figure(8, f"{GCC10}: du0 to du7"),
    classes=c.table(*_ROWS),
    bypasses=(
        _crossing(4, "integer.", "add.", "logical.", "exts."),
        _crossing(5, "insert.", "insert64.", "shift.", "shift-var.", "cntlz."),
        Bypass(_PRODUCTS, _PRODUCTS, Figure(4, GCC10)),
        _crossing(7, "mul.", "mul64."),
        _crossing(14, "div.", "div64."),
    ),
    grouping=Grouping(
        places=Figure(8, f"{GCC10}: du0 to du7"),
        branches=Figure(0, f"{GCC10}: a branch takes any place"),
        takes=figures(2, f"{_PAIRED} {c.PREFIXED}", f"{GCC10}: DU_even"),
    ),
    queues=(
        Queue(
            frozenset(pipe for port in (_LU, _STU, _EXU) for pipe in port.split("|")),
            guess(96, "issue queues"),
        ),
    ),
    flight=Flight(completes=guess(64, "a cycle"), instructions=guess(512, "in flight")),
    issue=guess(1, "the issue queue's stage"),
    fetch=Fetching(
        width=guess(8, "fetched a cycle"),
        buffer=guess(64, "instruction buffer"),
        taken=guess(1, "bubble after a taken branch"),
        indirect=guess(1, "bubble after a branch to a register"),
        mispredicted=guess(16, "cycles after a wrong prediction, as on POWER9"),
        predictor=tables(16384, 2),
        return_stack=guess(32, "link stack"),
        targets=guess(256, "count cache"),
    ),
    memory=Accesses(
        icache=guessed_cache(48, 6, 128, 1),
        dcache=guessed_cache(32, 8, 128, 4),
        inner=(guessed_cache(1024, 8, 128, 14),),
        misses=guess(16, "misses of loads outstanding"),
        stores=guess(40, "store queue"),
        after_store=guess(6, "as on POWER9"),
        partial=guess(20, "a load wider than its store"),
        split=guess(64, "crossing half a line"),
        streams=guess(16, "streams"),
    ),
    waiting=frozenset({"sync", "isync"}),
)

FEATURES = frozenset({GRAPHICS, SQRT, ALTIVEC, VSX, DFP, ISEL, ICACHE_SNOOP}) | levels("3.1")

_CALLED = ("POWER10",)
CPU = dispatched("power10", "POWER10", FEATURES, FETCH, PIPELINE, SECTORS_ASSUMED, _CALLED)
