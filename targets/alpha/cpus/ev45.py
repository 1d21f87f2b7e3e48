"""The 21064A: a 21064 with larger caches and two bits of branch history."""

from __future__ import annotations

from dataclasses import replace

from rewriter.core.target.cpu import Counters
from targets.alpha.cpus import ev4
from targets.alpha.cpus.sources import guess, in_order

PIPELINE = replace(
    ev4.PIPELINE,
    predictor=Counters(guess(4096, "counters"), guess(2, "bits a counter")),
    icache=ev4.cache(16),
    dcache=ev4.cache(16),
)

CPU = in_order("ev45", "21064A", frozenset(), ev4.FETCH, PIPELINE, "EV45")
