"""Whether changed unwind rows still say the right thing at the right instruction.

A row describes the frame from its address on, so between two rows stands the instruction that
changes the frame.  Code keeps its order when it moves: each row must follow as many instructions
that touch the frame (the stack pointer, callee-saved registers, the return address) or transfer
control as before, and directly so if it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from rewriter.core.addresses import first_at
from rewriter.core.isa import Flow
from rewriter.core.listing import Listing
from rewriter.elf import unwind
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


def compare_rows(
    program: Program, new: Image, listing: Listing, starts: Iterable[int]
) -> Iterator[tuple[int, str]]:
    """What is wrong with the unwind entries of the functions that start there, by their start."""
    after = {frame.start: frame for frame in unwind.frames(new)}
    for start in sorted(set(starts) & program.frames.keys()):
        old, other = program.frames[start], after.get(start)
        if other is None or (other.end, other.lsda) != (old.end, old.lsda):
            yield start, "its unwind entry covers something else"
        elif not _agree(program, old, other, listing):
            yield start, "its unwind rows do not follow its instructions"


def _agree(program: Program, old: unwind.Fde, new: unwind.Fde, listing: Listing) -> bool:
    before, after = unwind.rows(old), unwind.rows(new)
    if [rules for _, rules in before] != [rules for _, rules in after]:
        return False
    count_old = _Frame(program, program.listing, old)
    count_new = _Frame(program, listing, new)
    return all(
        count_old.place(a) == count_new.place(b)
        for (a, _), (b, _) in zip(before, after, strict=True)
    )


class _Frame:
    """Where an address stands among the instructions that rows go by, from a function's start."""

    def __init__(self, program: Program, listing: Listing, frame: unwind.Fde) -> None:
        target = program.target
        first, last = listing.span(frame.start, frame.end)
        insns = ((at, listing.insn(at)) for at in range(first, last))
        kept = [(at, insn) for at, insn in insns if insn and not target.is_filler(insn)]
        self.addresses = listing.addresses[[at for at, _ in kept]]
        marks = [insn.op.flow is not Flow.NEXT or target.touches_frame(insn) for _, insn in kept]
        self.marks = np.array([True, *marks])  # the start counts as one
        self.passed = np.cumsum(self.marks)

    def place(self, address: int) -> tuple[int, bool]:
        """How many stand before an address, and whether one does directly."""
        at = first_at(self.addresses, address)
        return int(self.passed[at]), bool(self.marks[at])
