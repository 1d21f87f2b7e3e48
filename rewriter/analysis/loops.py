"""The loops of a text: the innermost, and how many each block is in."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.program import Program
from rewriter.core.code.listing import among
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import BRANCHING
from rewriter.core.run.workers import Apart, each


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


_TOGETHER = 1500
"""Functions whose blocks one process looks at: of fewer others are not worth starting."""


def depths(program: Program, most: int = sys.maxsize, jobs: int = 1) -> NDArray[np.int64]:
    """How many natural loops each block of a text is in; loops with one head count as one.

    More than `most` are not all counted, which takes long where every jump may lead everywhere.
    The work is shared by `jobs` processes; the result is the same for any number.
    """
    functions, found = program.functions, np.zeros(len(program.graph.first), dtype=np.int64)
    parts = [functions[n : n + _TOGETHER] for n in range(0, len(functions), _TOGETHER)]
    for some in each(partial(_inside, program, most), parts, jobs, Apart()):
        found[list(some)] = list(some.values())
    return found


def _inside(program: Program, most: int, functions: Sequence[Function]) -> dict[int, int]:
    """Of the blocks of some functions those that are in loops, and in how many."""
    graph, found = program.graph, dict[int, int]()
    for function in functions:
        blocks = graph.blocks_of(function)
        after = graph.within(blocks)
        before: dict[int, list[int]] = {}
        for block, following in after.items():
            for one in following:
                before.setdefault(one, []).append(block)
        entries = {blocks.start, *(block for block in blocks if graph.entered[block])}
        for head, latches in retreating(after, entries).items():
            if found.get(head, 0) >= most:
                continue  # as many have all of this one in them
            body = loop_body(before, head, latches)
            if not entries & (body - {head}):
                for block in body:
                    found[block] = found.get(block, 0) + 1
    return found


def retreating(
    after: Mapping[int, Sequence[int]], entries: Collection[int]
) -> dict[int, list[int]]:
    """Edges to a block on the way to it, depth first from the entries: sources by target."""
    found: dict[int, list[int]] = {}
    seen: set[int] = set()
    for entry in sorted(entries):
        if entry in seen:
            continue
        seen.add(entry)
        way = {entry: iter(after.get(entry, ()))}
        while way:
            block, following = next(reversed(way.items()))
            one = next(following, None)
            if one is None:
                del way[block]
            elif one in way:
                found.setdefault(one, []).append(block)
            elif one not in seen:
                seen.add(one)
                way[one] = iter(after.get(one, ()))
    return found


def loop_body(before: Mapping[int, Sequence[int]], head: int, latches: Sequence[int]) -> set[int]:
    """All from which control comes to a latch without passing the head, and the head."""
    body, waiting = {head}, list(latches)
    while waiting:
        block = waiting.pop()
        if block not in body:
            body.add(block)
            waiting += before.get(block, ())
    return body
