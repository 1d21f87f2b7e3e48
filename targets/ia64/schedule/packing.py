"""Packing: instructions with dependences into bundles, few of them and few cycles.

Of the texts that the search finds the best few are kept from bundle to bundle.  `fewest` is exact
and looks at bundles only: there a bundle may as well end with a stop, since that never takes a
place away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from targets.ia64.schedule.nodes import (
    BUNDLE,
    CYCLE,
    Edges,
    Limit,
    Node,
    Packed,
    Problem,
)
from targets.ia64.schedule.ports import Ports
from targets.ia64.schedule.search import Bundle, Search, State, Text
from targets.ia64.schedule.shapes import STOP, TREE, Branching


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
_NODES, _TEXTS = 192, 12  # nodes that the texts kept have together, and texts at most


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
    problem = search.problem
    every, bundles_of = problem.every, problem.bundles
    texts = [(0, search.start())]
    lightest: Text | None = None
    for count in range(1, most + 1):
        found: dict[tuple[int, int, int, int], _Found] = {}
        for least, text in texts:  # what it weighs at least
            # A bundle makes those that are left at most one fewer.
            fewest = count - 1 + bundles_of(every & ~text.state[0])
            room = (below - 1 - BUNDLE * fewest) // CYCLE
            for stop, filled in search.after(text, room):
                for state, bundle in filled:
                    placed, group, avail, later, cycle, _, _, issued, _, _ = state
                    key = placed, group, cycle, issued
                    known = found.get(key)
                    if known is not None and known[0] <= least:
                        continue
                    bundles = count + bundles_of(every & ~placed)
                    if bundles > most:
                        continue
                    cycles, fetched = search.cycles(state), cycle + (bundles - count + 1) // 2
                    value = CYCLE * (cycles if cycles > fetched else fetched) + BUNDLE * bundles
                    value = value if value > least else least
                    if value < below and (known is None or value < known[0]):
                        reach = (placed | avail | later).bit_count()
                        found[key] = value, -reach, (state, text, bundle, stop)
        texts = []
        for value, _, made in sorted(found.values(), key=_value):
            if value >= below:
                break
            if made[0][0] == every:
                lightest, below = Text(*made), value
                break
            if len(texts) < width:
                texts.append((value, Text(*made)))
        if not texts:
            break
    return None if lightest is None else _packed(problem, lightest)


_Found = tuple[int, int, tuple[State, Text, Bundle, bool]]
"""What a text weighs at least, the nodes within its reach, negative, and its parts."""


def _value(item: _Found) -> tuple[int, int]:
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
    for place in TREE:
        yield from _filled(problem, place, text, 0)


def _filled(problem: Problem, place: Branching, placed: int, group: int) -> Iterator[int]:
    """The nodes placed when a slot and those behind it are filled."""
    _, allowed, ends, _, _, then = place
    for bit in set(_choices(problem, problem.begins[allowed], placed, group)):
        if not then:
            yield placed | bit
        for following in then:
            yield from _filled(problem, following, placed | bit, 0 if ends else group | bit)


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
    _, group, *_ = text.state
    cycles = text.state[4] + 1
    bundles: list[tuple[int, tuple[int, ...]]] = []
    opens = problem.leaves and not group & (~problem.leaves | problem.last)
    stop = not opens
    while text.before is not None:
        code, numbers = text.bundle
        named = tuple(problem.order[n] if n >= 0 else -1 for n in numbers)
        bundles.append((code | STOP * stop, named))
        stop, text = text.stop, text.before
    return Packed(tuple(bundles[::-1]), cycles)
