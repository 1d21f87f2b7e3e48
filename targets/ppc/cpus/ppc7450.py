"""The 7450: three instructions a cycle in order to queues of eleven units."""

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
    AN2203,
    DS7450,
    G4PLUS,
    GCC7450,
    IN_LINES,
    TN2087,
    cache,
    dispatched,
    guess,
    stores,
    takes,
)
from targets.ppc.isa.features import ALTIVEC, GRAPHICS, OLD

FETCH = Figure(32, f"{AN2203}: fetch out of one cache block")
_IU, _MCIU, _LSU, _FPU, _BPU = "iu1|iu2|iu3", "mciu", "lsu", "fpu", "bpu"
_LOAD = takes(_LSU, 3, GCC7450, base=1)
_STORE = stores(_LSU, GCC7450, base=1)

CLASSES = c.table(
    (f"{c.SIMPLE} {c.COUNT}", takes(_IU, 1, GCC7450)),
    (f"{c.RECORDS} cmp cntlz.", takes(_IU, 1, GCC7450, cr=2)),
    (f"{c.LOADS} {c.LOADS_UPDATE} {c.LOADS_EXTEND} vecload", _LOAD),
    ("fpload fpload-u fpload-ux", takes(_LSU, 4, GCC7450, base=1)),
    (f"{c.STORES} {c.STORES_UPDATE} vecstore", _STORE),
    ("fpstore fpstore-u fpstore-ux", stores(_LSU, GCC7450, 3, base=1)),
    ("load-many store-many", takes(_LSU, 37, G4PLUS, 37)),
    ("load_l store_c", takes(_LSU, 3, GCC7450)),
    ("dcbt dcbz dcbf", stores(_LSU, G4PLUS)),
    ("icbi", takes(_LSU, 3, G4PLUS)),
    (c.BRANCHES, takes(_BPU, 1, GCC7450)),
    ("mfcr mfcrf mtcr", takes(_MCIU, 2, GCC7450)),
    ("cr_logical cr_logical3", takes(_MCIU, 1, GCC7450)),
    ("mtjmpr mtspr", takes(_MCIU, 2, GCC7450, 2)),
    ("mfjmpr", takes(_MCIU, 3, GCC7450, 2)),
    ("mfspr", takes(_MCIU, 4, G4PLUS, 2)),
    ("sync", takes(_LSU, 35, GCC7450)),
    ("isync", takes(_BPU, 1, GCC7450)),
    ("mul mul.", takes(_MCIU, 4, GCC7450, 2)),
    ("mul-small", takes(_MCIU, 3, GCC7450)),
    ("div div.", takes(_MCIU, 23, GCC7450, 23)),
    ("fp fpsimple dmul fpcompare", takes(_FPU, 5, GCC7450)),
    ("sdiv", takes(_FPU, 21, GCC7450, 21)),
    ("ddiv ssqrt dsqrt", takes(_FPU, 35, GCC7450, 35)),
    ("vecsimple veclogical", takes("viu1", 1, GCC7450)),
    ("veccomplex", takes("viu2", 4, GCC7450)),
    ("veccmp", takes("viu2", 2, GCC7450)),
    ("vecfloat", takes("vfpu", 4, GCC7450)),
    ("vecperm", takes("vpu", 2, GCC7450)),
    without=f"mul64 mul64. div64 div64. {c.VSX} {c.QUAD} {c.MMA}",
)

PIPELINE = Dispatched(
    width=Figure(4, f"{AN2203}: three and a branch"),
    classes=CLASSES,
    bypasses=(),
    grouping=Grouping(
        places=Figure(3, f"{AN2203}: dispatch of three"),
        branches=Figure(0, f"{AN2203}: a branch that is not folded takes a place"),
        takes={},
        folded=frozenset({"branch-always", "jmpreg-always"}),
    ),
    queues=(
        Queue(frozenset({"iu1", "iu2", "iu3", "mciu", "lsu"}), guess(6, "general issue queue")),
        Queue(frozenset({"fpu"}), guess(2, "floating-point issue queue")),
        Queue(frozenset({"viu1", "viu2", "vfpu", "vpu"}), guess(4, "vector issue queue")),
    ),
    flight=Flight(
        completes=Figure(3, f"{AN2203}: retires three"),
        instructions=Figure(16, f"{AN2203}: completion queue"),
    ),
    issue=guess(1, "the issue queue's stage"),
    fetch=Fetching(
        width=guess(4, "fetched a cycle"),
        buffer=guess(12, "instruction queue"),
        taken=Figure(1, f"{DS7450}: taken branch, target cache hit"),
        indirect=Figure(2, f"{AN2203}: bubbles of bclr and bcctr"),
        mispredicted=Figure(5, f"{DS7450}: least misprediction of six cycles, one is the refetch"),
        predictor=Counters(Figure(2048, DS7450), guess(2, "bits a counter")),
        return_stack=Figure(8, f"{DS7450}: link stack"),
        targets=guess(0, "none"),
    ),
    memory=Accesses(
        icache=cache(32, 8, 32, 1, TN2087),
        dcache=cache(32, 8, 32, 3, TN2087),
        inner=(cache(256, 8, 64, 9, f"{TN2087}; latency {DS7450}: 9 for data"),),
        misses=Figure(5, f"{DS7450}: load misses"),
        stores=guess(5, "finished and committed store queues"),
        after_store=Figure(3, f"{GCC7450}: store"),
        partial=guess(8, "a load wider than its store"),
        split=Figure(8, f"{AN2203}: crossing a doubleword; {DS7450}: a cycle more"),
        streams=Figure(0, f"{DS7450}: four streams, asked for by software (dst)"),
    ),
    waiting=frozenset({"sync", "isync"}),
)

_FEATURES = frozenset({GRAPHICS, OLD, ALTIVEC})
_CALLED = ("7450", "7455", "7447/7457", "7447A", "7448")
CPU = dispatched("7450", "7450, G4+", _FEATURES, FETCH, PIPELINE, IN_LINES, _CALLED)
