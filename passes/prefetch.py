"""Lines that a loop will read or write are asked for before it gets there."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from passes.lib.insert import Declined, Finder, Insertion, Setting, Slots
from passes.lib.steps import Change, OwnPass, Steps
from passes.streams.accesses import Stream, streams
from passes.streams.bodies import Around, Body, body_of, of_one_block, unsuited
from passes.streams.walk import Hint, Walked
from rewriter.analysis.program import Program
from rewriter.core.code.dataflow import registers_of, written
from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence, Grade
from rewriter.core.target.protocol import Target
from rewriter.timing.engines import engine_of

_LEAST = Fraction(1, 20)
"""Of the cycles out of memory: below that the model itself is not exact."""


class Prefetch(OwnPass):
    """A loop that walks over memory asks for a line some passes before it needs it.

    Before    loop: ldq t0,0(a0)    After    loop: ldq t0,0(a0)
                    lda a0,8(a0)                   lda a0,8(a0)
                    mulq t0,v0,v0                  mulq t0,v0,v0
                    subq a1,1,a1                   subq a1,1,a1
                    bne a1,loop                    ldl zero,120(a0)
                                                   bne a1,loop
    Requires  An innermost loop of one block that ends when a count does, not when it has read
              something: a search is short.  No load-locked within 80 instructions (21264 Hardware
              Reference Manual, 2.6.4), no barrier in the loop: what has one may talk to a device.
              No stream on the stack, which is in the cache, and no count known to be short.  In a
              kernel only what is shown to be memory (`analysis/values/memory.py`).
    Proof     A load without a result changes no register and no memory, and signals nothing (Alpha
              Architecture Handbook v4, 4.11; 21264 Hardware Reference Manual, 2.6); no more does
              dcbt (PowerPC architecture, Book II, 3.2.2), whose distance is in a register that
              nobody reads.  The verifier takes hints out of the new code and compares the rest.

    Made where the model says that a pass takes no longer with everything in the cache, and that
    it takes less when the stream comes out of memory.
    """

    name = "prefetch"
    change = Change.ROOM

    def offered(self, target: Target) -> bool:
        """Where there are hints: in loops of one block, or in regions of bundles."""
        code = target.sequential
        return target.bundling is not None or (code is not None and code.hints is not None)

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.inserts(self)

    def finder(self, program: Program, setting: Setting) -> Finder:
        """What finds the sites of functions."""
        suited = setting.cpu.pipeline is not None and engine_of(setting.cpu).asks_ahead
        loops = of_one_block(program.listing, setting.loops) if suited else {}
        if loops:
            program.prepare_hints()

        def found(function: Function, slots: Slots) -> Iterator[Insertion | Declined]:
            for loop in loops.get(function.start, ()):
                around = Around(program, function, loop)
                yield from self.insertions(body_of(program, loop, slots), setting, around)

        return found

    def insertions(
        self, body: Body, setting: Setting, around: Around | None = None
    ) -> Iterator[Insertion | Declined]:
        """The streams of one loop; what is around it may forbid a hint."""
        found = tuple(s for s in streams(body.insns, setting.target) if s.accesses)
        if not found:
            return
        walked = Walked(body.insns, found, setting)
        reason = unsuited(body, setting) or (around.forbids() if around is not None else "")
        hints: dict[int, Hint] = {}
        spares = around.spares(body) if around is not None and not reason else 0
        warm = Fraction(0) if reason else walked.warm(())
        for stream in found:
            kind = "write stream" if stream.writes else "read stream"
            at = body.address(stream.accesses[0].number)
            ahead = 0 if reason else walked.ahead(stream, warm)
            why = reason
            if around is not None and not reason:
                why = around.device(stream, ahead) or around.hot(stream, ahead, body)
            if why:
                yield Declined(kind, at, why)
                continue
            put = _put(body, walked, stream, hints, spares, warm, ahead)
            if isinstance(put, str):
                yield Declined(kind, at, put)
                continue
            address, hint, detail, saves = put
            hints[address] = hint
            spares &= ~written(setting.target.table, hint.insns)
            here = [insn for place, insn in body.places if place == address and insn is not None]
            detail = f"{detail} in the model of {setting.cpu.name} in {setting.system.name}"
            evidence = Evidence(Grade.PROVED, detail=detail)
            yield Insertion(kind, address, (*here, *hint.insns), evidence, saves)


def _put(
    body: Body,
    walked: Walked,
    stream: Stream,
    hints: dict[int, Hint],
    spares: int,
    warm: Fraction,
    ahead: int,
) -> tuple[int, Hint, str, Fraction] | str:
    """Where a stream's hint costs nothing, the hint, and what it saves; or why there is none."""
    offered = walked.setting.target.hints
    if offered is None:
        return "the machine has no hints"
    if offered.SPARES and not spares:
        return "no register is free"
    spare = registers_of(spares)[0] if spares else 0
    aligned = stream.aligned(offered.HINT_ALIGNMENT)
    reason = "no register holds the address"
    for address, number in body.gaps():
        place = stream.at[number]
        if place is None or address in hints:
            continue
        register, more = place
        offset = stream.ahead + ahead
        insns = offered.hint(stream.writes, aligned, register, more + offset, spare)
        if insns is None:
            return "too far for a displacement"
        hint = Hint(number, insns, stream, offset)
        if walked.warm((*hints.values(), hint)) > warm:
            reason = "a pass would take longer in the cache"
            continue
        passes = walked.passes(stream, ahead)
        before = walked.cold(tuple(hints.values()), passes)
        after = walked.cold((*hints.values(), hint), passes)
        if before - after < _LEAST * before:
            return "no gain in the model"
        took = (f"{float(Fraction(n, passes)):.1f}" for n in (before, after))
        said = "{} cycles a pass out of memory became {}".format(*took)
        said += f", {warm} in the cache stayed, {abs(ahead)} bytes ahead"
        return address, hint, said, Fraction(before - after, passes)
    return reason
