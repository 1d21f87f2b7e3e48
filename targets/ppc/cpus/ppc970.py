"""The 970: a POWER4 core with AltiVec and a cache of its own behind it."""

from __future__ import annotations

from dataclasses import replace

from rewriter.core.target.cpu import Bypass, Figure
from rewriter.core.target.dispatched_cpu import Banks, Queue
from targets.ppc.cpus import classes as c
from targets.ppc.cpus import power4
from targets.ppc.cpus.sources import (
    G5,
    GCC4,
    IN_SECTORS,
    TN2087,
    apart,
    cache,
    dispatched,
    guess,
    stores,
    takes,
)
from targets.ppc.isa.features import ALTIVEC, GRAPHICS, SQRT, levels

_ALU, _PERMUTE = "vec", "vperm"
_BASE = power4.PIPELINE
_SIMPLE = frozenset({"vecsimple", "veclogical"})
_PERMUTES, _COMPLEX = frozenset({"vecperm"}), frozenset({"veccomplex"})
_FLOAT, _STORE = frozenset({"vecfloat"}), frozenset({"vecstore"})

CLASSES = c.table(
    *power4.ROWS,
    ("vecload", takes("lsu1|lsu2", 6, GCC4)),
    ("vecstore", apart(stores("lsu1|lsu2", GCC4), _ALU)),
    ("vecsimple veclogical", takes(_ALU, 2, GCC4, cr=5)),
    ("veccomplex", takes(_ALU, 5, GCC4)),
    ("veccmp vecfloat", takes(_ALU, 8, GCC4)),
    ("vecperm", takes(_PERMUTE, 2, GCC4)),
    without=f"{c.VSX} {c.QUAD} {c.MMA}",
)

BYPASSES = (
    Bypass(frozenset({"vecload"}), _PERMUTES, Figure(4, GCC4)),
    Bypass(_SIMPLE, _PERMUTES, Figure(3, GCC4)),
    Bypass(_COMPLEX, _PERMUTES, Figure(6, GCC4)),
    Bypass(_PERMUTES, _SIMPLE | _COMPLEX | _FLOAT, Figure(3, GCC4)),
    Bypass(_FLOAT, _PERMUTES, Figure(9, GCC4)),
    Bypass(_SIMPLE | _PERMUTES, _STORE, Figure(4, GCC4)),
    Bypass(_COMPLEX, _STORE, Figure(7, GCC4)),
    Bypass(_FLOAT, _STORE, Figure(10, GCC4)),
)

_BANKS = Banks(
    number=guess(3, "banks of the second cache, as on the POWER4"),
    busy=guess(2, "cycles of a bank for a store, as on the POWER4"),
)
"""TN2087: stores go through the first cache."""

PIPELINE = replace(
    _BASE,
    classes=CLASSES,
    bypasses=BYPASSES,
    queues=(
        *_BASE.queues,
        Queue(frozenset({_ALU}), guess(20, "vector queue")),
        Queue(frozenset({_PERMUTE}), guess(16, "permute queue")),
    ),
    fetch=replace(_BASE.fetch, mispredicted=Figure(16, f"{G5}: MispredictPenalty")),
    memory=replace(_BASE.memory, inner=(cache(512, 8, 128, 12, TN2087),), through=_BANKS),
)

FEATURES = frozenset({GRAPHICS, SQRT, ALTIVEC}) | levels("2.01")

_CALLED = ("PPC970", "PPC970FX", "PPC970MP", "PPC970GX")
CPU = dispatched("970", "970, G5", FEATURES, power4.FETCH, PIPELINE, IN_SECTORS, _CALLED)
