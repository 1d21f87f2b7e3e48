"""The exception ranges of an old and a new file: which numbers changed, and where they lead now.

What is looked at is only what the two files hold.  Of a function whose table changed only starts,
lengths and landing pads of its call sites may have, each within its bytes.  Whether they are right
says the walk: what may throw must be in the same range as before, and go on at a landing pad that
was walked together with the old one (`walk/landing_pads`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rewriter.analysis.exception_ranges import ExceptionRanges
from rewriter.analysis.program import Program
from rewriter.core.code.program import Function
from rewriter.core.errors import BadInput
from rewriter.elf.image import Image
from rewriter.elf.unwind.entries import Fde
from rewriter.elf.unwind.lsda import Record, records
from rewriter.verify.owners import Offsets


@dataclass(frozen=True)
class _Table:
    """The call sites of one function in both files; of the new one's None if it cannot be read."""

    old: list[Record]
    new: list[Record] | None


class RangeTables:
    """The tables of two files; `ways` are the exception ranges of the new one."""

    def __init__(
        self, program: Program, new: Image, frames: Mapping[int, Fde], changed: Offsets
    ) -> None:
        """`frames` are the entries of the new file, `changed` offsets at which the files differ."""
        self.program = program
        self._changed: dict[int, _Table] = {}
        for start, old in program.frames.items():
            if old.lsda is None:
                continue
            before = records(program.image, old)
            if before and _within(changed, before):
                self._changed[start] = _Table(before, _read(new, frames.get(start)))
        self.ways = program.exceptions if not self._changed else self._together()

    def _together(self) -> ExceptionRanges:
        tables = []
        for start, frame in self.program.frames.items():
            if frame.lsda is not None:
                found = self._changed.get(start)
                read = records(self.program.image, frame) if found is None else found.new
                tables.append((frame, [record.site for record in read or ()]))
        return ExceptionRanges.together(tables)

    def functions(self) -> list[Function]:
        """The functions whose table changed."""
        found = map(self.program.function_at, self._changed)
        return [function for function in found if function is not None]

    def has_changed(self, function: Function) -> bool:
        """Whether a function's table did."""
        return function.start in self._changed

    def pads(self, function: Function) -> dict[int, int]:
        """What each landing pad of the function's old code became."""
        found = self._changed.get(function.start)
        if found is None or found.new is None:
            return {pad: pad for pad in self.program.pads_of(function)}
        pairs = zip(found.old, found.new, strict=False)
        led = ((one.site.landing_pad, other.site.landing_pad) for one, other in pairs)
        return {old: new for old, new in led if old is not None and new is not None}

    def problem(self, function: Function) -> str:
        """What is wrong with a function's table by itself, or nothing."""
        found = self._changed.get(function.start)
        if found is None:
            return ""
        reason = "its exception ranges cannot be read" if found.new is None else ""
        return reason or next(self._wrong(function, found.old, found.new or []), "")

    def _wrong(
        self, function: Function, before: list[Record], after: list[Record]
    ) -> Iterator[str]:
        if [one.fields for one in before] != [one.fields for one in after]:
            yield "its exception ranges stand otherwise in their table"
            return
        if [one.site.action for one in before] != [one.site.action for one in after]:
            yield "an exception range has another action"
        size = self.program.target.table.size
        for record in after:
            new = record.site
            if not function.start <= new.start <= new.end <= function.end:
                yield "an exception range is not inside the function"
            if new.start % size or new.end % size:
                yield "an exception range ends within an instruction"
        if any(other.site.start < one.site.end for one, other in pairwise(after)):
            yield "its exception ranges are not in order"  # the personality routine stops early
        yield from self._wrong_pads(function, before, after)

    def _wrong_pads(
        self, function: Function, before: list[Record], after: list[Record]
    ) -> Iterator[str]:
        led, own = self.pads(function), {*self.program.pads_of(function)}
        for one, other in zip(before, after, strict=True):
            old, new = one.site.landing_pad, other.site.landing_pad
            if old is None or new is None:
                if old != new:
                    yield "a landing pad came or went"
            elif led[old] != new:
                yield "a landing pad became two"
            elif old != new and not (old in own and new in function):
                yield "a landing pad outside of the function changed"

    def accounted(self, function: Function) -> set[int]:
        """The addresses of the numbers of a function's table that may have changed."""
        found = self._changed.get(function.start)
        if found is None:
            return set()
        fields = (field for record in found.old for field in record.fields)
        address = self.program.image.address_of
        return {address(at) for f in fields for at in range(f.offset, f.offset + f.size)}


def _within(changed: Offsets, table: list[Record]) -> bool:
    """Whether a byte of a table of call sites changed; its actions stand between the fields."""
    first, end = np.searchsorted(changed, (table[0].fields[0].offset, table[-1].end))
    return bool(first < end)


def _read(image: Image, frame: Fde | None) -> list[Record] | None:
    try:
        return None if frame is None else records(image, frame)
    except BadInput:
        return None
