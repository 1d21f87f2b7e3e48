"""The 21264A: a 21264 with count instructions; the pipeline is the same."""

from __future__ import annotations

from targets.alpha.cpus import ev6
from targets.alpha.cpus.sources import out_of_order

_FEATURES = ev6.FEATURES | {"CIX"}
_CALLED = ("EV67", "EV68CB", "EV68AL", "EV68CX")
CPU = out_of_order("ev67", "21264A", _FEATURES, ev6.FETCH_BLOCK, ev6.PIPELINE, *_CALLED)
