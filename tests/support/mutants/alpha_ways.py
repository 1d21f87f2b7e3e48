"""Where control goes in Alpha code and what may be read there, simply and on the safe side.

Nothing of the product's flow graph or liveness is used: jump tables are not believed, a computed
jump goes anywhere.  What calls and returns pass on is the calling standard's, but that the code
of a callee that is seen says itself what it reads.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rewriter.core.addresses import NOWHERE
from rewriter.core.isa import AWAY, Flow, Insn, register_mask
from rewriter.core.listing import FLOW_CODE
from targets.alpha.isa import TABLE
from targets.alpha.registers import FP, GP, PV, RA, SP, V0
from tests.support.mutants.alpha_base import WORD, AlphaBase

_SAVED = register_mask((*range(9, 16), *range(FP + 2, FP + 10), GP, SP))
_RESULTS = register_mask((V0, FP, FP + 1, RA))
_LOST = register_mask((V0, FP, FP + 1))
"""What a callee by the standard sets, or leaves with nothing that its caller may read."""
_UNSEEN = register_mask((*range(16, 22), *range(FP + 16, FP + 22), PV, RA, GP, SP))
"""What a callee that is not seen may read: arguments, its own address, the way back, the stack."""
_WIDE, _WIDE_RESULTS = "_Ots", register_mask((16, 17))
"""Routines with results of 128 bits, by the beginning of their names, and where these are."""
_FAR = 40_000


class Ways:
    """The code of one file."""

    def __init__(self, base: AlphaBase) -> None:
        self.base, self.program = base, base.program

    def may_read(self, address: int, register: int) -> bool:
        """Whether anything may read what is in a register when control comes to an address."""
        todo, seen, bit = [(address, False)], set[tuple[int, bool]](), 1 << register
        while todo:
            place = todo.pop()
            if place in seen:
                continue
            seen.add(place)
            insn = self.base.insn(place[0])
            if insn is None or len(seen) > _FAR or TABLE.uses(insn) & bit:
                return True
            if self._has_pads(place[0]):
                return True
            if place[0] in self.program.fixups:
                todo.append((self.program.fixups[place[0]].resume, place[1]))
            if TABLE.defs(insn) & bit and insn.op.flow is not Flow.CALL:
                continue
            after = self._after(place, insn, bit)
            if after is None:
                return True
            todo += after
        return False

    def _after(
        self, place: tuple[int, bool], insn: Insn, bit: int
    ) -> list[tuple[int, bool]] | None:
        """Where a value may be read next; None if it may be read in code that is not seen.

        `place` says whether it is in a callee, whose return was followed already.
        """
        address, inner = place
        flow, following, to = insn.op.flow, address + WORD, insn.target(address)
        if flow is Flow.NEXT or flow is Flow.TRAP:
            return [(following, inner)]
        if flow is Flow.BRANCH or flow is Flow.JUMP:
            assert to is not None
            return [(to, inner)] + ([(following, inner)] if flow is Flow.BRANCH else [])
        if flow is Flow.RETURN:
            if insn.operand("rb") != RA:
                return None
            returned = _SAVED | _RESULTS | (_WIDE_RESULTS if self._wide(address) else 0)
            return [] if inner or not bit & returned else None
        if flow is Flow.CALL:
            if insn.operand("ra") != RA or to is None:
                return None
            rest = [] if bit & _LOST or TABLE.defs(insn) & bit else [(following, inner)]
            return [*rest, (to, True)]
        if flow is Flow.INDIRECT_CALL:
            if (insn.operand("ra"), insn.operand("rb")) != (RA, PV) or bit & _UNSEEN:
                return None
            return [] if bit & _LOST else [(following, inner)]
        return [] if flow is Flow.STOP else None

    def _wide(self, address: int) -> bool:
        function = self.program.function_at(address)
        return function is None or function.name.startswith(_WIDE)

    def _has_pads(self, address: int) -> bool:
        """Whether a landing pad, which may read anything, may be where control goes on."""
        function = self.program.function_at(address)
        frame = None if function is None else self.program.frames.get(function.start)
        return frame is not None and frame.lsda is not None

    # Straight code ------------------------------------------------------------------------

    @cached_property
    def heads(self) -> frozenset[int]:
        """Addresses to which control may come otherwise than from the one before."""
        listing, program = self.base.listing, self.program
        found = {int(t) for t in listing.targets[listing.targets != NOWHERE]}
        found |= {int(t) for t in program.listing.targets[program.listing.targets != NOWHERE]}
        found |= set(program.listing.addresses[program.graph.first[program.graph.entered]].tolist())
        found |= {f.start for f in program.functions} | {p.address for p in program.pins}
        found |= {fixup.resume for fixup in program.fixups.values()}
        return frozenset(found | program.references.labels)

    @cached_property
    def _jumping(self) -> frozenset[int]:
        """The starts of functions with a computed jump."""
        listing = self.program.listing
        flows = listing.flows == FLOW_CODE[Flow.INDIRECT]
        owners = map(self.program.function_at, listing.addresses[np.flatnonzero(flows)].tolist())
        return frozenset(owner.start for owner in owners if owner is not None)

    def is_jumped_in(self, address: int) -> bool:
        """Whether a computed jump might lead to an address."""
        function = self.program.function_at(address)
        return function is None or function.start in self._jumping

    def straight_before(self, address: int, limit: int = 48) -> int:
        """Where straight code begins that control enters at its top only and runs to an address."""
        first = address
        if self.is_jumped_in(address):
            return first
        while first not in self.heads and address - first < limit * WORD:
            before = self.base.insn(first - WORD)
            if before is None or before.op.flow not in (Flow.NEXT, Flow.BRANCH):
                break
            first -= WORD
        return first

    def is_reached(self, address: int) -> bool:
        """Whether control may come to an address."""
        while address not in self.heads and not self.is_jumped_in(address):
            address -= WORD
            before = self.base.insn(address)
            if before is None or before.op.flow in AWAY:
                return before is None
        return True

    def settled(self, address: int) -> int:
        """Where control comes to that goes to an address, past what does nothing."""
        for _ in range(16):
            insn = self.base.insn(address)
            if insn is None:
                break
            if self.program.target.is_filler(insn):
                address += WORD
            elif insn.op.flow is Flow.JUMP and TABLE.defs(insn) == 0:
                address = insn.target(address) or address
            else:
                break
        return address
