"""The superblocks of a real IA-64 file that may change."""

from __future__ import annotations

from collections.abc import Iterator

import targets
from fixtures.inputs import find
from rewriter.analysis.functions import find_functions
from rewriter.core.code.groups import Slot
from rewriter.elf import image


def superblocks(name: str, every: int = 1) -> Iterator[tuple[Slot, ...]]:
    """Those of one function in `every`."""
    loaded = image.load(find(name))
    target = targets.of(loaded).bundling
    assert target is not None
    functions = find_functions(loaded, target.described(loaded))
    code = target.code(loaded, functions)
    for function in functions[::every]:
        for region in code.routine(function).regions:
            if not region.reason:
                raw = loaded.read(region.start, region.end - region.start)
                yield tuple(target.straight(raw, region.start))
