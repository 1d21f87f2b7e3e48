"""Whether changed unwind rows still say the right thing at the right instruction.

A row describes the frame from its address on, so between two rows stands the instruction that
changes the frame.  Code keeps its order when it moves: each row must follow as many instructions
that touch the frame (the stack pointer, callee-saved registers, the return address) or transfer
control as before, and directly so if it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, partial

import numpy as np

from rewriter.core.addresses import first_at
from rewriter.core.isa import Flow
from rewriter.core.listing import Listing
from rewriter.core.program import Function
from rewriter.core.target import Target
from rewriter.elf import unwind, unwind_rows
from rewriter.identify.program import Program


def frame_owners(frames: Iterable[unwind.Fde], offsets: Iterable[int]) -> dict[int, unwind.Fde]:
    """For each file offset among the instructions of an unwind entry, that entry."""
    ordered = sorted(frames, key=lambda frame: frame.instructions)
    starts = np.array([frame.instructions[0] for frame in ordered], dtype=np.int64)
    owners = {}
    for offset in offsets:
        at = int(np.searchsorted(starts, offset, side="right")) - 1
        if at >= 0 and offset < ordered[at].instructions[1]:
            owners[offset] = ordered[at]
    return owners


class Rows:
    """The unwind entries of some functions in two files."""

    def __init__(
        self,
        program: Program,
        new: Mapping[int, unwind.Fde],
        listing: Listing,
        functions: Iterable[Function],
    ) -> None:
        """`new` are the entries of the new file by where they start, `listing` is its text."""
        starts = (function.start for function in functions)
        self.old = {start: program.frames[start] for start in starts if start in program.frames}
        self.new = new
        marks = _Marks(program.target)
        self.before = partial(_Frame, program.listing, marks)
        self.after = partial(_Frame, listing, marks)

    def problem(self, function: Function) -> str:
        """What is wrong with the unwind entry of a function, or nothing."""
        old, new = self.old.get(function.start), self.new.get(function.start)
        if old is None:
            return ""
        if new is None or (new.end, new.lsda) != (old.end, old.lsda):
            return "its unwind entry covers something else"
        same = _agree(self.before(old), self.after(new))
        return "" if same else "its unwind rows do not follow its instructions"


class _Marks:
    """What rows make of the instruction that a word is: no instruction or a filler, any, a mark."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.of = lru_cache(_REMEMBERED)(self._of)

    def _of(self, word: int) -> int:
        insn = self.target.table.decode(word)
        if insn is None or self.target.is_filler(insn):
            return _NOTHING
        goes = insn.op.flow is not Flow.NEXT or self.target.touches_frame(insn)
        return _MARK if goes else _PLAIN


_NOTHING, _PLAIN, _MARK = range(3)
_REMEMBERED = 1 << 15
"""Words: code repeats itself nearby."""


class _Frame:
    """Where an address stands among the instructions that rows go by, from a function's start."""

    def __init__(self, listing: Listing, marks: _Marks, frame: unwind.Fde) -> None:
        self.rows = unwind_rows.rows(frame)
        span = slice(*listing.span(frame.start, frame.end))
        found = np.array(list(map(marks.of, listing.words[span].tolist())))
        found[listing.rows[span] < 0] = _NOTHING
        kept = np.flatnonzero(found)
        self.addresses = listing.addresses[span][kept]
        self.marks = np.append(True, found[kept] == _MARK)  # the start counts as one
        self.passed = np.cumsum(self.marks)

    def place(self, address: int) -> tuple[int, bool]:
        """How many stand before an address, and whether one does directly."""
        at = first_at(self.addresses, address)
        return int(self.passed[at]), bool(self.marks[at])


def _agree(old: _Frame, new: _Frame) -> bool:
    if [rules for _, rules in old.rows] != [rules for _, rules in new.rows]:
        return False
    return all(
        old.place(a) == new.place(b) for (a, _), (b, _) in zip(old.rows, new.rows, strict=True)
    )
