"""A list scheduler for superblocks of a machine without bundles, with a model of the CPU as judge.

What leaves the code stays where it is, and so does all that is tied to its place: nothing passes
that.  An instruction with no effect but on registers passes a branch, down or up, where nothing
that it writes may be read when the branch is taken.  Everything else keeps its side of a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from passes.scheduling.dependence import Edge, accesses, bonds, straight
from rewriter.core.code.superblock import Superblock
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.protocol import Sequential
from rewriter.timing.steady import Steady, Times
from rewriter.timing.steady_node import Placed

LONGEST = 64
"""Instructions that are ordered at once: longer code is cut."""

Order = tuple[int, ...]
"""For each place, in turn, the number of the instruction that stands there."""

_Key = tuple[int, int, int]

_Rule = Callable[[int, int, int], _Key]
"""By which one is chosen: of when it would issue, its height and its number."""


class Ties(Protocol):
    """What ties slots, by number, to their places; asked only where another order could gain.

    Those of `kept` stay, and nothing passes them but what may pass the exits among them; before
    those of `cuts` nothing passes either.
    """

    @property
    def kept(self) -> Collection[int]: ...
    @property
    def cuts(self) -> Collection[int]: ...


class Problem:
    """A superblock to be put in order.

    `fixed` are the numbers of the instructions that keep their places, `code` is what a model sees.
    What depends on what is found when it is asked for.
    """

    def __init__(
        self, block: Superblock, ties: Ties, target: Sequential, steady: Steady, devices: bool
    ) -> None:
        self.block, self.ties, self.target, self.steady = block, ties, target, steady
        self.devices = devices
        self.insns = block.insns
        self._bonds = [bonds(insn, target) for insn in self.insns]
        self.fixed = tuple(
            [
                n
                for n, one in enumerate(self._bonds)
                if not one.is_free or one.is_nop or n in ties.kept
            ]
        )
        places = accesses(self.insns, target)
        self.code: list[Placed] = list(zip(block.addresses(), self.insns, places, strict=True))
        self.ways = self._ways()
        self._moving = (1 << len(self.insns)) - 1
        for number in self.fixed:
            self._moving &= ~(1 << number)
        self._depends: tuple[list[int], list[list[Edge]]] | None = None
        self._before: list[int] = []
        self._heights: list[int] = []

    def _ways(self) -> dict[int, int]:
        """The branches that may be passed, and what may be read where they lead."""
        kept, found = self.ties.kept, dict[int, int]()
        for number, live in self.block.leaving[:-1]:
            if self.insns[number].op.flow is Flow.BRANCH and number not in kept:
                found[number] = live
        return found

    def _dependences(self) -> tuple[list[int], list[list[Edge]]]:
        """For each, as a mask, those whose results it waits for, or that it must stand behind; and
        those that read what it makes, with the cycles that takes."""
        known = self._depends
        if known is None:
            where = [place for _, _, place in self.code]
            before, results, _ = straight(self.insns, where, self.target, self.steady, self.devices)
            known = self._depends = before, results
        return known

    @property
    def before(self) -> list[int]:
        """For each, as a mask, all that must stand before it."""
        if not self._before:
            found: list[int] = []
            for needed in self._held():
                mask = needed
                while needed:
                    low = needed & -needed
                    mask |= found[low.bit_length() - 1]
                    needed ^= low
                found.append(mask)
            self._before = found
        return self._before

    def _held(self) -> list[int]:
        """For each, as a mask, those that it must stand behind, perhaps through others."""
        found: list[int] = []
        exits: list[tuple[int, int]] = []
        cuts = self.ties.cuts
        behind = 0  # of what nothing passes
        for number, needed in enumerate(self._dependences()[0]):
            mask = behind | needed
            if number in cuts:
                mask |= (1 << number) - 1
                behind = mask
            for exit_, live in exits:
                if not self._passes(number, live):
                    mask |= 1 << exit_
            if number in self.ways:
                live = self.ways[number]
                for earlier in range(number):
                    if not self._passes(earlier, live):
                        mask |= 1 << earlier
                exits.append((number, live))
            elif not self._moving >> number & 1 and not self._bonds[number].is_nop:
                mask |= (1 << number) - 1
                behind = mask | 1 << number
            found.append(mask)
        return found

    def _passes(self, number: int, live: int) -> bool:
        """Whether an instruction may pass a branch behind which `live` may be read."""
        one = self._bonds[number]
        return bool(self._moving >> number & 1) and not (one.accesses or one.written & live)

    @property
    def heights(self) -> list[int]:
        """Cycles that must follow each, at least, until the last result that waits for it."""
        if not self._heights:
            results = self._dependences()[1]
            heights = [0] * len(self.insns)
            for number in range(len(heights) - 1, -1, -1):
                highest = 0
                for after, took in results[number]:
                    highest = max(highest, heights[after] + took)
                heights[number] = highest
            self._heights = heights
        return self._heights

    @property
    def is_chain(self) -> bool:
        """Whether those that may move wait for one another, so that there is one order only."""
        before, last = self.before, -1
        for number in range(len(self.insns)):
            if self._moving >> number & 1:
                if last >= 0 and not before[number] >> last & 1:
                    return False
                last = number
        return True

    def times(self, order: Sequence[int]) -> list[Times] | None:
        """When each instruction issues and has its results in an order, by its original number."""
        code = self.code
        moved = [(code[at][0], code[n][1], code[n][2]) for at, n in enumerate(order)]
        found = self.steady.once(moved)
        return None if found is None else [found[place] for place in _inverse(order)]

    def orders(self) -> Iterator[Order]:
        """Some good orders, each by another rule of choice."""
        yield self._filled(_soonest)
        yield self._filled(_highest)

    def _filled(self, key: _Rule) -> Order:
        """Each place gets one of those that may stand there, that with the least key."""
        stepper = self.steady.stepper()
        assert stepper is not None
        nodes, before, heights = self.steady.nodes(self.code), self.before, self.heights
        left, done, order = self._moving, 0, list[int]()
        for place in range(len(self.insns)):
            chosen = place
            if self._moving >> place & 1:
                ready = _ready(left & self._urgent(place, done), before, done)
                chosen = ready[0]
                if len(ready) > 1:
                    block, keys = nodes[place][0], list[_Key]()
                    for number in ready:
                        start = stepper.start(block, nodes[number][1], nodes[number][2])
                        keys.append(key(start, heights[number], number))
                    chosen = min(keys)[2]
                left &= ~(1 << chosen)
            stepper.put(nodes[place][0], nodes[chosen][1], nodes[chosen][2])
            done |= 1 << chosen
            order.append(chosen)
        return tuple(order)

    def _urgent(self, place: int, done: int) -> int:
        """Of what may stand at a place only what a later one needs, where else it would not fit."""
        wanted, free_before = -1, 0
        last = place
        for number in self.fixed:
            if number < place:
                continue
            free_before += number - last
            last = number + 1
            needed = self.before[number] & ~done & self._moving
            if needed.bit_count() >= free_before:
                wanted &= needed
        return wanted


def _soonest(start: int, height: int, number: int) -> _Key:
    """What would issue first."""
    return start, -height, number


def _highest(start: int, height: int, number: int) -> _Key:
    """That for which most waits."""
    return -height, start, number


def _ready(wanted: int, before: Sequence[int], done: int) -> list[int]:
    """Of those in a mask the numbers of those before which all must stand that is done."""
    found: list[int] = []
    while wanted:
        low = wanted & -wanted
        number = low.bit_length() - 1
        if not before[number] & ~done:
            found.append(number)
        wanted ^= low
    return found


def _inverse(order: Sequence[int]) -> list[int]:
    """For each number the place at which it stands."""
    places = [0] * len(order)
    for place, number in enumerate(order):
        places[number] = place
    return places


@dataclass(frozen=True)
class Faster:
    """A superblock in a better order, with the cycles from its entry to its last issue."""

    block: Superblock
    order: Order
    before: int
    after: int


def faster(problem: Problem) -> Faster | None:
    """A superblock in an order that the model finds faster, if one is found.

    Its last instruction issues earlier, no branch issues later, and the last result is there no
    later.  What was found is looked at again until nothing more is.
    """
    best: Faster | None = None
    order: Order = tuple(range(len(problem.insns)))
    now = problem
    while (found := _better(now)) is not None:
        order = tuple(order[n] for n in found.order)
        best = replace(found, order=order, before=best.before if best else found.before)
        now = Problem(found.block, problem.ties, problem.target, problem.steady, problem.devices)
    return best


def _better(problem: Problem) -> Faster | None:
    same = tuple(range(len(problem.insns)))
    if len(problem.insns) - len(problem.fixed) < 2:
        return None
    old = problem.times(same)
    if old is None:
        return None
    first = min(issue for issue, _ in old)
    last = max(issue for issue, _ in old)
    if last - first <= problem.steady.spread(problem.code):
        return None
    if last - first <= max(problem.heights):
        return None  # results alone take so long
    if problem.is_chain:
        return None
    seen = [same]
    for order in problem.orders():
        new = problem.times(order) if order not in seen else None
        seen.append(order)
        if new is not None and _pays(old, new, problem.ways):
            return Faster(_in_order(problem.block, order), order, last, max(i for i, _ in new))
    return None


def _pays(old: Sequence[Times], new: Sequence[Times], ways: Collection[int]) -> bool:
    """Whether times are better, and none is worse that something outside may wait for."""
    (before, done), (after, ready) = (
        (max(issue for issue, _ in times), max(end for _, end in times)) for times in (old, new)
    )
    late = any(new[number][0] > old[number][0] for number in ways)
    return after < before and ready <= done and not late


def _in_order(block: Superblock, order: Sequence[int]) -> Superblock:
    """A superblock with its instructions in another order, at the same places."""
    pairs = zip(block.slots, order, strict=True)
    return replace(block, slots=tuple(replace(slot, insn=block.slots[n].insn) for slot, n in pairs))
