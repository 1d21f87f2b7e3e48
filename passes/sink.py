"""Results that one way alone needs are computed on it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from passes.lib.insert import Declined, Finder, Insertion, Setting, Slots, cycles
from passes.lib.steps import Change, OwnPass, Steps
from passes.scheduling.dependence import free
from passes.scheduling.shown import Shown
from rewriter.analysis.program import Program
from rewriter.core.addresses import compact
from rewriter.core.code.groups import Slot
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.code.program import Function
from rewriter.core.code.superblock import Superblock
from rewriter.core.isa.instruction import BRANCHING, Flow, Insn
from rewriter.core.target.protocol import Sequential, Target
from rewriter.elf.unwind import rows
from rewriter.verify.walk.equivalence import Different

_KIND = "result that one way needs"
_BEHIND = 8
"""Instructions behind the last branch that something passed, which the model is shown too."""


class Sink(OwnPass):
    """A result that nothing reads where a branch leads is computed behind the branch.

    Before    lda v,8(p); cmpeq a,b,t; bne t,label; stq v,0(q)        where v is dead at the label
    After     cmpeq a,b,t; bne t,label; lda v,8(p); stq v,0(q)
    Requires  Nothing on the way reads or writes the result, or writes what it is made of; and room,
              since the branch, and what stands before it, moves up; and a CPU that forms no groups
              by place, where a layout is judged by what it does to them.
    Proof     Both orders, with what the instructions mean and for any meaning; then the walk.

    The way that the branch takes has an instruction less, the other one has the same ones: made
    where that is not slower in the model of the CPU.
    """

    name = "sink"
    change = Change.ROOM

    def offered(self, target: Target) -> bool:
        """Where functions may get a new layout."""
        return target.sequential is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.inserts(self)

    def finder(self, program: Program, setting: Setting) -> Finder:
        """What finds the sites of functions: none where places in groups decide what issues."""
        if setting.cpu.placing is not None:
            return lambda function, slots: iter(())
        return _Sunk(program, setting).found


class _Sunk:
    """Finds the sites of functions."""

    def __init__(self, program: Program, setting: Setting) -> None:
        self.program, self.setting = program, setting
        self.shown = Shown(setting.target, setting.prover, program.is_kernel)
        flows = program.listing.flows
        self._branches = compact(np.flatnonzero(flows == FLOW_CODE[Flow.BRANCH]))
        self._row_starts: dict[int, list[int]] = {}  # of the function in hand

    def found(self, function: Function, slots: Slots) -> Iterator[Insertion | Declined]:
        """The sites of a function."""
        for superblock in self.program.superblocks(function, self._left_early):
            standing = _standing(self.program, superblock, slots)
            if standing is not None:
                yield from self._within(function, standing)

    def _left_early(self, first: int, last: int) -> bool:
        """Whether there is a branch at positions [first, last), the last one apart."""
        at = bisect_left(self._branches, first)
        return at < len(self._branches) and self._branches[at] < last - 1

    def _within(self, function: Function, old: Superblock) -> Iterator[Insertion | Declined]:
        """The site of a superblock, if it is one: what depends on another goes with it."""
        order = _Order(old, self._tied(function, old), self.setting.target)
        sunk = order.sunk()
        if not sunk:
            return
        new, first = order.superblock, min(there[0].address for there in sunk.values())
        try:
            evidence = self.shown.evidence(old, new)
        except Different as different:
            yield Declined(_KIND, first, different.what)
            return
        saves = self._saved(old, new, first, sorted(sunk))
        if saves < 0:
            yield Declined(_KIND, first, "the other ways would take longer")
            return
        moved = ((s.address, s.insn, at) for at, there in sunk.items() for s in there)
        yield Insertion(_KIND, first, (), evidence, saves, moved=tuple(sorted(moved, key=_place)))

    def _saved(
        self, old: Superblock, new: Superblock, first: int, branches: Sequence[int]
    ) -> Fraction:
        """Modelled cycles that the way past all branches saves; if none, all ways on average."""
        start = old.addresses().index(first)
        on = self._on_way(old, new, start, branches[-1], _BEHIND)
        if on >= 0:
            return Fraction(on)
        early = sum(self._on_way(old, new, start, branch) for branch in branches)
        return Fraction(on + early, len(branches) + 1)

    def _on_way(
        self, old: Superblock, new: Superblock, start: int, branch: int, behind: int = 0
    ) -> int:
        """Modelled cycles that code saves from a slot to some others behind a branch."""
        took, takes = (
            cycles(one.insns[start : one.addresses().index(branch) + 1 + behind], self.setting)
            for one in (old, new)
        )
        return took - takes

    def _tied(self, function: Function, superblock: Superblock) -> frozenset[int]:
        """Addresses of instructions that stay, and right behind which nothing comes.

        They are locked, or the last before a row of the unwind table, which goes by them.
        """
        places, starts = superblock.addresses(), self._starts(function)
        inside = starts[bisect_right(starts, places[0]) : bisect_right(starts, superblock.end)]
        last = (places[bisect_left(places, at) - 1] for at in inside)
        return frozenset((*self.setting.locked.intersection(places), *last))

    def _starts(self, function: Function) -> list[int]:
        """Where the rows of a function's unwind entry begin."""
        if function.start not in self._row_starts:
            frame = self.program.frames.get(function.start)
            found = [] if frame is None else [at for at, _ in rows.rows(frame)]
            self._row_starts = {function.start: found}
        return self._row_starts[function.start]


def _standing(program: Program, superblock: Superblock, slots: Slots) -> Superblock | None:
    """What is left of a superblock, up to where another pass made a branch; None if an exit went.

    Behind such a branch anything may be read.
    """
    kept, live = list[Slot](), superblock.live
    for slot in superblock.slots:
        insn = slots.get(slot.address, slot.insn)
        if insn is None or program.is_nop(slot.address, insn):
            continue
        if insn.op.flow in BRANCHING and insn.op.flow is not slot.insn.op.flow:
            live = -1
            break
        kept.append(Slot(slot.address, insn, slot.stop))
    places = [slot.address for slot in kept]
    exits = {at: mask for at, mask in superblock.exits.items() if places and at <= places[-1]}
    if not kept or not exits.keys() <= {*places[:-1]}:
        return None
    return replace(superblock, slots=tuple(kept), live=live, exits=exits)


@dataclass
class _Order:
    """A superblock in another order; `tied` are addresses of instructions that stay."""

    old: Superblock
    tied: Container[int]
    target: Sequential
    slots: list[Slot] = field(init=False)

    def __post_init__(self) -> None:
        self.slots = list(self.old.slots)

    @property
    def superblock(self) -> Superblock:
        """The new order."""
        return replace(self.old, slots=tuple(self.slots))

    def sunk(self) -> Mapping[int, list[Slot]]:
        """What goes behind each branch, by its address: as it stood, in order."""
        found: dict[int, list[Slot]] = {}
        for slot in reversed(self.old.slots[:-1]):
            branch = self._branch(slot) if self._may_go(slot) else None
            # Its new address is between the branch's and the next.
            if branch is not None and len(found.get(branch.address, ())) + 1 < slot.insn.size:
                found.setdefault(branch.address, []).insert(0, slot)
                self.slots.remove(slot)
                self.slots.insert(self.slots.index(branch) + 1, slot)
        return found

    def _may_go(self, slot: Slot) -> bool:
        """Whether an instruction only computes, and nothing goes by its place."""
        table, held = self.target.table, slot.address in self.tied
        computes = table.computes(slot.insn) and not table.accesses(slot.insn)
        if held or slot.address in self.old.exits or not computes:
            return False
        return free(slot.insn, self.target)

    def _branch(self, slot: Slot) -> Slot | None:
        """The last branch that an instruction may go behind."""
        table, found = self.target.table, None
        reads, results = table.uses(slot.insn), table.defs(slot.insn)
        for other in self.slots[self.slots.index(slot) + 1 : -1]:
            written, live = table.defs(other.insn), self.old.exits.get(other.address, 0)
            if (written | table.uses(other.insn) | live) & results or written & reads:
                break
            if other.insn.op.flow is Flow.BRANCH:
                found = found if other.address in self.tied else other
            elif other.insn.op.flow is not Flow.NEXT:
                break
        return found


def _place(moved: tuple[int, Insn, int]) -> int:
    return moved[0]
