"""What a loop that flushes is: one register that walks, and a counter.

    again:  dcbst 0,r3        a round: blocks that are flushed at a distance from where the round
            addi  r3,r3,32    began, steps of registers, and a branch that counts down
            bdnz  again

A loop that was unrolled has more rounds, each but the last with a branch out of the loop where
nothing is left to count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rewriter.core.code.listing import FLOW_CODE, Listing
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.idioms import Flushing
from rewriter.core.target.protocol import Sequential

Place = tuple[int, int]
"""A register as it was when the loop's first round began, and a distance from it."""


@dataclass(frozen=True)
class Round:
    """Distances from the walking register at which blocks are flushed; registers afterwards."""

    flushed: tuple[int, ...]
    left: Mapping[int, Place]


@dataclass(frozen=True)
class FlushLoop:
    """A loop at some positions of a listing, the branch back included.

    All its rounds flush with rows of one `name`, at distances from the register `walker`.
    """

    places: range
    head: int
    end: int
    name: str
    walker: int
    rounds: tuple[Round, ...]

    @property
    def step(self) -> int:
        """How far the register walks in the first round."""
        return self.rounds[0].left[self.walker][1]


def flush_loops(
    listing: Listing, function: Function, target: Sequential, known: Flushing
) -> Iterator[FlushLoop]:
    """The loops of a function that flush, by ascending address."""
    first, last = listing.span(function.start, function.end)
    here = listing.flows[first:last] == FLOW_CODE[Flow.BRANCH]
    back = listing.targets[first:last] <= listing.addresses[first:last]
    for at in (np.flatnonzero(here & back) + first).tolist():
        head, insn = int(listing.targets[at]), listing.insn(at)
        if insn is None or not known.counts_down(insn) or head not in function:
            continue
        if listing.has(head):
            found = _read(listing, range(listing.index(head), at + 1), target, known)
            if found is not None:
                yield found


def _read(listing: Listing, places: range, target: Sequential, known: Flushing) -> FlushLoop | None:
    insns = [listing.insn(at) for at in places]
    end = int(listing.addresses[places[-1]]) + listing.table.size
    reader = _Reader(listing, target, known, end)
    for at, insn in zip(places, insns, strict=True):
        if insn is None or not reader.reads(insn, int(listing.addresses[at])):
            return None
    walkers = {root for root, _ in reader.flushed}
    if len(walkers) != 1 or len(reader.names) != 1 or reader.since:
        return None
    (walker,), (name,) = walkers, reader.names
    rounds = tuple(Round(tuple(far for _, far in one), left) for one, left in reader.rounds)
    if rounds[0].left.get(walker, (walker, 0))[0] != walker or walker not in rounds[0].left:
        return None
    return FlushLoop(places, int(listing.addresses[places[0]]), end, name, walker, rounds)


def stepped(left: dict[int, Place], insn: Insn, target: Sequential) -> bool:
    """Whether an instruction does nothing but a register's step, which is then in `left`."""
    linear = target.linear(insn)
    if linear is None:
        return False
    result, source, distance = linear
    root, far = left.get(source, (source, 0))
    left[result] = root, far + distance
    return True


class _Reader:
    """Instructions of a loop one after another: what they flush and leave in registers."""

    def __init__(self, listing: Listing, target: Sequential, known: Flushing, end: int) -> None:
        self.listing = listing
        self.target, self.known, self.end = target, known, end
        self.names: set[str] = set()
        self.flushed: list[Place] = []
        self.since: list[Place] = []
        self.rounds: list[tuple[Sequence[Place], Mapping[int, Place]]] = []
        self._left: dict[int, Place] = {}

    def reads(self, insn: Insn, address: int) -> bool:
        """Whether an instruction is one that such a loop has."""
        if self.target.is_nop(insn):
            return True
        register = self.known.flushed(insn)
        if register is not None:
            self._flushes(insn.name, register)
            return True
        down = self.known.counts_down(insn)
        if down is not None:
            return self._counts(down, insn.target(address), address)
        return stepped(self._left, insn, self.target)

    def _flushes(self, name: str, register: int) -> None:
        place = self._left.get(register, (register, 0))
        self.names.add(name)
        self.flushed.append(place)
        self.since.append(place)

    def _counts(self, down: bool, goal: int | None, address: int) -> bool:
        """A round's end: back to the loop's head where the loop ends, out of it before."""
        self.rounds.append((tuple(self.since), dict(self._left)))
        self.since = []
        last = address + self.target.table.size == self.end
        return last if down else not last and self._is_out(goal)

    def _is_out(self, goal: int | None) -> bool:
        """Whether a branch leads behind the loop, over nops at most."""
        if goal is None or goal < self.end:
            return False
        places = self.listing.span(self.end, goal)
        insns = self.listing.insns_at(*places)
        return all(insn is not None and self.target.is_nop(insn) for insn in insns)
