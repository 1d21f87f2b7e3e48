"""A list scheduler: one place after another gets the best instruction that may stand there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from passes.scheduling.dependence import Dependences
from rewriter.core.isa.instruction import Insn
from rewriter.timing.steady import Line, Slotted, Steady
from rewriter.timing.steady_node import Placed, Where

Order = tuple[int, ...]
"""For each place of a pass, in turn, the number of the instruction that stands there."""

Key = tuple[int, ...]
"""The least is chosen."""

Choose = Callable[[int, list[int]], int]
"""Given a place and the instructions that may stand there, one of them."""


@dataclass(frozen=True)
class Pass:
    """One pass of a loop, in its original order, nops that run included.

    `addresses` are its places; each of `runs` are places, by number, whose instructions may
    change with each other; `text` has what else shares fetch blocks with it; `devices` says that
    accesses may reach a device.
    """

    insns: tuple[Insn, ...]
    addresses: tuple[int, ...]
    accesses: tuple[Where | None, ...]
    runs: tuple[tuple[int, ...], ...]
    text: Mapping[int, Insn]
    devices: bool = False

    def placed(self, order: Sequence[int]) -> list[Placed]:
        """The instructions in an order, each at its place."""
        pairs = zip(self.addresses, order, strict=True)
        return [(at, self.insns[n], self.accesses[n]) for at, n in pairs]

    def cycles(self, order: Sequence[int], steady: Steady) -> Fraction:
        """What a pass costs in an order."""
        return steady.cycles(self.placed(order), self.standing(order))

    def standing(self, order: Sequence[int]) -> dict[int, Insn]:
        """By address, all that stands in the fetch blocks of the pass in an order."""
        pairs = zip(self.addresses, order, strict=True)
        return {**self.text, **{at: self.insns[n] for at, n in pairs}}

    def reordered(self, order: Sequence[int]) -> Pass:
        """The pass with this order as its original one."""
        insns = tuple(self.insns[n] for n in order)
        accesses = tuple(self.accesses[n] for n in order)
        return replace(self, insns=insns, accesses=accesses)

    @property
    def same(self) -> Order:
        """The original order."""
        return tuple(range(len(self.insns)))


def orders(
    loop: Pass, dependences: Dependences, steady: Steady, cycles: Fraction
) -> Iterator[Order]:
    """Some good orders of a pass that takes so many cycles now, each by another rule of choice."""
    heights = dependences.heights(int(cycles))
    line, slotted = steady.line(loop.placed(loop.same)), steady.slotted
    if line is not None:
        yield _in_order(loop, dependences, line, heights)
    if slotted is None:
        return
    halves = partial(_Halves, loop, slotted, steady.block)

    def soonest(wait: int, number: int) -> Key:
        return wait, -heights[number], number

    def highest(wait: int, number: int) -> Key:
        return -heights[number], number

    yield _balanced(loop, dependences, steady, halves(), soonest)
    yield _balanced(loop, dependences, steady, halves(), highest)


def _fill(loop: Pass, dependences: Dependences, choose: Choose) -> Order:
    """Gives each place an instruction, in turn."""
    before, left, done = dependences.before, dict[int, list[int]](), set[int]()
    for run in loop.runs:
        unplaced = list(run)
        left.update((place, unplaced) for place in run)
    order = []
    for place in range(len(loop.insns)):
        waiting = left.get(place, [place])
        number = choose(place, [n for n in waiting if before[n] <= done])
        waiting.remove(number)
        done.add(number)
        order.append(number)
    return tuple(order)


def _in_order(loop: Pass, dependences: Dependences, line: Line, heights: Sequence[int]) -> Order:
    """What can issue first goes first; among these, what most waits for."""
    pipeline = line.stepper()
    pipeline.loop()

    def choose(place: int, ready: list[int]) -> int:
        def key(number: int) -> Key:
            return pipeline.start(place, number), -heights[number], number

        number = min(ready, key=key)
        pipeline.put(place, number)
        return number

    return _fill(loop, dependences, choose)


def _balanced(
    loop: Pass,
    dependences: Dependences,
    steady: Steady,
    halves: _Halves,
    rule: Callable[[int, int], Key],
) -> Order:
    """As many for the upper as for the lower half in each fetch block; then by the rule.

    The rule is asked with the cycles for which an instruction's operands would keep it waiting if
    a block went through every cycle.
    """
    times = [0] * len(loop.insns)
    blocks = [address // steady.block for address in loop.addresses]

    def choose(place: int, ready: list[int]) -> int:
        block = blocks[place]

        def key(number: int) -> Key:
            return halves.over(block, number), *rule(max(0, times[number] - block), number)

        number = ready[0] if len(ready) == 1 else min(ready, key=key)
        halves.take(block, number)
        for after, took in dependences.results[number]:
            times[after] = max(times[after], max(block, times[number]) + took)
        return number

    return _fill(loop, dependences, choose)


class _Halves:
    """How many instructions of a fetch block go to each half whatever stands beside them."""

    def __init__(self, loop: Pass, slotted: Slotted, block: int) -> None:
        self._letters = [slotted.letter(insn) for insn in loop.insns]
        self._share = block // loop.insns[0].size // 2
        self._taken: dict[tuple[int, str], int] = {}
        moving = {place for run in loop.runs for place in run}
        for address, insn in loop.text.items():
            self._count(address // block, slotted.letter(insn))
        for place, address in enumerate(loop.addresses):
            if place not in moving:
                self._count(address // block, self._letters[place])
        self._moving = moving

    def _count(self, block: int, letter: str) -> None:
        self._taken[block, letter] = self._taken.get((block, letter), 0) + 1

    def over(self, block: int, number: int) -> int:
        """Whether one half of the block would get more than its share."""
        letter = self._letters[number]
        return int(letter != "E" and self._taken.get((block, letter), 0) >= self._share)

    def take(self, block: int, number: int) -> None:
        """An instruction is put there; one that stays was counted at once."""
        if number in self._moving:
            self._count(block, self._letters[number])
