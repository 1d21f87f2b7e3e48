"""Packing: instructions with dependences into bundles, few of them and few cycles.

Of the texts that the search finds the best few are kept from bundle to bundle.  `fewest` is exact
and looks at bundles only: there a bundle may as well end with a stop, since that never takes a
place away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from targets.ia64.packing_nodes import (
    BUNDLE,
    CYCLE,
    STOP,
    Edges,
    Limit,
    Node,
    Packed,
    Ports,
    Problem,
)
from targets.ia64.packing_search import Search, Text


def pack(
    nodes: Sequence[Node],
    edges: Edges,
    ports: Ports,
    most: int,
    width: int,
    limit: Limit | None = None,
) -> Packed | None:
    """The best text of at most `most` bundles that a search of this width finds."""
    return lighter(Search(Problem(nodes, edges, limit), ports), most, width, _ANY)


_ANY = 1 << 30  # the weight of no text
_NODES, _TEXTS = 256, 64  # nodes that the texts kept have together, and texts at most


def best(search: Search, most: int, width: int, below: int) -> Packed | None:
    """The best text of at most `most` bundles found that weighs less than `below`.

    A narrow search comes first: most texts that it finds nothing can be better than.  Then more
    texts are kept than `width` says where they are short.
    """
    least = search.problem.least
    if below <= least:
        return None
    first = lighter(search, most, 1, below)
    if first is not None:
        if first.weight <= least:
            return first
        below = first.weight
    wider = min(_TEXTS, _NODES // len(search.problem.order))
    return lighter(search, most, max(width, wider), below) or first


def lighter(search: Search, most: int, width: int, below: int) -> Packed | None:
    """The best text of at most `most` bundles found that weighs less than `below`."""
    problem, every = search.problem, search.problem.every
    texts = [(0, search.start())]
    lightest: Text | None = None
    for count in range(1, most + 1):
        found: dict[tuple[int, int, int, int], tuple[int, int, Text]] = {}
        for least, text in texts:  # what it weighs at least
            # A bundle makes those that are left at most one fewer.
            fewest = count - 1 + problem.bundles(every & ~text.placed)
            room = (below - 1 - BUNDLE * fewest) // CYCLE
            for made in search.after(text, room):
                bundles = count + problem.bundles(every & ~made.placed)
                if bundles > most:
                    continue
                cycles = max(search.cycles(made), made.cycle + (bundles - count + 1) // 2)
                value = max(CYCLE * cycles + BUNDLE * bundles, least)
                if value >= below:
                    continue
                key = made.placed, made.group, made.cycle, made.issued
                if key not in found or value < found[key][0]:
                    found[key] = (value, -made.placed.bit_count(), made)
        texts = []
        for value, _, text in sorted(found.values(), key=_value):
            if value >= below:
                break
            if text.placed == every:
                lightest, below = text, value
                break
            if len(texts) < width:
                texts.append((value, text))
        if not texts:
            break
    return None if lightest is None else _packed(problem, lightest)


def _value(item: tuple[int, int, Text]) -> tuple[int, int]:
    return item[:2]


def fewest(nodes: Sequence[Node]) -> int:
    """The bundles that the nodes need at least, whatever the cycles: exact, for short texts."""
    problem = Problem(nodes, Edges((1 << len(nodes)) - 1, 0))
    reached, count = {0}, 0
    while problem.every not in reached:
        made = {after for text in reached for after in _fillings(problem, text)}
        reached = {text for text in made if not any(text & ~other == 0 for other in made - {text})}
        count += 1
    return count


def _fillings(problem: Problem, text: int) -> Iterator[int]:
    """The nodes placed after one more bundle, which begins and ends a group."""
    for shape in problem.shapes:
        texts = {(text, 0)}
        for _, allowed, _, ends in shape.steps:
            texts = {
                (placed | bit, 0 if ends else group | bit)
                for placed, group in texts
                for bit in _choices(problem, allowed, placed, group)
            }
        yield from (placed for placed, _ in texts)


def _choices(problem: Problem, allowed: int, placed: int, group: int) -> Iterator[int]:
    """Nodes that may be next, as bits; 0 if there is none: a nop never gains anything."""
    left = allowed & ~placed & ~(problem.first if group else 0)
    is_any = False
    while left:
        bit = left & -left
        left ^= bit
        number = bit.bit_length() - 1
        if not problem.before[number] & ~placed and not problem.apart[number] & group:
            is_any = True
            yield bit
    if not is_any:
        yield 0


def _packed(problem: Problem, text: Text) -> Packed:
    cycles = text.cycle + 1
    bundles: list[tuple[int, tuple[int, ...]]] = []
    opens = problem.leaves and not text.group & (~problem.leaves | problem.last)
    stop = not opens
    current: Text | None = text
    while current is not None and current.before is not None:
        code, numbers = current.bundle
        named = tuple(problem.order[n] if n >= 0 else -1 for n in numbers)
        bundles.append((code | STOP * stop, named))
        stop, current = current.stop, current.before
    return Packed(tuple(bundles[::-1]), cycles)
