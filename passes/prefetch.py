"""Lines that a loop will read or write are asked for before it gets there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from passes.lib.insert import Declined, Finder, Insertion, Setting, Slots
from passes.lib.steps import Change, OwnPass, Steps
from passes.streams.accesses import Stream, streams
from passes.streams.walk import Hint, Walked
from rewriter.analysis.loops import Loop
from rewriter.analysis.program import Program
from rewriter.core.addresses import addresses
from rewriter.core.code.dataflow import registers_of, run
from rewriter.core.code.listing import FLOW_CODE, Listing
from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence, Grade
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.table import Table
from rewriter.core.target.protocol import Target
from rewriter.timing.engines import engine_of

_LEAST = Fraction(1, 20)
"""Of the cycles out of memory: below that the model itself is not exact."""

_SHORT = 4
"""Times as far as a hint asks ahead: a count that is known to end sooner is short."""

_LOOK_BACK = 24  # instructions before a loop in which its count may be set


@dataclass(frozen=True)
class Body:
    """A loop of one block: its places in order, with what stands there; None for a nop."""

    places: tuple[tuple[int, Insn | None], ...]

    @property
    def insns(self) -> tuple[Insn, ...]:
        """What a pass executes, without nops."""
        return tuple(insn for _, insn in self.places if insn is not None)

    def address(self, number: int) -> int:
        """Where the instruction of that number stands."""
        return [address for address, insn in self.places if insn is not None][number]

    def gaps(self) -> list[tuple[int, int]]:
        """Where a hint may stand: address, and the number of what comes next.

        The address is that of a nop, or of the instruction that it stands behind.  Places before
        the branch back come first, since nothing changes place with a hint.
        """
        number, found = 0, []
        for address, insn in self.places[:-1]:
            number += insn is not None
            found.append((address, number, insn is not None))
        found.sort(key=lambda gap: (-gap[1], gap[2]))
        return [(address, number) for address, number, _ in found]


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
              No stream on the stack, which is in the cache, and no count known to be short.
    Proof     A load without a result changes no register and no memory, and signals nothing (Alpha
              Architecture Handbook v4, 4.11; 21264 Hardware Reference Manual, 2.6).  The verifier
              takes such loads out of the new code and compares the rest.

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
        loops = _of_one_block(program.listing, setting.loops) if suited else {}

        def found(function: Function, slots: Slots) -> Iterator[Insertion | Declined]:
            for loop in loops.get(function.start, ()):
                around = _Around(program, function, loop)
                yield from self.insertions(_body(program, loop, slots), setting, around)

        return found

    def insertions(
        self, body: Body, setting: Setting, around: _Around | None = None
    ) -> Iterator[Insertion | Declined]:
        """The streams of one loop; what is around it may forbid a hint."""
        found = tuple(s for s in streams(body.insns, setting.target) if s.accesses)
        if not found:
            return
        walked = Walked(body.insns, found, setting)
        reason = _unsuited(body, setting) or (around.forbids() if around is not None else "")
        hints: dict[int, Hint] = {}
        warm = Fraction(0) if reason else walked.warm(())
        for stream in found:
            kind = "write stream" if stream.writes else "read stream"
            at = body.address(stream.accesses[0].number)
            ahead = 0 if reason else walked.ahead(stream, warm)
            why = reason or (around.hot(stream, ahead, body) if around is not None else "")
            if why:
                yield Declined(kind, at, why)
                continue
            put = _put(body, walked, stream, hints, warm, ahead)
            if isinstance(put, str):
                yield Declined(kind, at, put)
                continue
            address, hint, detail, saves = put
            hints[address] = hint
            here = [insn for place, insn in body.places if place == address and insn is not None]
            detail = f"{detail} in the model of {setting.cpu.name} in {setting.system.name}"
            evidence = Evidence(Grade.PROVED, detail=detail)
            yield Insertion(kind, address, (*here, hint.insn), evidence, saves)


def _put(
    body: Body, walked: Walked, stream: Stream, hints: dict[int, Hint], warm: Fraction, ahead: int
) -> tuple[int, Hint, str, Fraction] | str:
    """Where a stream's hint costs nothing, the hint, and what it saves; or why there is none."""
    offered = walked.setting.target.hints
    if offered is None:
        return "the machine has no hints"
    aligned = stream.aligned(offered.HINT_ALIGNMENT)
    reason = "no register holds the address"
    for address, number in body.gaps():
        place = stream.at[number]
        if place is None or address in hints:
            continue
        register, more = place
        offset = stream.ahead + ahead
        insn = offered.hint(stream.writes, aligned, register, more + offset)
        if insn is None:
            return "too far for a displacement"
        hint = Hint(number, insn, stream, offset)
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


def _of_one_block(listing: Listing, loops: Mapping[int, Sequence[Loop]]) -> dict[int, list[Loop]]:
    """The loops that nothing but the branch back leaves."""
    found: dict[int, list[Loop]] = {}
    every = [(start, loop) for start, inside in loops.items() for loop in inside]
    heads = listing.addresses.searchsorted(addresses(loop.head for _, loop in every))
    # The branch back is a transfer, so that each head has one behind it.
    ends = listing.transfers[listing.transfers.searchsorted(heads)]
    there = listing.addresses[ends] == addresses(loop.latch for _, loop in every)
    there &= listing.flows[ends] == FLOW_CODE[Flow.BRANCH]
    for number in np.flatnonzero(there).tolist():
        start, loop = every[number]
        found.setdefault(start, []).append(loop)
    return found


def _body(program: Program, loop: Loop, slots: Slots) -> Body:
    """A loop of one block, from its head to its latch."""
    listing, places = program.listing, list[tuple[int, Insn | None]]()
    first, last = listing.span(loop.head, loop.latch + 1)
    here = listing.addresses[first:last].tolist()
    for address, old in zip(here, listing.insns_at(first, last), strict=True):
        insn = slots.get(address, old)
        nop = insn is None or program.is_nop(address, insn)
        places.append((address, None if nop else insn))
    return Body(tuple(places))


def _unsuited(body: Body, setting: Setting) -> str:
    """Why a loop is no place for hints, or nothing."""
    table, insns = setting.target.table, body.insns
    if any(_tells(insn, table) for insn in insns):
        return "a barrier, a lock or a hint in the loop"
    needed, before = table.uses(insns[-1]), 0
    while needed != before:
        before = needed
        for insn in reversed(insns):
            if table.defs(insn) & needed:
                if table.effects(insn.op).loads:
                    return "it ends by what it reads: such loops are short"
                needed |= table.uses(insn)
    return ""


def _tells(insn: Insn, table: Table) -> bool:
    """Whether the world sees more of an instruction than an access."""
    effects = table.effects(insn.op)
    return bool(effects.events) or (effects.loads and not table.defs(insn))


@dataclass(frozen=True)
class _Around:
    """What a function does around one of its loops."""

    program: Program
    function: Function
    loop: Loop

    def forbids(self) -> str:
        """Why no hint may be in the loop, or nothing."""
        if self.program.is_kernel:
            return "a kernel's loop may walk over a device"
        near, listing = self.program.near_locks, self.program.listing
        first = listing.index(self.loop.head)
        while listing.flows[first - 1] == FLOW_CODE[Flow.NEXT] and first > 1:
            first -= 1  # the way into the loop is compared with it
        addresses = range(int(listing.addresses[first]), self.loop.latch + 1)
        return "a load-locked is near" if any(at in near for at in addresses) else ""

    def hot(self, stream: Stream, ahead: int, body: Body) -> str:
        """Why a stream is in the cache already, or ends before a hint is of use; or nothing."""
        stack = self.program.target.spelling.STACK
        facts = self.program.facts(self.function).get(self.loop.head, {})
        if stream.base == stack or facts.get(stream.base, (0, 0))[0] == stack:
            return "on the stack"
        passes = self._count(body)
        if passes is not None and passes * abs(stream.step) < _SHORT * abs(ahead):
            return "a short count"
        return ""

    def _count(self, body: Body) -> int | None:
        """How many passes there are, if a counter is set to a constant right before the loop."""
        table, target = self.program.target.table, self.program.target
        tested = registers_of(table.uses(body.insns[-1]))
        steps = [target.linear(insn) for insn in body.insns]
        own = [s for s in steps if s is not None and s[0] == s[1] == tested[0] and s[2]]
        if len(own) != 1:
            return None
        listing = self.program.listing
        first = listing.index(self.loop.head)
        for at in range(first - 1, max(first - _LOOK_BACK, 0), -1):
            insn = listing.insn(at)
            if insn is None or insn.op.flow not in (Flow.NEXT, Flow.BRANCH):
                return None
            if table.defs(insn) >> tested[0] & 1:
                terms = target.table.terms()
                value = run(table, terms, (insn,), (0,), ()).made[0][tested[0]]
                return value.value // abs(own[0][2]) if value.kind == "const" else None
        return None
