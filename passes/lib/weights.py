"""How often control comes to the instructions of a function: counted by a profile, or guessed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from rewriter.core.isa.instruction import AWAY, Flow, Insn
from rewriter.identify.profiles import Direction

_PASSES = 16
"""So often a loop is gone through for each time that it is entered."""

_MOST = 64
"""The weight of what is executed most in a function with counts."""

_ROUNDS = 4
"""So often counts are carried on from where they are known; a way of more jumps is not followed."""


@dataclass(frozen=True)
class Numbers:
    """Which of some instructions stands at an original address, or is the next that is left.

    The number is how many there are, where none is at it or behind it.
    """

    addresses: Sequence[int]
    numbers: Sequence[int]

    @classmethod
    def of(cls, items: Sequence[tuple[int, Insn]]) -> Numbers:
        """Those of instructions with their original addresses, in any order."""
        ordered = sorted(range(len(items)), key=lambda number: items[number][0])
        return cls([items[number][0] for number in ordered], [*ordered, len(items)])

    def __call__(self, address: int) -> int:
        """The number of the instruction at an address."""
        return self.numbers[bisect_left(self.addresses, address)]


class Weights(Protocol):
    """Whole numbers, of one measure for all instructions of a function."""

    counted: bool

    def entered(self, number: int) -> int:
        """How often control comes to an instruction by a branch or jump."""
        ...

    def passed(self, number: int) -> int:
        """How often control comes to it from the instruction before it."""
        ...


@dataclass(frozen=True)
class Guessed:
    """By where loops are: `heads` are those of short ones, by number."""

    heads: Collection[int]

    counted = False

    def entered(self, number: int) -> int:
        """Short loops are gone through often."""
        return _PASSES if number in self.heads else 1

    def passed(self, number: int) -> int:
        """Once: a nop that costs more is not asked for."""
        return 1


@dataclass(frozen=True)
class Counted:
    """By the counts of conditional branches at their original addresses.

    What comes to other instructions follows from these along the code, and over jumps.  Control
    comes to the first one `begun` times from outside.
    """

    items: Sequence[tuple[int, Insn]]
    branches: Mapping[int, Direction]
    begun: int = 0

    counted = True

    def entered(self, number: int) -> int:
        """By the branches and jumps that lead to it."""
        return self._scaled(self._arrivals[number])

    def passed(self, number: int) -> int:
        """By what comes to the instruction before it, without what leaves there."""
        return self._scaled(self._falls[number])

    def come(self, number: int) -> tuple[int, int]:
        """How often control comes to an instruction by a transfer, and from the one before it.

        As it was counted, not of a measure with others.
        """
        return self._arrivals[number], self._falls[number]

    def leaving(self, number: int) -> tuple[int, int]:
        """How often control leaves an instruction by a transfer, and how often it goes on behind.

        As it was counted, not of a measure with others.
        """
        address, insn = self.items[number]
        here = self._falls[number] + self._arrivals[number]
        if (known := self.branches.get(address)) is not None:
            here = known.executed
        taken = self._taken(number, here)
        return taken, 0 if insn.op.flow in AWAY else here - taken

    def from_start(self) -> Counted:
        """With what must come to the start: what the first branch counted and nothing led to."""
        come = 0
        for number, (address, insn) in enumerate(self.items):
            come += self._arrivals[number]
            if (known := self.branches.get(address)) is not None:
                return replace(self, begun=max(known.executed - come, 0))
            if insn.op.flow in AWAY:
                break
        return self

    def _scaled(self, count: int) -> int:
        return 1 + count * (_MOST - 1) // self._most

    @cached_property
    def _most(self) -> int:
        return max(*self._falls, *self._arrivals, 1)

    @property
    def _arrivals(self) -> Sequence[int]:
        return self._flow[0]

    @property
    def _falls(self) -> Sequence[int]:
        return self._flow[1]

    @cached_property
    def _flow(self) -> tuple[list[int], list[int]]:
        """By number: what comes by transfers, and what comes from the instruction before."""
        numbers, count = Numbers.of(self.items), len(self.items)
        arrivals = [0] * count
        falls = self._falling(arrivals)
        for _ in range(_ROUNDS):
            before, arrivals = arrivals, [0] * count
            for number, (address, insn) in enumerate(self.items):
                target = insn.target(address)
                at = numbers(target) if target is not None else count
                if at < count and numbers.addresses[0] <= (target or 0):
                    arrivals[at] += self._taken(number, before[number] + falls[number])
            falls = self._falling(arrivals)
        return arrivals, falls

    def _falling(self, arrivals: Sequence[int]) -> list[int]:
        """What comes to each instruction from the one before it, by what comes by transfers."""
        falls, here = [], self.begun
        for number, (address, insn) in enumerate(self.items):
            falls.append(here)
            here += arrivals[number]
            known = self.branches.get(address)
            if known is not None:
                here = known.executed
            here = 0 if insn.op.flow in AWAY else here - self._taken(number, here)
        return falls

    def _taken(self, number: int, here: int) -> int:
        """How often an instruction that control comes to `here` times leads elsewhere."""
        address, insn = self.items[number]
        known = self.branches.get(address)
        if known is not None:
            return known.held
        return here if insn.op.flow is Flow.JUMP else 0
