"""Loops of one block: what a pass executes, and what stands against hints in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from passes.lib.insert import Setting, Slots
from passes.streams.accesses import Stream
from rewriter.analysis.loops import Loop
from rewriter.analysis.program import Program
from rewriter.core.addresses import addresses
from rewriter.core.code.dataflow import registers_of, run, written
from rewriter.core.code.listing import FLOW_CODE, Listing
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.table import Table
from rewriter.core.target.cpu import Cpu
from rewriter.timing.described import NotDescribed, sched_of, traits_of
from rewriter.verify.walk.frames import bases

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


def of_one_block(listing: Listing, loops: Mapping[int, Sequence[Loop]]) -> dict[int, list[Loop]]:
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


def body_of(program: Program, loop: Loop, slots: Slots) -> Body:
    """A loop of one block, from its head to its latch."""
    listing, places = program.listing, list[tuple[int, Insn | None]]()
    first, last = listing.span(loop.head, loop.latch + 1)
    here = listing.addresses[first:last].tolist()
    for address, old in zip(here, listing.insns_at(first, last), strict=True):
        insn = slots.get(address, old)
        nop = insn is None or program.is_nop(address, insn)
        places.append((address, None if nop else insn))
    return Body(tuple(places))


def unsuited(body: Body, setting: Setting) -> str:
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
    return _not_timed(insns, setting.cpu)


def _not_timed(insns: Sequence[Insn], cpu: Cpu) -> str:
    """Which class of instructions a CPU's description lacks, or nothing."""
    try:
        for insn in insns:
            sched_of(cpu, traits_of(cpu, insn))
    except NotDescribed as missing:
        return str(missing)
    return ""


def _tells(insn: Insn, table: Table) -> bool:
    """Whether the world sees more of an instruction than an access."""
    effects = table.effects(insn.op)
    return bool(effects.events) or (effects.loads and not table.defs(insn))


@dataclass(frozen=True)
class Around:
    """What a function does around one of its loops."""

    program: Program
    function: Function
    loop: Loop

    def forbids(self) -> str:
        """Why no hint may be in the loop, or nothing."""
        listing = self.program.listing
        first = listing.index(self.loop.head)
        while listing.flows[first - 1] == FLOW_CODE[Flow.NEXT] and first > 1:
            first -= 1  # the way into the loop is compared with it
        places = range(int(listing.addresses[first]), self.loop.latch + 1)
        return "a load-locked is near" if self.program.is_near_lock(places) else ""

    def device(self, stream: Stream, ahead: int = 0) -> str:
        """Why a stream, or what is asked for ahead of it, may be a device's, or nothing."""
        if not self.program.is_kernel:
            return ""
        known, found = self.program.target.known_memory, self.program.in_memory(self.function)
        held = None if found is None else found[1].get(self.loop.head)
        if any(at in self.program.fixups for at in range(self.loop.head, self.loop.latch)):
            return "its memory is a user's, who may have mapped a device"
        near = known is not None and abs(stream.ahead + ahead) <= known.AROUND
        if held is not None and near and held.memory >> stream.base & 1:
            return ""
        return "a kernel's loop may walk over a device"

    def spares(self, body: Body) -> int:
        """Registers that a hint may take: nothing in the loop uses them, nor anything behind it.

        What is read behind the loop and not written in it is read from its start on, too.  The
        function writes them elsewhere: a caller may keep values in those that it does not write.
        Unwinders may find a frame by some that nothing reads.
        """
        program, target = self.program, self.program.target
        offered, function = target.hints, self.function
        if offered is None or not offered.SPARES:
            return 0
        taken = program.live_into(self.loop.head) | written(target.table, body.insns)
        taken |= bases(program.frames.get(function.start), target)
        for insn in body.insns:
            taken |= target.table.uses(insn)
        every = program.listing.insns(function.start, function.end)
        own = [insn for insn in every if insn is not None and not target.is_nop(insn)]
        return offered.SPARES & ~taken & written(target.table, own)

    def hot(self, stream: Stream, ahead: int, body: Body) -> str:
        """Why a stream is in the cache already, or ends before a hint is of use; or nothing."""
        stack = self.program.target.spelling.STACK
        facts = self.program.facts(self.function).get(self.loop.head, {})
        known = facts.get(stream.base)
        if stream.base == stack or (known and known.base == stack and not known.cell):
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
