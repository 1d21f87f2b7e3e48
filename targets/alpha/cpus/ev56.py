"""The 21164A: a 21164 with byte and word instructions."""

from __future__ import annotations

from dataclasses import replace

from rewriter.core.target.cpu import Figure, Sched
from targets.alpha.cpus import ev5
from targets.alpha.cpus.sources import extended, in_order

_GCC_SHIFT = "gcc config/alpha/alpha.md: a sign extension is a shift"

PIPELINE = replace(
    ev5.PIPELINE, classes=extended(ev5.CLASSES, sext=Sched(("E0",), Figure(1, _GCC_SHIFT)))
)

CPU = in_order("ev56", "21164A", frozenset({"BWX"}), ev5.FETCH, PIPELINE, "EV56")
