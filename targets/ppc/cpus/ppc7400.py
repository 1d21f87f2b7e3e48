"""The 7400: a 750 with AltiVec and more misses under way."""

from __future__ import annotations

from dataclasses import replace

from rewriter.core.target.cpu import Counters, Figure
from rewriter.core.target.dispatched_cpu import Queue
from targets.ppc.cpus import classes as c
from targets.ppc.cpus import ppc750
from targets.ppc.cpus.sources import DS7450, GCC7XX, IN_LINES, dispatched, guess, stores, takes
from targets.ppc.isa.features import ALTIVEC, GRAPHICS, OLD

_SIMPLE, _PERMUTE = "valu", "vperm"
_BASE = ppc750.PIPELINE

CLASSES = c.table(
    *ppc750.ROWS,
    ("dmul", takes("fpu", 3, GCC7XX)),
    ("vecload", takes("lsu", 2, GCC7XX)),
    ("vecstore", stores("lsu", GCC7XX)),
    ("vecsimple veclogical veccmp", takes(_SIMPLE, 1, GCC7XX)),
    ("veccomplex vecfloat", takes(_SIMPLE, 4, GCC7XX)),
    ("vecperm", takes(_PERMUTE, 1, DS7450)),
    without=f"mul64 mul64. div64 div64. {c.VSX} {c.QUAD} {c.MMA}",
)

PIPELINE = replace(
    _BASE,
    classes=CLASSES,
    queues=(
        *_BASE.queues,
        Queue(frozenset({_SIMPLE}), guess(1, "one reservation station")),
        Queue(frozenset({_PERMUTE}), guess(1, "one reservation station")),
    ),
    flight=replace(_BASE.flight, instructions=guess(8, "completion queue")),
    fetch=replace(
        _BASE.fetch,
        taken=Figure(0, f"{DS7450}: taken branch, target cache hit"),
        mispredicted=Figure(3, f"{DS7450}: least misprediction of four cycles, one is the refetch"),
        predictor=Counters(Figure(512, DS7450), guess(2, "bits a counter")),
    ),
    memory=replace(_BASE.memory, misses=Figure(8, f"{DS7450}: data cache misses")),
)

_FEATURES = frozenset({GRAPHICS, OLD, ALTIVEC})
_CALLED = ("7400", "7410")
CPU = dispatched("7400", "7400, G4", _FEATURES, ppc750.FETCH, PIPELINE, IN_LINES, _CALLED)
