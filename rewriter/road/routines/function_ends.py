"""Room for pieces of routines in a kernel: behind its text, and what layouts left at their ends."""

from __future__ import annotations

from collections.abc import Iterator

from passes.substitution.pieces import Space
from rewriter.analysis.program import Program
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import AWAY
from rewriter.elf.gap import TextGap, freed, text_gap
from rewriter.road.emission import emitted
from rewriter.road.work import Work

_SMALLEST = 32  # bytes: two fetch blocks


def spaces(work: Work) -> Iterator[Space]:
    """What control does not come to in the file as it is now, by address, and stays in memory."""
    gap, data = text_gap(work.program.image), emitted(work)
    if gap is not None:
        yield Space(max([gap.start, *_taken(work, gap)]), gap.end, None)
    for function in sorted(work.done, key=lambda f: f.start):
        done = work.done[function]
        # Room in a function with lines would get these.
        if done.stages and done.substitution is None and not work.described.names(function):
            space = Space(_tail(work.program, data, function), function.end, function)
            if space.size >= _SMALLEST and not freed(work.program.image, function.start):
                yield space


def _taken(work: Work, gap: TextGap) -> Iterator[int]:
    """Where the pieces end that stand behind the text."""
    for done in work.done.values():
        one = done.substitution
        if one is not None and one.scattered is not None:
            code = one.scattered.code
            yield from (at + len(word) for at, word in code.items() if gap.start <= at < gap.end)


def _tail(program: Program, data: bytes, function: Function) -> int:
    """Where the nops begin that end a function, if control does not fall into them."""
    image, target = program.image, program.target
    size, offset = target.table.size, image.offset_of(function.start) - function.start
    for end in range(function.end, function.start, -size):
        word = data[offset + end - size : offset + end]
        insn = target.table.decode(int.from_bytes(word, image.byteorder))
        if insn is None or not program.is_nop(end - size, insn):
            return end if insn is not None and insn.op.flow in AWAY else function.end
    return function.end
