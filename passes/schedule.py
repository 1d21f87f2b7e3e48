"""Instructions in another order, where a model of the CPU says that it pays."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

from passes.lib.insert import Declined
from passes.lib.steps import Change, OwnPass, Steps
from passes.scheduling.dependence import Bonds, Straight, accesses, bonding, straight
from passes.scheduling.incumbent import best
from passes.scheduling.list_scheduler import Pass
from passes.scheduling.shown import Shown
from passes.scheduling.superblocks import LONGEST, Problem, faster
from rewriter.analysis.loops import Loop
from rewriter.analysis.program import Program
from rewriter.core.code.extensions import certain
from rewriter.core.code.groups import Slot
from rewriter.core.code.listing import FLOWS
from rewriter.core.code.program import Function
from rewriter.core.code.superblock import Superblock
from rewriter.core.edit import Evidence, Grade
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.plural import counted
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Target
from rewriter.elf.unwind import rows as unwind_rows
from rewriter.timing.described import NotDescribed
from rewriter.timing.engines import engine_of
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.equivalence import Different
from rewriter.verify.walk.frames import Framed, account
from rewriter.verify.walk.insn_classes import Kinds

Item = tuple[int, int, Insn]
"""An instruction with its address in the original and the one where it stands now."""


@dataclass(frozen=True)
class Reordered:
    """Instructions of a loop or of straight code in a new order, by address where they stand now.

    `start` is where they began in the original.  `went` are the addresses that they stood at and
    stand at now, of those that changed places.  The evidence names the modelled cycles; `saves` is
    how many fewer they are.
    """

    start: int
    old: tuple[Insn, ...]
    new: tuple[Insn, ...]
    words: Mapping[int, Insn]
    evidence: Evidence
    saves: Fraction
    went: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class _Part:
    """Items of a superblock, which is as it was in the original.

    `straight` is what ties them, and the nops among them, to one another; `held` tells the
    addresses that must keep what is there, and those that nothing passes; `nop` is what stands
    where nothing else does.
    """

    original: Superblock
    items: Sequence[Item]
    straight: Straight
    held: Callable[[], tuple[Collection[int], Sequence[int]]]
    nop: Insn

    @property
    def _places(self) -> range:
        size = self.nop.size
        return range(self.items[0][1], self.items[-1][1] + size, size)

    @property
    def incumbent(self) -> Superblock:
        """The part as it stands now, with the nops in it."""
        there = {now: insn for _, now, insn in self.items}
        exits = {
            now: self.original.exits[was]
            for was, now, insn in self.items
            if was in self.original.exits and insn.op.flow is Flow.BRANCH
        }
        slots = tuple([Slot(at, there.get(at, self.nop), False) for at in self._places])
        return replace(self.original, slots=slots, exits=exits)

    @cached_property
    def kept(self) -> Collection[int]:
        """The slots that must keep what is there."""
        kept, _ = self._held
        return frozenset(self._number(now) for was, now, _ in self.items if was in kept)

    @cached_property
    def cuts(self) -> Collection[int]:
        """The slots before which nothing passes."""
        at = (bisect_left(self.items, row, key=_original) for row in self._held[1])
        return frozenset(self._number(self.items[n][1]) for n in at if 0 < n < len(self.items))

    @cached_property
    def _held(self) -> tuple[Collection[int], Sequence[int]]:
        return self.held()

    def _number(self, place: int) -> int:
        return (place - self.items[0][1]) // self.nop.size


class NotReordered(Exception):
    """Why a loop that could be faster in the model keeps its order."""


class Schedule(OwnPass):
    """Instructions change places between fixed ones, for slotting, grouping and latency.

    Before    ldq t0,0(a0)         After    ldq t0,0(a0)
              addq t0,t1,t1                 lda a0,8(a0)
              lda a0,8(a0)                  subq a1,1,a1
              subq a1,1,a1                  addq t0,t1,t1
              bne a1,loop                   bne a1,loop
    Requires  The way of a pass known: an innermost loop without calls and jumps.  Fixed are
              transfers of control, events, what unwind rows go by, floating-point arithmetic (its
              traps come late), gp set-ups, what something outside points to, and all between a
              load-locked and its store-conditional.  Stores keep their order and stay behind the
              loads before them; a load passes a store only if they are certainly apart.
    Proof     Both orders of each run are executed symbolically; the walk then compares both files.

    The gain is in cycles a pass of the loop once it runs, by `rewriter/timing/steady`, with every
    branch inside it not taken and nothing missing.  An order that is not faster there is not made.

    Outside of loops the same is done to superblocks (`superblocks.py`) where the chip takes
    instructions in order or in groups.  There what affects nothing but registers may pass a branch
    too, if the CPU has it and nothing that it writes may be read where the branch leads; the gain
    is in cycles to the last issue.
    """

    name = "schedule"
    change = Change.PLACES

    def offered(self, target: Target) -> bool:
        """Where order is ours to choose: of innermost loops, or of regions of bundles."""
        return target.sequential is not None or target.bundling is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.reorders()


@dataclass
class Scheduler:
    """Reorders loops of one program for one CPU."""

    program: Program
    cpu: Cpu
    prover: Prover

    def __post_init__(self) -> None:
        self.target = self.program.target
        self.steady = engine_of(self.cpu).steady(self.target.table)
        # A CPU may have been given another one's pipeline (--tune); it has its name in the target.
        named = self.target.cpus.get(self.cpu.name)
        fits = (c for c in self.target.cpus.values() if c.pipeline is self.cpu.pipeline)
        own = named is not None and named.pipeline is self.cpu.pipeline
        self._model = self.cpu.name if own else next(fits).name
        self._bonds = bonding(self.target)
        self._features = certain(self.target, self.cpu)
        self._nop = next(iter(self.target.nops(self.target.table.size)))
        self._tied: dict[int, tuple[set[int], list[int]]] = {}
        self._shown = Shown(self.target, self.prover, self.program.is_kernel)
        held, keeps_nop = self.program.held_addresses, self.program.keeps_nop
        self._kinds = Kinds(self.target, held, keeps_nop)

    def reordered(self, function: Function, loop: Loop, items: Sequence[Item]) -> Reordered | None:
        """The loop in a better order; None if the way of a pass is not known or no order gains.

        `items` are the function's instructions without nops, ascending.  Raises NotReordered.
        """
        inside = _between(items, loop.head, loop.latch)
        if any(insn.op.flow not in _STRAIGHT for _, _, insn in inside[:-1]):
            return None
        if any(insn.size != self.target.table.size for _, _, insn in inside):
            raise NotReordered("an instruction of two words")
        runs = self._runs(function, inside)
        if not runs:
            return None
        frame = self.program.frames.get(function.start)
        if frame is not None and (frame.lsda is not None or frame.cie.signal_frame):
            raise NotReordered("unwinders know more of its addresses than rows")
        try:
            return self._faster(items, loop, inside, runs)
        except NotDescribed as missing:
            raise NotReordered(str(missing)) from missing

    def _faster(
        self, items: Sequence[Item], loop: Loop, inside: Sequence[Item], runs: Sequence[range]
    ) -> Reordered | None:
        one = self._pass(items, inside, runs)
        before = one.cycles(one.same, self.steady)
        if before <= self.steady.least(one.placed(one.same)):
            return None
        found = best(one, before, self.target, self.steady)
        if before - found.cycles < _LEAST_GAIN:
            return None
        old, new = one.insns, tuple(one.insns[n] for n in found.order)
        try:
            evidence = self._proved(old, new, one)
        except Different as different:
            raise NotReordered(different.what) from different
        words = {at: b for at, a, b in zip(one.addresses, old, new, strict=True) if a is not b}
        said = f"{counted(before, 'cycle')} a pass became {found.cycles}"
        detail = f"{said} in the model of {self._model}, {found.limit}"
        saves = before - found.cycles
        evidence = replace(evidence, detail=detail)
        pairs = zip(found.order, one.addresses, strict=True)
        went = tuple((one.addresses[n], at) for n, at in pairs if one.addresses[n] != at)
        return Reordered(loop.head, old, new, words, evidence, saves, went)

    # Straight code ------------------------------------------------------------------------

    def superblocks(
        self, function: Function, loops: Sequence[Loop], items: Sequence[Item]
    ) -> Iterator[Reordered | Declined]:
        """The superblocks outside of loops that the model finds faster in another order."""
        frame = self.program.frames.get(function.start)
        named = frame is not None and (frame.lsda is not None or frame.cie.signal_frame)
        if named or self.steady.line(()) is None:
            return
        held = [(loop.head, loop.latch) for loop in loops if self._is_whole(loop)]
        for blocks in self.program.joined(function):
            first, last = self.program.span(blocks)
            if not any(first <= latch and head <= last for head, latch in held):
                for part in self._parts(function, blocks, _between(items, first, last)):
                    try:
                        found = self._ordered(part)
                    except NotDescribed:
                        continue
                    except Different as reason:
                        yield Declined(STRAIGHT, part.items[0][0], reason.what)
                        continue
                    if found is not None:
                        yield found

    def _is_whole(self, loop: Loop) -> bool:
        """Whether the way of a pass is known, so that the loop is looked at as one."""
        listing = self.program.listing
        first, last = listing.span(loop.head, loop.latch)
        return all(FLOWS[flow] in _STRAIGHT for flow in listing.flows[first:last].tolist())

    def _parts(self, function: Function, blocks: range, inside: Sequence[Item]) -> Iterator[_Part]:
        """Joined blocks as they stand now, in parts that are not too long, but for those that have
        one order only."""
        insns = [insn for _, _, insn in inside]
        if sum([insn.op.flow is Flow.NEXT for insn in insns]) < 2:
            return  # no two could change places
        known = [*map(self._bonds, insns)]
        size = self.target.table.size
        if any(insn.size != size for insn in insns):
            return
        starts = range(0, len(inside), LONGEST)
        tied = ((n, self._tied_in(inside[n : n + LONGEST], known[n : n + LONGEST])) for n in starts)
        some = [(n, one) for n, one in tied if not one.is_chain]
        if not some:
            return
        block = self.program.superblock(blocks)
        branches = (n for n, one in enumerate(known[:-1]) if one.branches)
        if any(inside[n][0] not in block.exits for n in branches):
            return  # an earlier pass made a branch: control comes to places inside
        held, nop = partial(self._held, function), self._nop
        for start, one in some:
            part = inside[start : start + LONGEST]
            live = block.live if part[-1] is inside[-1] else -1
            yield _Part(replace(block, live=live), part, one, held, nop)

    def _tied_in(self, items: Sequence[Item], bonds: Sequence[Bonds]) -> Straight:
        """What ties items and the nops among them to one another."""
        table = self.target.table
        places = range(items[0][1], items[-1][1] + table.size, table.size)
        if len(places) > len(items):
            there = {now: one for (_, now, _), one in zip(items, bonds, strict=True)}
            nop = self._bonds(self._nop)
            bonds = [there.get(at, nop) for at in places]
        return straight(bonds, accesses(bonds), table.cell, self.program.is_kernel)

    def _ordered(self, part: _Part) -> Reordered | None:
        """A part in a better order, if one is found; raises Different, NotDescribed."""
        block = part.incumbent
        found = faster(Problem(block, part.straight, part, self.steady, self._features))
        if found is None:
            return None
        evidence = self._shown.evidence(block, found.block)
        told = f"{counted(found.before, 'cycle')} to the last issue became {found.after}"
        evidence = replace(evidence, detail=f"{told} in the model of {self._model}")
        places, old, new = block.addresses(), block.insns, found.block.insns
        words = {at: b for at, a, b in zip(places, old, new, strict=True) if a is not b}
        went = tuple(
            (places[n], at) for n, at in zip(found.order, places, strict=True) if places[n] != at
        )
        saves = Fraction(found.before - found.after)
        return Reordered(part.items[0][0], old, new, words, evidence, saves, went)

    # What may change places ---------------------------------------------------------------

    def _runs(self, function: Function, inside: Sequence[Item]) -> list[range]:
        """Stretches of `inside`, by index, in which instructions may change places."""
        blocks = self._blocks(inside[0][0], inside[-1][0])
        kept, rows = self._held(function)
        goals = (insn.target(address) for address, _, insn in inside)
        # Control may come to a block's start, and to where a branch leads; an unwind row begins at
        # its place.
        targets = {goal for goal in goals if goal is not None}
        cuts = sorted({*map(self._start, blocks), *rows, *targets})
        found: list[range] = []
        first, last = 0, inside[0][0]
        for index, (address, _, insn) in enumerate(inside):
            if bisect_left(cuts, address + 1) > bisect_left(cuts, last + 1):
                found.append(range(first, index))
                first = index
            last = address
            if address in kept or not self._bonds(insn).is_free:
                found.append(range(first, index))
                first = index + 1
        return [run for run in found if len(run) > 1]

    def _blocks(self, first: int, last: int) -> range:
        """The blocks from that of one address to that of another."""
        graph = self.program.graph
        return range(graph.block_holding(first), graph.block_holding(last) + 1)

    def _start(self, block: int) -> int:
        return int(self.program.listing.addresses[self.program.graph.first[block]])

    def _held(self, function: Function) -> tuple[set[int], list[int]]:
        """Addresses of a function that must keep what is there, and those that nothing passes."""
        found = self._tied.get(function.start)
        if found is None:
            self._tied.clear()  # who asks again asks at once
            rows, said = self._rows(function)
            found = self._tied[function.start] = self._kept(function) | said, rows
        return found

    def _kept(self, function: Function) -> set[int]:
        """Where control may come from outside, and what an outside or a lock goes by."""
        program, graph = self.program, self.program.graph
        blocks = graph.blocks_of(function)
        entered = blocks.start + np.flatnonzero(graph.entered[blocks.start : blocks.stop])
        return {
            *program.listing.addresses[graph.first[entered]].tolist(),
            *program.locked_between(function.start, function.end - 1),
            *(fixup.access for fixup in program.fixups_of(function)),
        }

    def _rows(self, function: Function) -> tuple[list[int], set[int]]:
        """Where unwind rows begin, and the instructions that they go by."""
        frame = self.program.frames.get(function.start)
        rows = unwind_rows.rows(frame) if frame is not None else []
        starts = [address for address, _ in rows]
        if len(rows) < 2:
            return starts, set()
        said, listing = account(rows, self.target), self.program.listing
        framed = Framed(listing, self._kinds, function.start, rows[-1][0], said)
        return starts, {*framed.holding()}

    def _pass(self, items: Sequence[Item], inside: Sequence[Item], runs: Sequence[range]) -> Pass:
        """What one pass executes: the items inside, and nops where none is."""
        size, block = inside[0][2].size, self.steady.block
        first, end, nop = inside[0][1], inside[-1][1] + size, self._nop
        there = {new: insn for _, new, insn in inside}
        addresses = range(first, end, size)
        insns = tuple(there.get(at, nop) for at in addresses)
        whole = accesses(map(self._bonds, insns))
        at = {address: number for number, address in enumerate(addresses)}
        places = tuple(tuple(at[inside[index][1]] for index in run) for run in runs)
        around = (*range(first & -block, first, size), *range(end, end + -end % block, size))
        text = {at: _standing(items, at) or nop for at in around}
        return Pass(insns, tuple(addresses), whole, places, text, self.program.is_kernel)

    # Evidence -----------------------------------------------------------------------------

    def _proved(self, old: Sequence[Insn], new: Sequence[Insn], one: Pass) -> Evidence:
        """Both orders of each run do the same from the same state; raises Different."""
        patterns = set[str]()
        for places in one.runs:
            before, after = (
                Superblock(tuple(Slot(one.addresses[n], insns[n], False) for n in places))
                for insns in (old, new)
            )
            if before != after:
                patterns.update(self._shown.evidence(before, after).patterns)
        return Evidence(Grade.PROVED, (), tuple(sorted(patterns)))


_LEAST_GAIN = Fraction(1, 4)
"""Cycles a pass: below that the model itself is not exact."""

_STRAIGHT = (Flow.NEXT, Flow.BRANCH)
STRAIGHT = "straight code"
"""What a superblock outside of loops is called."""


def _between(items: Sequence[Item], first: int, last: int) -> Sequence[Item]:
    """Those from one address of the original to another, both included."""
    start = bisect_left(items, first, key=_original)
    return items[start : bisect_right(items, last, key=_original)]


def _standing(items: Sequence[Item], address: int) -> Insn | None:
    """What stands at an address now."""
    at = bisect_left(items, address, key=_now)
    return items[at][2] if at < len(items) and items[at][1] == address else None


def _original(item: Item) -> int:
    return item[0]


def _now(item: Item) -> int:
    return item[1]
