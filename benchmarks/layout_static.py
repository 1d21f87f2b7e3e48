"""Orders of functions that a profile counted nothing in, by what their code alone says of branches.

Heuristics of Ball and Larus (Branch Prediction for Free, PLDI 1993): a branch back to a loop's head
is taken, a way out of a loop is not, nor one to a call or a return where the other way has none.
Before these, a way on which nothing but a landing pad, a trap or a function that does not return
is come to, is gone by nobody.  Their hit rates are joined as Wu and Larus do (Static Branch
Frequency and Program Profile Analysis, MICRO 1994).  Compilers predict by such rules, too, where
they lay code out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.layout_bound import Bound
from rewriter.analysis.loops import loop_body, retreating
from rewriter.analysis.program import Program
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import AWAY, CALLS, Flow
from rewriter.identify.profiles import Direction

_SCALE = 1000  # passes for each time that the function is called
_LOOP, _EXIT, _CALL, _RETURN, _COLD = 0.88, 0.80, 0.78, 0.72, 0.999  # of the likelier way


@dataclass(frozen=True)
class Predicted:
    """What is said of the branches of a function."""

    program: Program
    function: Function
    leaving: Collection[int]
    """The starts of functions that do not return."""

    @cached_property
    def blocks(self) -> range:
        """Its blocks."""
        return self.program.graph.blocks_of(self.function)

    @cached_property
    def after(self) -> Mapping[int, Sequence[int]]:
        """What follows each block."""
        return self.program.graph.within(self.blocks)

    @cached_property
    def shares(self) -> Mapping[int, float]:
        """Of each block that ends in a branch to another, how likely that is taken."""
        found = {}
        for block in self.blocks:
            goal = self._goal(block)
            if goal is not None and block + 1 in self.blocks:
                found[block] = self._share(block, goal)
        return found

    def directions(self) -> Mapping[int, Direction]:
        """How often each branch would then be executed and taken, for a number of calls."""
        often = self._frequencies()
        passes = {block: round(_SCALE * often[block - self.blocks.start]) for block in self.shares}
        return {
            self._last(block): Direction(passes[block], round(share * passes[block]), 0)
            for block, share in self.shares.items()
        }

    def _frequencies(self) -> Sequence[float]:
        """How often each block is come to for each call."""
        first, count = self.blocks.start, len(self.blocks)
        system = np.eye(count)
        for block, following in self.after.items():
            for one in following:
                share = self.shares.get(block)
                part = 1 / len(following) if share is None else share
                if share is not None and one == block + 1:
                    part = 1 - share
                system[one - first, block - first] -= 0.999 * part
        begun = np.zeros(count)
        begun[0] = 1
        found: list[float] = np.linalg.lstsq(system, begun, rcond=None)[0].clip(0).tolist()
        return found

    def _share(self, block: int, goal: int) -> float:
        """The likelihood that a block's branch is taken, by all that is said of it."""
        taken = 0.5
        for share in self._said(block, goal):
            both = taken * share, (1 - taken) * (1 - share)
            taken = both[0] / sum(both)
        return taken

    def _said(self, block: int, goal: int) -> Iterator[float]:
        """What each heuristic says of it, that says something."""
        ways = goal, block + 1
        yield from self._either((way in self._cold for way in ways), _COLD)
        backs = [way in self._loops and block in self._loops[way] for way in ways]
        if any(backs):
            yield from self._either(backs, 1 - _LOOP)
            return
        bodies = [body for body in self._loops.values() if block in body]
        yield from self._either((any(way not in body for body in bodies) for way in ways), _EXIT)
        beside = [way for way, other in (ways, ways[::-1]) if way not in self.after.get(other, ())]
        for kinds, share in (({*CALLS}, _CALL), ({Flow.RETURN}, _RETURN)):
            ends = (way in beside and self._flow(way) in kinds for way in ways)
            yield from self._either(ends, share)

    def _either(self, ways: Iterator[bool] | Sequence[bool], share: float) -> Iterator[float]:
        """That the other way is the likelier, where something holds of one way only."""
        taken, falling = ways
        if taken != falling:
            yield 1 - share if taken else share

    @cached_property
    def _loops(self) -> Mapping[int, set[int]]:
        """The blocks of each natural loop, by its head."""
        before: dict[int, list[int]] = {}
        for block, following in self.after.items():
            for one in following:
                before.setdefault(one, []).append(block)
        heads = retreating(self.after, {self.blocks.start})
        return {head: loop_body(before, head, latches) for head, latches in heads.items()}

    @cached_property
    def _cold(self) -> Collection[int]:
        """Blocks from which control comes to nothing else than what nobody wants."""
        graph = self.program.graph
        found = {block for block in self.blocks if graph.landed[block] or self._leaves(block)}
        for _ in self.blocks:
            more = {
                block
                for block in self.blocks
                if block not in found and self.after.get(block) and {*self.after[block]} <= found
            }
            if not more:
                break
            found |= more
        return found

    def _leaves(self, block: int) -> bool:
        """Whether its last instruction is a call of a function that does not return, or a trap."""
        insn = self.program.listing.insn(int(self.program.graph.last[block]) - 1)
        if insn is None or insn.op.flow not in CALLS:
            return False
        return insn.target(self._last(block)) in self.leaving or block + 1 not in self.blocks

    def _flow(self, block: int) -> Flow | None:
        insn = self.program.listing.insn(int(self.program.graph.last[block]) - 1)
        return None if insn is None else insn.op.flow

    def _last(self, block: int) -> int:
        return int(self.program.listing.addresses[int(self.program.graph.last[block]) - 1])

    def _goal(self, block: int) -> int | None:
        """Where a block's branch leads, in the function."""
        listing, at = self.program.listing, int(self.program.graph.last[block]) - 1
        insn = listing.insn(at)
        if insn is None or insn.op.flow is not Flow.BRANCH:
            return None
        target = insn.target(self._last(block))
        if target is None or target not in self.function:
            return None
        goal = self.program.graph.block_holding(target)
        return goal if int(listing.addresses[self.program.graph.first[goal]]) == target else None


def without_return(program: Program) -> Collection[int]:
    """The starts of functions in which nothing returns, and that go on in no other one."""
    return {function.start for function in program.functions if _stays(program, function)}


def _stays(program: Program, function: Function) -> bool:
    """Whether all of a function's code is read, and leads nowhere else but by calls."""
    listing = program.listing
    for at in range(*listing.span(function.start, function.end)):
        insn, address = listing.insn(at), int(listing.addresses[at])
        target = None if insn is None else insn.target(address)
        away = insn is not None and insn.op.flow in AWAY
        leaves = away and (target is None or target not in function)
        if insn is None or leaves or insn.op.flow is Flow.RETURN_IF:
            return False
    return True


def line(bound: Bound, counted: Collection[int]) -> str:
    """Of functions where no branch is counted: what they take, at best, and by heuristics."""
    run, program = bound.run, bound.run.program
    leaving, before, best, static = without_return(program), 0, 0, 0
    for function, fewer in bound.fewer.items():
        if not any(address in function for address in counted):
            guess = Predicted(program, function, leaving).directions()
            before += run.taken_in(function)
            best += run.taken_in(function) - fewer
            static += bound.taken_by(function, guess)
    parts = [f"{many / run.taken:.4f}" for many in (before, best, static)]
    return "where no branch is counted: {}, at best {}, by heuristics {}".format(*parts)
