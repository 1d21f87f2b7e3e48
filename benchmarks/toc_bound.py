"""Which loads and saves of r2 nobody needs, by liveness over a program's whole text.

The calling standard says that r2 may be read behind every call and return.  That is more than is
so: who calls by a pointer or through the PLT loads r2 again (ELFv2 ABI 1.5, 2.2.1), so that code
of another file reads none that this file left, and of this file only what its direct calls show.
Then a load of r2 is needed where some way behind it comes to a read, in its function, in callees
or where it returns to; a save, where a load that is needed stands in its function or, in a stub of
the PLT, behind a call to it.  A function's start that makes r2 takes an instruction on POWER10 in
any case: entries stay where they are, so that nothing shorter can stand there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from rewriter.analysis import liveness
from rewriter.analysis.program import Program
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow
from rewriter.core.isa.interned import Interned
from targets.ppc.registers import SP, TOC

_R2 = np.uint64(1 << TOC)


def needless(program: Program, counts: Mapping[int, int]) -> int:
    """How often the program executes loads and saves of r2 that nobody needs, by the counts at
    offsets in its file."""
    image, addresses = program.image, program.listing.addresses
    idle = _Touching.of(program).idle(program)
    return sum(counts.get(image.offset_of(int(addresses[at])), 0) for at in idle)


@dataclass(frozen=True)
class _Touching:
    """Positions that load r2 from the stack, that save it there, in stubs of the PLT too, and of
    nops that name it."""

    loads: frozenset[int]
    saves: frozenset[int]
    in_stubs: frozenset[int]
    ignored: frozenset[int]

    @classmethod
    def of(cls, program: Program) -> _Touching:
        """Those of a program."""
        loads, saves, in_stubs, ignored = (set[int]() for _ in range(4))
        listing = program.listing
        for at in np.flatnonzero((listing.uses[:, 0] | listing.defs[:, 0]) & _R2).tolist():
            insn = listing.insn(at)
            if insn is None:
                continue
            on_stack = insn.has("ds") and insn.has("ra0") and insn.operand("ra0") == SP
            if insn.name == "ld" and insn.operand("rt") == TOC and on_stack:
                loads.add(at)
            elif insn.name == "std" and insn.operand("rs") == TOC and on_stack:
                saves.add(at)
                in_stubs |= {at} if _is_stub(listing, at) else set()
            elif insn.name == "ori":
                ignored.add(at)
        return cls(*map(frozenset, (loads, saves, in_stubs, ignored)))

    def idle(self, program: Program) -> frozenset[int]:
        """The loads and saves that nobody needs, by the least fixed point."""
        listing, needed = program.listing, frozenset[int]()
        in_stubs = {int(listing.addresses[at]): at for at in self.in_stubs}
        while True:
            loads = frozenset(self._needed_loads(program, needed))
            called = {at - 1: int(listing.targets[at - 1]) for at in loads}
            functions = {_function(program, at) for at in loads if called[at - 1] not in in_stubs}
            more = {at for at in self.saves if _function(program, at) in functions}
            more -= self.in_stubs
            # A stub saves for each call: what counts is whether this one's caller needs it.
            more |= {call for call, stub in called.items() if stub in in_stubs}
            if more == needed:
                done = {in_stubs[stub] for stub in called.values() if stub in in_stubs}
                return (self.loads | self.saves) - loads - needed - done
            needed = frozenset(more)

    def _needed_loads(self, program: Program, saving: frozenset[int]) -> Iterator[int]:
        """The loads behind which r2 is read, where these saves and calls of stubs read it."""
        graph, listing = program.graph, program.listing
        idle = np.array(sorted((self.ignored | self.saves) - saving), dtype=np.intp)
        uses = listing.uses.with_mask(idle, 0)
        if saving:
            uses = uses.with_mask(np.array(sorted(saving), dtype=np.intp), int(_R2))
        defs = listing.defs.with_mask(np.array(sorted(self.ignored), dtype=np.intp), 0)
        seen = replace(
            graph,
            listing=replace(listing, uses=uses, defs=defs),
            outside=_without(graph.outside),
            returned=_without(graph.returned),
            passed=replace(graph.passed, distinct=graph.passed.distinct | _R2),
        )
        live = liveness.solve(seen)
        for at in self.loads:
            block = int(np.searchsorted(graph.first, at, side="right")) - 1
            rest = slice(at + 1, int(graph.last[block]))
            touched = (uses[rest, 0] | defs[rest, 0]) & _R2
            first = np.flatnonzero(touched)
            if len(first):
                is_read = bool(uses[at + 1 + int(first[0]), 0] & _R2)
            else:
                is_read = bool(live.live_out[block, 0] & _R2)
            if is_read:
                yield at


def _is_stub(listing: Listing, save: int) -> bool:
    """Whether a save is the first instruction of a stub, which goes to what it loads then."""
    insns = listing.insns_at(save + 1, min(save + 5, len(listing)))
    flows = [insn.op.flow for insn in insns if insn is not None]
    return Flow.INDIRECT in flows and not any(flow.links for flow in flows)


def _function(program: Program, at: int) -> Function | None:
    return program.function_at(int(program.listing.addresses[at]))


def _without(masks: Interned) -> Interned:
    """The same masks without r2."""
    distinct = masks.distinct.copy()
    distinct[:, 0] &= ~_R2
    return replace(masks, distinct=distinct)
