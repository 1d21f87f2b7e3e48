"""Whether changed unwind rows still say the right thing at the right instruction.

A row describes the frame from its address on, so between two rows stands the instruction that
changes the frame.  Code keeps its order when it moves: each row must follow as many instructions
that touch the frame (the stack pointer, callee-saved registers, the return address) or transfer
control as before, and directly so if it did.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rewriter.core.addresses import first_at
from rewriter.core.isa import Flow
from rewriter.core.listing import Listing
from rewriter.core.program import Function
from rewriter.core.target import Target
from rewriter.elf import unwind, unwind_rows
from rewriter.elf.image import Image
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
        self, program: Program, new: Image, listing: Listing, functions: Iterable[Function]
    ) -> None:
        starts = (function.start for function in functions)
        self.old = {start: program.frames[start] for start in starts if start in program.frames}
        frames = unwind.frames(new)
        self.new = {frame.start: frame for frame in frames if frame.start in self.old}
        self.marked = _Marked(program.listing, program.target, self.old.values())
        self.marked_new = _Marked(listing, program.target, self.old.values())

    def problem(self, function: Function) -> str:
        """What is wrong with the unwind entry of a function, or nothing."""
        old, new = self.old.get(function.start), self.new.get(function.start)
        if old is None:
            return ""
        if new is None or (new.end, new.lsda) != (old.end, old.lsda):
            return "its unwind entry covers something else"
        same = _agree(_Frame(self.marked, old), _Frame(self.marked_new, new))
        return "" if same else "its unwind rows do not follow its instructions"


class _Marked:
    """Which instructions of a text stand in frames and are no fillers, and which rows go by."""

    def __init__(self, listing: Listing, target: Target, frames: Iterable[unwind.Fde]) -> None:
        self.listing = listing
        inside = np.zeros(len(listing), dtype=np.bool_)
        for frame in frames:
            inside[slice(*listing.span(frame.start, frame.end))] = True
        at = np.flatnonzero(inside & (listing.rows >= 0))
        words, which = np.unique(listing.words[at], return_inverse=True)
        insns = [insn for word in words.tolist() if (insn := listing.table.decode(word))]
        kept = [not target.is_filler(insn) for insn in insns]
        marks = [insn.op.flow is not Flow.NEXT or target.touches_frame(insn) for insn in insns]
        self.kept, self.marks = np.zeros_like(inside), np.zeros_like(inside)
        self.kept[at] = np.array(kept, dtype=np.bool_)[which]
        self.marks[at] = np.array(marks, dtype=np.bool_)[which]


class _Frame:
    """Where an address stands among the instructions that rows go by, from a function's start."""

    def __init__(self, marked: _Marked, frame: unwind.Fde) -> None:
        self.rows = unwind_rows.rows(frame)
        span = slice(*marked.listing.span(frame.start, frame.end))
        kept = marked.kept[span]
        self.addresses = marked.listing.addresses[span][kept]
        self.marks = np.append(True, marked.marks[span][kept])  # the start counts as one
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
