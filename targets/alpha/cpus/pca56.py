"""The 21164PC: a 21164A with multimedia instructions and no second-level cache on the chip."""

from __future__ import annotations

from dataclasses import replace

from rewriter.core.target.cpu import Figure, Sched
from targets.alpha.cpus import ev5, ev56
from targets.alpha.cpus.sources import GCC5, extended, guess, in_order

PIPELINE = replace(
    ev56.PIPELINE,
    classes=extended(ev56.PIPELINE.classes, imisc=Sched(("E0",), Figure(2, GCC5))),
    icache=replace(ev5.PIPELINE.icache, size=guess(16 * 1024, "instruction cache, bytes")),
    inner=(),
)

CPU = in_order("pca56", "21164PC", frozenset({"BWX", "MVI"}), ev5.FETCH, PIPELINE, "PCA56", "PCA57")
