"""Room for pieces of routines in a kernel: behind its text, and what layouts left at their ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from passes.pieces import Space
from rewriter.core.isa import AWAY
from rewriter.core.program import Function
from rewriter.elf.gap import text_gap
from rewriter.steps.done import Done
from rewriter.steps.work import Work

_SMALLEST = 32  # bytes: two fetch blocks


def spaces(work: Work) -> Iterator[Space]:
    """What control does not come to in the file as it is now, by address."""
    gap = text_gap(work.program.image)
    if gap is not None:
        yield Space(gap.start, gap.end, None)
    for function in sorted(work.done, key=lambda f: f.start):
        done = work.done[function]
        if done.stages and done.substitution is None:
            space = _tail(work, done)
            if space.size >= _SMALLEST:
                yield space


def _tail(work: Work, done: Done) -> Space:
    """The fillers behind the last instruction of a function, if control does not fall into them."""
    program, function = work.program, done.function
    text = bytearray(program.image.read(function.start, function.end - function.start))
    for offset, new in done.stages[-1].changed:
        at = _address(work, offset, function)
        if at is not None:
            text[at : at + len(new)] = new[: len(text) - at]
    size = program.target.table.word_bits // 8
    words = np.frombuffer(bytes(text), "<u4" if program.image.byteorder == "little" else ">u4")
    for n in range(len(words) - 1, -1, -1):
        insn = program.target.table.decode(int(words[n]))
        if insn is None or not program.target.is_filler(insn):
            ends = insn is not None and insn.op.flow in AWAY
            start = function.start + size * (n + 1) if ends else function.end
            return Space(start, function.end, function)
    return Space(function.end, function.end, function)


def _address(work: Work, offset: int, function: Function) -> int | None:
    """How far into a function a file offset is; None for what lies outside it."""
    first = work.program.image.offset_of(function.start)
    inside = first <= offset < first + function.end - function.start
    return offset - first if inside else None
