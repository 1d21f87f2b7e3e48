"""A chain that control goes round in begins where that is best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from passes.ordering.lines import Chain
from passes.ordering.units import Way


def turned(
    ways: Sequence[Way], chain: Chain, line: Sequence[Chain], kept: Collection[int]
) -> Chain:
    """The chain, begun where it loses least and others of the line can join it at both ends."""
    links, leaving, coming = Counter[tuple[int, int]](), Counter[int](), Counter[int]()
    inside = {*chain}
    heads, tails = {one[0] for one in line if one[0]}, {one[-1] for one in line}
    for way in ways:
        if way.source in inside and way.goal in inside:
            links[way[:2]] = max(way.saves, links[way[:2]])
        elif way.source in inside and way.goal in heads:
            leaving[way.source] = max(way.saves, leaving[way.source])
        elif way.goal in inside and way.source in tails:
            coming[way.goal] = max(way.saves, coming[way.goal])

    def gain(at: int) -> int:
        first, last = chain[at], chain[at - 1]
        return leaving[last] + coming[first] - links[last, first]

    starts = [at for at in range(len(chain)) if at == 0 or chain[at - 1] not in kept]
    best = max(starts, key=lambda at: (gain(at), -at))
    return (*chain[best:], *chain[:best])
