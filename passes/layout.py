"""Blocks in the order in which control passes through them, as a profile counted it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from itertools import accumulate, pairwise

from passes.align import Code
from passes.lib.steps import Change, OwnPass, Steps
from passes.ordering.arranged import Arranged, arranged
from passes.ordering.chains import Chains
from passes.ordering.units import Units, Way
from rewriter.core.target.idioms import Inverting
from rewriter.core.target.protocol import Target

_WORTH, _WORTH_LITTLE = 6, 16
"""For each jump more that is executed so many transfers fewer are taken, or none is added: where
one of `_MUCH` goes of those in the function, and where fewer do."""

_MUCH = 8

_TRIES = 24
"""So often an order is looked for that has fewer new jumps, where there is no room for them."""


class ByProfile(OwnPass):
    """The way that is gone most often falls through; code where control never comes stands aside.

    Before    beq t0,seldom        After    bne t0,often          Or    (the loop's body)
              br often                      (seldom)                    bne t0,body
    Requires  Every way into the function known; a profile that counted both ways of its branches.
              Entries stay where they are; what is between load-locked and store-conditional moves
              as a whole.
    Proof     Both files are walked at once from every entry (`rewriter/verify/walk`): a branch
              with the opposite test leads to where the other went on, and goes on where it led.

    Exception ranges keep their sequence, and unwind rows where another one has no room in their
    entry: what they say is said of the same instructions.  Jumps that are new need room, which
    jumps that went and nops leave.
    """

    name = "layout"
    change = Change.PLACES

    def offered(self, target: Target) -> bool:
        """Where branches have an opposite."""
        return target.sequential is not None and target.sequential.inverting is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.orders()


def orders(
    code: Code,
    labels: Sequence[tuple[Hashable, Hashable]],
    pads: Collection[int],
    joined: Collection[int],
    known: Inverting,
) -> Iterator[Arranged]:
    """Orders in which control goes on elsewhere less often than now, the best first.

    `labels` say of each instruction how frames are found there, and where it throws to.  In the
    first order the sequence of the latter stays, in the others that of both; in the third nothing
    passes what stays, in the last one nothing leaves its run of one label.  `pads` are the
    addresses of landing pads, `joined` those behind which nothing else may come.
    """
    if not any(address in code.branches for address in code.places):
        return
    frames, ways = zip(*labels, strict=True)
    if len({*frames}) > 1:
        yield from _fitting(Units(code, labels, pads, joined, ways), known)
    yield from _fitting(Units(code, labels, pads, joined), known)
    parts = [*accumulate(n in code.staying for n in range(len(code.items)))]
    apart = [*zip(labels, parts, strict=True)]
    if parts[-1] > 1:
        yield from _fitting(Units(code, apart, pads, joined), known)
    runs = [0, *accumulate(before != behind for before, behind in pairwise(apart))]
    if runs[-1]:
        yield from _fitting(Units(code, runs, pads, joined), known)


def _fitting(units: Units, known: Inverting) -> Iterator[Arranged]:
    """The best order of units for which there is room, if it is better than theirs.

    Chains are made twice: by what ways save, and by how often they are gone.
    """
    expected, in_calls = units.expected(), units.expected_by_calls()
    often = [way._replace(saves=way.often) for way in expected.ways]
    all_ways = (expected.ways, often)
    found = [_improved(units, expected, in_calls, ways, known) for ways in all_ways]
    better = [one for one in found if one is not None]
    if better:
        yield min(better, key=lambda both: both[0])[1]


def _improved(
    units: Units, expected: Units, in_calls: Units, ways: Sequence[Way], known: Inverting
) -> tuple[int, Arranged] | None:
    """The order that chains of ways give, and what it costs, where it is better and fits.

    A jump more that is executed must be worth it, as often as it is expected `in_calls`.
    """
    before, kept = sum(expected.taken), set[int]()
    for _ in range(_TRIES):
        order = Chains(units, kept, ways).order()
        likely = arranged(expected, known, order)
        missing = _missing(units, likely.code)
        if missing:
            kept |= _cheapest(expected, order, likely.broken, missing)
        elif _too_dear(arranged(in_calls, known, order).jumped, before, before - likely.taken):
            kept |= _most_executed(likely)
        else:
            found, cost = arranged(units, known, order), likely.taken + likely.jumped
            is_better = cost < before and found.taken < sum(units.taken)
            return (cost, found) if is_better else None
    return None


def _too_dear(jumped: int, before: int, fewer: int) -> bool:
    """Whether so many jumps more are executed that the transfers that go are not worth them."""
    worth = _WORTH if fewer * _MUCH >= before else _WORTH_LITTLE
    return jumped * worth > max(fewer, 0)


def _most_executed(found: Arranged) -> set[int]:
    """Of units with a jump behind them that is new, the one where that is executed most."""
    return {max(found.broken, key=lambda unit: (found.broken[unit], -unit))}


def _missing(units: Units, code: Code) -> int:
    """For how many instructions of an order there is no room before what stays."""
    missing, rooms = 0, units.rooms
    starts = sorted({0, *code.staying})
    if len(starts) != len(rooms):
        return len(code.items)
    for (first, end), most in zip(pairwise([*starts, len(code.items)]), rooms, strict=True):
        missing += max(end - first - most, 0)
    return missing


def _cheapest(units: Units, order: Sequence[int], broken: Collection[int], many: int) -> set[int]:
    """Of units whose next one stands elsewhere, those where that gains least."""
    often = {(way.source, way.goal): way.often for way in units.ways}
    before = dict(zip(order[1:], order, strict=False))
    behind = dict(pairwise(order))

    def gain(unit: int) -> int:
        new = often.get((before.get(unit + 1, -1), unit + 1), 0)
        return new + often.get((unit, behind.get(unit, -1)), 0) - often.get((unit, unit + 1), 0)

    return set(sorted(broken, key=lambda unit: (gain(unit), unit))[:many])
