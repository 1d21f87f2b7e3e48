"""The innermost loops of a text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rewriter.analysis.program import Program
from rewriter.core.code.listing import among
from rewriter.core.isa.instruction import BRANCHING


@dataclass(frozen=True)
class Loop:
    """From its first instruction to the last branch back to it, in addresses of the original."""

    head: int
    latch: int


def innermost(program: Program) -> dict[int, list[Loop]]:
    """Loops that contain no other, by the start of their function; ascending."""
    listing, graph = program.listing, program.graph
    going = listing.transfers[among(listing.flows[listing.transfers], BRANCHING)]
    latches = going[listing.targets[going] <= listing.addresses[going]]
    owners = graph.function_of[np.searchsorted(graph.first, latches, side="right") - 1]
    found: dict[int, dict[int, int]] = {}
    addresses, targets = listing.addresses[latches].tolist(), listing.targets[latches].tolist()
    for owner, latch, head in zip(owners.tolist(), addresses, targets, strict=True):
        if owner >= 0 and head in program.functions[owner]:
            heads = found.setdefault(program.functions[owner].start, {})
            heads[head] = max(latch, heads.get(head, 0))
    return {start: list(_without_inner(heads)) for start, heads in found.items()}


def _without_inner(heads: Mapping[int, int]) -> Iterator[Loop]:
    """A loop is not innermost if another is inside it; of two that overlap the first counts."""
    ordered = sorted(heads)
    end = -1
    for number, head in enumerate(ordered):
        latch = heads[head]
        inside = ordered[number + 1 : bisect_right(ordered, latch)]
        if head > end and not any(heads[other] <= latch for other in inside):
            yield Loop(head, latch)
            end = latch
