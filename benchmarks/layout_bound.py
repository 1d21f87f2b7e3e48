"""What a library executed, transfer by transfer, and how few of them chains of blocks can leave."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from passes.align import Code, transfers
from passes.lib.entered import other_entries
from passes.lib.move import check_ways_in
from passes.lib.nops import Nops
from passes.ordering.arranged import arranged
from passes.ordering.chains import Chains
from passes.ordering.units import Units
from rewriter.analysis.program import Program
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import CannotMove
from rewriter.elf.headers import PT_LOAD
from rewriter.elf.image import Image
from rewriter.identify.profiles import Direction

ORDERED, UNORDERED, STAYING = "in another order", "in its order", "not to be moved"
"""What became of a function: of the last kind are those that `layout` may not touch."""

_PAGE = 1 << 12  # bytes, by which an emulator maps the parts of a file

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Executed:
    """Of a file's instructions, by where they stand in its text: how often each was executed, and
    how often control went on elsewhere than behind it."""

    program: Program
    executed: Numbers
    left: Numbers

    @cached_property
    def total(self) -> int:
        """Executed instructions."""
        return int(self.executed.sum())

    @cached_property
    def transfers(self) -> Numbers:
        """How often each direct branch and jump was taken; 0 of all else."""
        direct = [FLOW_CODE[Flow.BRANCH], FLOW_CODE[Flow.JUMP]]
        return np.where(np.isin(self.program.listing.flows, direct), self.left, 0)

    @cached_property
    def taken(self) -> int:
        """Direct branches and jumps that were taken."""
        return int(self.transfers.sum())

    def taken_in(self, function: Function) -> int:
        """Those of a function."""
        here = slice(*self.program.listing.span(function.start, function.end))
        return int(self.transfers[here].sum())

    @property
    def often(self) -> float:
        """These for each 1,000 instructions."""
        return 1000 * self.taken / max(self.total, 1)

    def directions(self) -> Mapping[int, Direction]:
        """Which way each conditional branch went.

        Control that a signal or another thread takes away from a branch did not leave by it.
        """
        listing = self.program.listing
        at = np.flatnonzero((listing.flows == FLOW_CODE[Flow.BRANCH]) & (self.executed > 0))
        rows = zip(
            listing.addresses[at].tolist(),
            self.executed[at].tolist(),
            np.minimum(self.left, self.executed)[at].tolist(),
            strict=True,
        )
        return {address: Direction(executed, left, 0) for address, executed, left in rows}


def executed(program: Program, image: Image, text: bytes) -> Executed:
    """What the plugin wrote of a file, by the offsets from where its code begins."""
    first = min(s.p_vaddr for s in image.segments if s.p_type == PT_LOAD) & -_PAGE
    return Executed(program, *counts(program, text, first))


def counts(program: Program, text: bytes, first: int) -> Numbers:
    """What the plugin wrote, by the offsets from an address: executed, left elsewhere."""
    listing = program.listing
    found = np.zeros((2, len(listing)), dtype=np.int64)
    rows = np.array(text.split(), dtype=np.int64).reshape(-1, 4)
    addresses = rows[:, 0].astype(np.uint64) + np.uint64(first)
    at = np.searchsorted(listing.addresses, addresses)
    here = at < len(listing)
    found[0, at[here]], found[1, at[here]] = rows[here, 1], rows[here, 3]
    return found


@dataclass(frozen=True)
class Bound:
    """What chains give at best, of the branches that one run counted."""

    run: Executed
    cpu: Cpu

    @property
    def taken(self) -> int:
        """Direct branches and jumps that would be taken, each function in its best order."""
        return self.run.taken - sum(self.fewer.values())

    @cached_property
    def fewer(self) -> Mapping[Function, int]:
        """How many fewer in each function where some were taken, as far as it is understood."""
        return dict(self._found())

    def _found(self) -> Iterator[tuple[Function, int]]:
        for function in self.run.program.functions:
            if self.run.taken_in(function) and not self.run.program.not_understood(function):
                fewer = self.run.taken_in(function) - self.taken_by(function, self._counts)
                yield function, max(fewer, 0)

    def taken_by(self, function: Function, likely: Mapping[int, Direction]) -> int:
        """How many are taken in a function in the best order by other counts of its branches."""
        known = self.run.program.target.inverting
        assert known is not None
        counted, guide = (self._units(function, counts) for counts in (self._counts, likely))
        order = Chains(guide, (), guide.ways).order()
        fewer = sum(counted.taken) - arranged(counted, known, order).taken
        return self.run.taken_in(function) - fewer

    def _units(self, function: Function, counts: Mapping[int, Direction]) -> Units:
        """What stands together in a function, with counts of its branches."""
        program = self.run.program
        items = tuple(self._nops.standing({}, function.start, function.end))
        targets = {target for _, target in transfers(function, items)}
        targets |= {t for table in program.tables_of(function) for t in table.targets}
        starts = {function.start, *program.target.entries(program.listing, function)}
        code = Code(function, items, starts, (), targets, branches=counts)
        return Units(code, [0] * len(items), program.pads_of(function))

    @cached_property
    def _counts(self) -> Mapping[int, Direction]:
        return self.run.directions()

    @cached_property
    def _nops(self) -> Nops:
        return Nops(self.run.program, self.cpu)


def above(bound: Bound, after: Executed, ordered: Collection[int]) -> Mapping[str, int]:
    """How many taken transfers an output has above a bound, by what became of their functions.

    `ordered` are the starts of functions whose blocks changed places.
    """
    found = more_by_function(bound, after, ordered)
    return {what: sum(more for _, more in functions) for what, functions in found.items()}


def more_by_function(
    bound: Bound, after: Executed, ordered: Collection[int]
) -> Mapping[str, Sequence[tuple[Function, int]]]:
    """The same of each function, those with most first."""
    found: dict[str, list[tuple[Function, int]]] = {ORDERED: [], UNORDERED: [], STAYING: []}
    program = bound.run.program
    for function, fewer in bound.fewer.items():
        more = after.taken_in(function) - bound.run.taken_in(function) + fewer
        what = ORDERED if function.start in ordered else _left(program, function)
        found[what].append((function, more))
    return {what: sorted(of, key=lambda one: -one[1]) for what, of in found.items()}


def _left(program: Program, function: Function) -> str:
    """Why a function has no other order."""
    try:
        entries = program.target.entries(program.listing, function)
        check_ways_in(program, function, {*entries, *other_entries(program, function)})
    except CannotMove:
        return STAYING
    return UNORDERED
