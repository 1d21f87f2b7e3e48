"""A list scheduler for superblocks of a machine without bundles, with a model of the CPU as judge.

What leaves the code stays where it is, and so does all that is tied to its place: nothing passes
that.  An instruction with no effect but on registers passes a branch, down or up, where nothing
that it writes may be read when the branch is taken.  Everything else keeps its side of a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

from passes.scheduling.dependence import Edge, accesses, free, straight
from rewriter.core.code.superblock import Superblock
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.masks import bits
from rewriter.core.target.protocol import Sequential
from rewriter.timing.steady import Steady, Times
from rewriter.timing.steady_node import Placed

LONGEST = 64
"""Instructions that are ordered at once: longer code is cut."""

Order = tuple[int, ...]
"""For each place, in turn, the number of the instruction that stands there."""

_Key = tuple[int, ...]


class Ties(Protocol):
    """What ties slots, by number, to their places; asked only where another order could gain.

    Those of `kept` stay, and nothing passes them but what may pass the exits among them; before
    those of `cuts` nothing passes either.
    """

    @property
    def kept(self) -> Collection[int]: ...
    @property
    def cuts(self) -> Collection[int]: ...


@dataclass(frozen=True)
class Problem:
    """A superblock to be put in order."""

    block: Superblock
    ties: Ties
    target: Sequential
    steady: Steady
    devices: bool

    @cached_property
    def insns(self) -> tuple[Insn, ...]:
        """The instructions in their original order."""
        return self.block.insns

    @cached_property
    def fixed(self) -> tuple[int, ...]:
        """The numbers of those that keep their places."""
        ties = (not free(insn, self.target) for insn in self.insns)
        nops = map(self.target.is_nop, self.insns)
        return tuple(
            n
            for n, held in enumerate(zip(ties, nops, strict=True))
            if any(held) or n in self.ties.kept
        )

    @cached_property
    def code(self) -> list[Placed]:
        """The instructions as a model sees them."""
        places = accesses(self.insns, self.target)
        return list(zip(self.block.addresses(), self.insns, places, strict=True))

    @cached_property
    def results(self) -> Sequence[Sequence[Edge]]:
        """For each, those that read what it makes, with the cycles that takes."""
        return self._depends[1]

    @cached_property
    def _depends(self) -> tuple[Sequence[Collection[int]], Sequence[Sequence[Edge]]]:
        where = [place for _, _, place in self.code]
        return straight(self.insns, where, self.target, self.steady, self.devices)[:2]

    @cached_property
    def before(self) -> list[int]:
        """For each, as a mask, all that must stand before it."""
        found: list[int] = []
        for needed in self._held():
            mask = needed
            for number in bits(needed):
                mask |= found[number]
            found.append(mask)
        return found

    def _held(self) -> Iterator[int]:
        """For each, as a mask, those that it must stand behind, perhaps through others."""
        exits: list[tuple[int, int]] = []
        behind = 0  # of what nothing passes
        for number, needed in enumerate(self._depends[0]):
            insn = self.insns[number]
            mask = behind | sum(1 << n for n in needed)
            if number in self.ties.cuts:
                mask |= (1 << number) - 1
                behind = mask
            for exit_, live in exits:
                if not self._passes(number, live):
                    mask |= 1 << exit_
            if number in self.ways:
                live = self.ways[number]
                mask |= sum(1 << n for n in range(number) if not self._passes(n, live))
                exits.append((number, live))
            elif number in self.fixed and not self.target.is_nop(insn):
                mask |= (1 << number) - 1
                behind = mask | 1 << number
            yield mask

    @cached_property
    def ways(self) -> dict[int, int]:
        """The branches that may be passed, and what may be read where they lead."""
        leaving = self.block.leaving[:-1]
        flows = {n: self.insns[n].op.flow for n, _ in leaving}
        return {
            n: live for n, live in leaving if flows[n] is Flow.BRANCH and n not in self.ties.kept
        }

    def _passes(self, number: int, live: int) -> bool:
        """Whether an instruction may pass a branch behind which `live` may be read."""
        table, insn = self.target.table, self.insns[number]
        if number in self.fixed or table.accesses(insn):
            return False
        return not table.defs(insn) & live

    @cached_property
    def heights(self) -> list[int]:
        """Cycles that must follow each, at least, until the last result that waits for it."""
        heights = [0] * len(self.insns)
        for number in range(len(heights) - 1, -1, -1):
            heights[number] = max(
                (heights[n] + took for n, took in self.results[number]), default=0
            )
        return heights

    @property
    def is_chain(self) -> bool:
        """Whether those that may move wait for one another, so that there is one order only."""
        free = [n for n in range(len(self.insns)) if n not in self.fixed]
        return all(self.before[after] >> number & 1 for number, after in pairwise(free))

    def times(self, order: Sequence[int]) -> list[Times] | None:
        """When each instruction issues and has its results in an order, by its original number."""
        addresses = (address for address, _, _ in self.code)
        pairs = zip(addresses, order, strict=True)
        found = self.steady.once([(at, *self.code[n][1:]) for at, n in pairs])
        return None if found is None else [found[place] for place in _inverse(order)]

    def orders(self) -> Iterator[Order]:
        """Some good orders, each by another rule of choice."""
        yield self._filled(lambda start, number: (start, -self.heights[number], number))
        yield self._filled(lambda start, number: (-self.heights[number], start, number))

    def _filled(self, rule: Callable[[int, int], _Key]) -> Order:
        """Each place gets one of those that may stand there, by when they would issue."""
        stepper = self.steady.stepper()
        assert stepper is not None
        nodes, fixed = self.steady.nodes(self.code), set(self.fixed)
        places = [block for block, _, _ in nodes]
        left, done, order = (1 << len(self.insns)) - 1, 0, list[int]()
        for number in fixed:
            left &= ~(1 << number)
        for place in range(len(self.insns)):
            chosen = place
            if place not in fixed:
                wanted = left & self._urgent(place, done)
                ready = [n for n in bits(wanted) if not self.before[n] & ~done]
                block = places[place]
                chosen = min(ready, key=lambda n: rule(stepper.start(block, *nodes[n][1:]), n))
                left &= ~(1 << chosen)
            stepper.put(places[place], *nodes[chosen][1:])
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

    @cached_property
    def _moving(self) -> int:
        return ((1 << len(self.insns)) - 1) & ~sum(1 << n for n in self.fixed)


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
        now = replace(problem, block=found.block)
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
    for order in problem.orders():
        new = problem.times(order) if order != same else None
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
