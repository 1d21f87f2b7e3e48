"""Rows of code whose instructions stand alone: fetch blocks, slots, pipes, waits."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewriter.analysis.functions import find_functions, with_called
from rewriter.analysis.program import analyse
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function, Refusal
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image
from rewriter.elf.unwind import entries
from rewriter.report.html.text import Row, Stretch
from rewriter.timing.causes import DRAIN, RETIRE, START
from rewriter.timing.described import NotDescribed
from rewriter.timing.static import letters
from rewriter.timing.straight import Stretch as Timed
from rewriter.timing.straight import one, stretches

_Code = Sequence[tuple[int, Insn]]
_Moment = tuple[str, int, int, str]
"""Pipe, cycle, waited, cause of one instruction."""


@dataclass(frozen=True, slots=True)
class _Times:
    """What is kept of a stretch that was timed."""

    moments: tuple[_Moment, ...]
    cycles: int
    lost: Mapping[str, int]


_NOT_TIMED = _Times((), -1, {})
_ENDS = (START, RETIRE, DRAIN)


class PlainText:
    """Both listings, and the stretches that were timed.

    A stretch that stands in its fetch blocks as another one does, with the same code around it, is
    not timed again.
    """

    def __init__(self, before: Image, after: Image, target: Sequential, cpu: Cpu) -> None:
        self.image, self.target, self.cpu = before, target, cpu
        self.old = target.listing(before)
        self.new = target.listing(after, self.old)
        self.block = cpu.fetch_block.value
        self.functions: Sequence[Function] = with_called(
            find_functions(before, entries.frames(before)), self.old
        )
        self.instructions = len(self.old)
        self._timed: dict[Hashable, _Times] = {}

    def refusals(self) -> Sequence[Refusal]:
        """The functions that the analysis of the original does not understand."""
        program = analyse(self.image, self.target)
        reasons = ((f, program.not_understood(f)) for f in program.functions)
        return [Refusal(function, reason) for function, reason in reasons if reason]

    def before(self, start: int, end: int, timed: bool) -> Sequence[Stretch]:
        """The code of a range as it was."""
        return list(self._stretches(self.old, start, end, timed))

    def after(self, start: int, end: int, timed: bool) -> Sequence[Stretch]:
        """The code of a range as it is."""
        return list(self._stretches(self.new, start, end, timed))

    def _stretches(self, listing: Listing, start: int, end: int, timed: bool) -> Iterator[Stretch]:
        first, last = listing.span(start, end)
        places = listing.addresses[first:last].tolist()
        words = listing.placeless(slice(first, last)).tolist()
        insns = listing.insns_at(first, last)
        code = [(a, i) for a, i in zip(places, insns, strict=True) if i is not None]
        slots = self._slots(code)
        keys = dict(zip(places, words, strict=True))
        text = dict(code)
        modelled = timed and self.cpu.pipeline is not None
        done = start
        for stretch in stretches(code):
            at, behind = stretch[0][0], stretch[-1][0] + stretch[-1][1].size
            yield from self._data(listing, done, at)
            done = behind
            found = self._moments(stretch, text, keys) if modelled else _NOT_TIMED
            rows = tuple(self._rows(listing, stretch, slots, keys, found.moments))
            yield Stretch(rows, found.cycles, found.lost)
        yield from self._data(listing, done, end)

    def _rows(
        self,
        listing: Listing,
        stretch: _Code,
        slots: dict[int, str],
        keys: dict[int, int],
        moments: tuple[_Moment, ...],
    ) -> Iterator[Row]:
        for number, (address, insn) in enumerate(stretch):
            pipe, cycle, waited, cause = moments[number] if moments else ("", -1, 0, "")
            said = listing.table.text(insn, address)
            slot = slots.get(address, "")
            yield Row(address, keys[address], said, slot, pipe, cycle, waited, cause)

    def _data(self, listing: Listing, start: int, end: int) -> Iterator[Stretch]:
        """Words between instructions that are none."""
        first, last = listing.span(start, end) if start < end else (0, 0)
        rows = tuple(
            Row(int(listing.addresses[at]), int(listing.words[at]), "(data)")
            for at in range(first, last)
        )
        if rows:
            yield Stretch(rows)

    def _slots(self, code: _Code) -> dict[int, str]:
        """The slot of each instruction in a whole fetch block, where the model says it."""
        try:
            return letters(code, self.cpu)
        except NotDescribed:
            return {}

    def _moments(self, stretch: _Code, text: dict[int, Insn], keys: dict[int, int]) -> _Times:
        size = self.block
        first = stretch[0][0] // size * size
        last = -(-(stretch[-1][0] + 1) // size) * size
        step = stretch[0][1].size
        around = tuple(keys.get(address, -1) for address in range(first, last, step))
        key = stretch[0][0] - first, len(stretch), around
        if key not in self._timed:
            try:
                found = one(stretch, text, self.old.table, self.cpu, self.target.system(self.cpu))
                self._timed[key] = _times(found)
            except NotDescribed:
                self._timed[key] = _NOT_TIMED
        return self._timed[key]


def _times(stretch: Timed) -> _Times:
    moments = tuple(
        (moment.pipe, cycle, moment.waited, moment.cause) if moment.pipe else ("", -1, 0, "")
        for _, moment, cycle in stretch.moments()
    )
    spent = stretch.result.breakdown
    lost = {cause: cycles for cause, cycles in spent.items() if cycles and cause not in _ENDS}
    return _Times(moments, stretch.cycles, lost)
