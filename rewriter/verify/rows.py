"""Whether changed unwind rows still say the right thing at the right instruction.

A row describes the frame from its address on, so between two rows stands the instruction that
changes the frame.  Code keeps its order when it moves: each row must follow as many instructions
that touch the frame (the stack pointer, callee-saved registers, the return address) or transfer
control as before, and directly so if it did.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa import Flow
from rewriter.core.listing import FLOW_CODE, Listing
from rewriter.core.program import Function
from rewriter.elf import unwind, unwind_rows
from rewriter.identify.program import Program
from rewriter.verify.kinds import FILLER, FRAME, Kinds


def frame_owners(
    frames: Iterable[unwind.Fde], offsets: NDArray[np.int64]
) -> tuple[list[unwind.Fde], NDArray[np.int64]]:
    """The unwind entries with one of some file offsets among their instructions; those offsets."""
    ordered = sorted(frames, key=lambda frame: frame.instructions)
    if not ordered:
        return [], offsets[:0]
    spans = np.array([frame.instructions for frame in ordered], dtype=np.int64)
    at = spans[:, 0].searchsorted(offsets, side="right") - 1
    inside = (at >= 0) & (offsets < spans[at, 1])
    return [ordered[n] for n in np.unique(at[inside]).tolist()], offsets[inside]


class Rows:
    """The unwind entries of some functions in two files."""

    def __init__(
        self,
        program: Program,
        new: Mapping[int, unwind.Fde],
        listing: Listing,
        functions: Iterable[Function],
        kinds: Kinds,
    ) -> None:
        """`new` are the entries of the new file by where they start, `listing` is its text."""
        starts = (function.start for function in functions)
        self.old = {start: program.frames[start] for start in starts if start in program.frames}
        self.new = new
        self.before = partial(_Order, program.listing, kinds)
        self.after = partial(_Order, listing, kinds)

    def problem(self, function: Function) -> str:
        """What is wrong with the unwind entry of a function, or nothing."""
        old, new = self.old.get(function.start), self.new.get(function.start)
        if old is None:
            return ""
        if new is None or (new.end, new.lsda) != (old.end, old.lsda):
            return "its unwind entry covers something else"
        return "" if self._agree(old, new) else "its unwind rows do not follow its instructions"

    def _agree(self, old: unwind.Fde, new: unwind.Fde) -> bool:
        before = unwind_rows.rows(old)
        after = before if unwind_rows.unchanged(old, new) else unwind_rows.rows(new)
        if [rules for _, rules in before] != [rules for _, rules in after]:
            return False
        if len(before) == 1:
            return True  # from the start on
        one, other = (
            order(old.start, rows[-1][0])
            for order, rows in ((self.before, before), (self.after, after))
        )
        return all(
            one.place(a) == other.place(b) for (a, _), (b, _) in zip(before, after, strict=True)
        )


class _Order:
    """Where addresses up to `end` stand among the instructions that rows go by, from `start` on."""

    def __init__(self, listing: Listing, kinds: Kinds, start: int, end: int) -> None:
        first, last = listing.span(start, end)
        kind = np.frombuffer(kinds.of(listing, first, last), np.uint8)
        kept = np.flatnonzero((kind & FILLER == 0) & (listing.rows[first:last] >= 0))
        marks = (listing.flows[first:last] != FLOW_CODE[Flow.NEXT]) | (kind & FRAME != 0)
        self.addresses: list[int] = listing.addresses[first:last][kept].tolist()
        self.marks = [True, *marks[kept].tolist()]  # the start counts as one

    def place(self, address: int) -> tuple[int, bool]:
        """How many stand before an address, and whether one does directly."""
        at = bisect_left(self.addresses, address)
        return sum(self.marks[: at + 1]), self.marks[at]
