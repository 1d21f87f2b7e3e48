"""A list scheduler for superblocks of a machine without bundles, with a model of the CPU as judge.

What leaves the code stays where it is, and so does all that is tied to its place: nothing passes
that.  An instruction with no effect but on registers passes a branch, down or up, where nothing
that it writes may be read when the branch is taken, and which every CPU has that runs the code: the
branch may ask for it.  Everything else keeps its side of a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from passes.scheduling.dependence import Straight, closed, is_chain
from rewriter.core.code.superblock import Superblock
from rewriter.core.isa.instruction import Flow
from rewriter.timing.steady import Line, Steady, Stepper, Times

LONGEST = 64
"""Instructions that are ordered at once: longer code is cut."""

Order = tuple[int, ...]
"""For each place, in turn, the number of the instruction that stands there."""

_Key = tuple[int, int, int]

_Rule = Callable[[list[int], Sequence[int]], list[int]]
"""Of those that may stand at a place, and the heights of all, those that are wanted most; what
issues first of them is chosen."""


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
    """A superblock to be put in order; `straight` is what ties its instructions to one another.

    Every CPU that runs it has `features`.
    """

    def __init__(
        self,
        block: Superblock,
        straight: Straight,
        ties: Ties,
        steady: Steady,
        features: frozenset[str],
    ) -> None:
        self.block, self.straight, self.ties, self.steady = block, straight, ties, steady
        self.features = features
        self.bonds, self.insns = straight.bonds, block.insns
        line = steady.line([*zip(block.addresses(), self.insns, straight.places, strict=True)])
        assert line is not None, "a window of instructions hides their order"
        self.line = line
        self._heights: list[int] = []

    @property
    def heights(self) -> list[int]:
        """Cycles that must follow each, at least, until the last result that waits for it."""
        if not self._heights:
            heights = [0] * len(self.insns)
            for number in range(len(heights) - 1, -1, -1):
                highest = 0
                for after, register in self.straight.readers[number]:
                    took = self.line.latency(number, after, register)
                    highest = max(highest, heights[after] + took)
                heights[number] = highest
            self._heights = heights
        return self._heights

    def times(self, order: Sequence[int]) -> list[Times]:
        """When each instruction issues and has its results in an order, by its original number."""
        found = self.line.times(order)
        return [found[place] for place in _inverse(order)]

    def ordered(self, order: Sequence[int]) -> Problem:
        """The same with the instructions in another order, at the same places."""
        block, pairs = self.block, zip(self.block.slots, order, strict=True)
        slots = tuple([replace(slot, insn=block.slots[n].insn) for slot, n in pairs])
        there = replace(block, slots=slots)
        tied = self.straight.reordered(order)
        return Problem(there, tied, self.ties, self.steady, self.features)


class Choice:
    """The orders that a superblock may have.

    `fixed` are the numbers of the instructions that keep their places; `ways` the branches that may
    be passed, and what may be read where they lead.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.bonds, kept = problem, problem.bonds, problem.ties.kept
        self._moving = problem.straight.moving
        for number in kept:
            self._moving &= ~(1 << number)
        self.fixed = [n for n in range(len(self.bonds)) if not self._moving >> n & 1]
        self.ways = dict[int, int]()
        for number, live in problem.block.leaving[:-1]:
            if problem.insns[number].op.flow is Flow.BRANCH and number not in kept:
                self.ways[number] = live
        self._before: list[int] = []

    @property
    def before(self) -> list[int]:
        """For each, as a mask, all that must stand before it."""
        if not self._before:
            self._before = closed(self._held())
        return self._before

    def _held(self) -> list[int]:
        """For each, as a mask, those that it must stand behind, perhaps through others."""
        found: list[int] = []
        exits: list[tuple[int, int]] = []
        cuts = self.problem.ties.cuts
        behind = 0  # of what nothing passes
        for number, needed in enumerate(self.problem.straight.before):
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
            elif not self._moving >> number & 1 and not self.bonds[number].is_nop:
                mask |= (1 << number) - 1
                behind = mask | 1 << number
            found.append(mask)
        return found

    def _passes(self, number: int, live: int) -> bool:
        """Whether an instruction may pass a branch behind which `live` may be read."""
        one = self.bonds[number]
        if one.needs and one.needs not in self.problem.features:
            return False
        stays = one.ordered if self.problem.straight.devices else one.accesses
        return bool(self._moving >> number & 1) and not (stays or one.written & live)

    @property
    def is_one(self) -> bool:
        """Whether those that may move wait for one another, so that there is one order only."""
        return is_chain(self._moving, self.before)

    def orders(self) -> Iterator[Order]:
        """Some good orders, each by another rule of choice."""
        yield self._filled(_any)
        yield self._filled(_highest)

    def _filled(self, rule: _Rule) -> Order:
        """Each place gets one of those that may stand there, the first to issue by a rule."""
        fed, before, heights = _Fed(self.problem.line), self.before, self.problem.heights
        left, done, order = self._moving, 0, list[int]()
        for place in range(len(before)):
            chosen = place
            if self._moving >> place & 1:
                ready = _ready(left & self._urgent(place, done), before, done)
                if len(ready) > 1:
                    ready = rule(ready, heights)
                chosen = ready[0]
                if len(ready) > 1:
                    keys = list[_Key]()
                    for number in ready:
                        keys.append((fed.start(order, number), -heights[number], number))
                    chosen = min(keys)[2]
                left &= ~(1 << chosen)
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


class _Fed:
    """A pipeline that is given the beginning of an order when it is asked what comes next."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._stepper: Stepper | None = None
        self._given = 0

    def start(self, order: Sequence[int], number: int) -> int:
        """When an instruction would issue behind the beginning of an order."""
        if self._stepper is None:
            self._stepper = self._line.stepper()
        for place in range(self._given, len(order)):
            self._stepper.put(place, order[place])
        self._given = len(order)
        return self._stepper.start(len(order), number)


def _any(ready: list[int], heights: Sequence[int]) -> list[int]:
    """All of them."""
    return ready


def _highest(ready: list[int], heights: Sequence[int]) -> list[int]:
    """Those for which most waits."""
    highest = max([heights[number] for number in ready])
    return [number for number in ready if heights[number] == highest]


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
        now = now.ordered(found.order)
        order = tuple([order[n] for n in found.order])
        before = best.before if best is not None else found.before
        best = Faster(now.block, order, before, found.after)
    return best


@dataclass(frozen=True)
class _Better:
    """An order, with the cycles to the last issue before and after."""

    order: Order
    before: int
    after: int


def _better(problem: Problem) -> _Better | None:
    same = tuple(range(len(problem.insns)))
    old = problem.times(same)
    first = min(issue for issue, _ in old)
    last = max(issue for issue, _ in old)
    if last - first <= problem.line.spread():
        return None
    if last - first <= max(problem.heights):
        return None  # results alone take so long
    choice = Choice(problem)
    if choice.is_one:
        return None
    seen = [same]
    for order in choice.orders():
        new = problem.times(order) if order not in seen else None
        seen.append(order)
        if new is not None and _pays(old, new, choice.ways):
            return _Better(order, last, max(i for i, _ in new))
    return None


def _pays(old: Sequence[Times], new: Sequence[Times], ways: Collection[int]) -> bool:
    """Whether times are better, and none is worse that something outside may wait for."""
    (before, done), (after, ready) = (
        (max(issue for issue, _ in times), max(end for _, end in times)) for times in (old, new)
    )
    late = any(new[number][0] > old[number][0] for number in ways)
    return after < before and ready <= done and not late
