"""Where control goes in Alpha code and what may be read there, simply and on the safe side.

Nothing of the product's flow graph, jump tables or liveness is used: a computed jump may lead to
every place of its function that some word of data, whatever it is for, says by its distance from a
gp of the file, and behind a pointer to a function it may be a call.  What calls and returns pass on
is the calling standard's, but that the code of a callee that is seen says itself what it reads.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import register_mask
from rewriter.elf.headers import PT_LOAD, SHF_EXECINSTR
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import FP, GP, PV, RA, SP, V0
from tests.support.mutants.plain_base import WORD
from tests.support.mutants.plain_ways import PlainWays

_SAVED = register_mask((*range(9, 16), *range(FP + 2, FP + 10), GP, SP))
_RESULTS = register_mask((V0, FP, FP + 1, RA))
_LOST = register_mask((V0, FP, FP + 1))
"""What a callee by the standard sets, or leaves with nothing that its caller may read."""
_UNSEEN = register_mask((*range(16, 22), *range(FP + 16, FP + 22), PV, RA, GP, SP))
"""What a callee that is not seen may read: arguments, its own address, the way back, the stack."""
_WIDE, _WIDE_RESULTS = "_Ots", register_mask((16, 17))
"""Routines with results of 128 bits, by the beginning of their names, and where these are."""
_DIVIDES, _DIVIDED = 23, register_mask((24, 25, PV))
"""The link of the division routines, and what they read."""
_LEFT = _SAVED | _RESULTS | _UNSEEN
"""What may be read where control goes on in another function for good."""
_FAR = 40_000
_OTHERS = (".eh_frame", ".gnu", ".dyn", ".hash", ".rela", ".note", ".gcc_except", ".debug", ".sym")
"""Sections that no jump reads: what they say of functions and landing pads is known otherwise."""


class Ways(PlainWays):
    """The code of one file."""

    def may_read(self, address: int, register: int) -> bool:
        """Whether anything may read what is in a register when control comes to an address.

        What only computes registers that nobody reads, reads nothing: so counts a sum in a loop.
        """
        todo, seen = [(address, False, 1 << register)], set[tuple[int, bool, int]]()
        while todo:
            state = todo.pop()
            if state in seen:
                continue
            seen.add(state)
            after = self._goes_on(*state) if len(seen) <= _FAR else None
            if after is None:
                return True
            todo += after
        return False

    def _goes_on(self, address: int, inner: bool, bit: int) -> list[tuple[int, bool, int]] | None:
        """Where a register's value, or what is made of it, may be read next; None where it is."""
        insn = self.base.insn(address)
        if insn is None or (bit & _SAVED and self._has_pads(address)):
            return None
        made = _makes(insn) if TABLE.uses(insn) & bit else ()
        if made is None:
            return None
        found = [(address + WORD, inner, 1 << register) for register in made]
        if address in self.program.fixups:
            found.append((self.program.fixups[address].resume, inner, bit))
        if TABLE.defs(insn) & bit and insn.op.flow is not Flow.CALL:
            return found
        after = self._after((address, inner), insn, bit)
        return None if after is None else [*found, *((*place, bit) for place in after)]

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
            returned = _SAVED | _RESULTS | (_WIDE_RESULTS if self._wide(address) else 0)
            returned = returned if insn.operand("rb") == RA else ~0
            return [] if inner or not bit & returned else None
        if flow in (Flow.CALL, Flow.INDIRECT_CALL):
            return self._calls(place, insn, bit, to)
        return self._jumps(address, insn, bit, inner) if flow is Flow.INDIRECT else []

    def _calls(
        self, place: tuple[int, bool], insn: Insn, bit: int, to: int | None
    ) -> list[tuple[int, bool]] | None:
        """The same at a call.

        What comes back through another register than the standard's leaves all others as they were.
        A scratch register may be read by a callee, but not by what this one calls in turn.
        """
        following, link = (place[0] + WORD, place[1]), insn.operand("ra")
        lost = TABLE.defs(insn) | (_LOST if link == RA else 0)
        rest = [] if bit & lost else [following]
        if to is not None:
            return rest if place[1] and link == RA and not bit & _LEFT else [*rest, (to, True)]
        unseen = {RA: _UNSEEN, _DIVIDES: _DIVIDED}.get(link, ~0)
        return None if insn.operand("rb") != PV or bit & unseen else rest

    def _jumps(
        self, address: int, insn: Insn, bit: int, inner: bool
    ) -> list[tuple[int, bool]] | None:
        """The same behind a computed jump."""
        if inner and not bit & _LEFT:
            return []
        function = self.program.function_at(address)
        if function is None or (insn.operand("rb") == PV and bit & _LEFT):
            return None
        ends = np.searchsorted(self.told, (function.start, function.end))
        return [(place, inner) for place in self.told[slice(*ends)].tolist()] or None

    def _wide(self, address: int) -> bool:
        function = self.program.function_at(address)
        return function is None or function.name.startswith(_WIDE)

    def _has_pads(self, address: int) -> bool:
        """Whether control may go on at a landing pad, where saved registers are as they were."""
        function = self.program.function_at(address)
        frame = None if function is None else self.program.frames.get(function.start)
        return frame is not None and frame.lsda is not None

    # Straight code ------------------------------------------------------------------------

    @cached_property
    def told(self) -> NDArray[np.uint64]:
        """The addresses in text that words of data say, ascending."""
        image, shared = self.base.grown, set(self.program.references.shared.values())
        data = bytearray(image.data)
        for section in image.sections:
            if section.sh_flags & SHF_EXECINSTR or section.name.startswith(_OTHERS):
                data[section.sh_offset : section.file_end] = bytes(
                    section.file_end - section.sh_offset
                )
        found = [np.empty(0, np.uint64)]
        for segment in image.segments:
            if segment.p_type == PT_LOAD:
                part = data[segment.p_offset :][: segment.p_filesz // 8 * 8]
                far = np.frombuffer(part, "<i4").astype(np.int64).view(np.uint64)
                found += [far + np.uint64(gp) for gp in shared] + [np.frombuffer(part, "<u8")]
        return np.intersect1d(np.concatenate(found), self.program.listing.addresses)

    @cached_property
    def entered(self) -> frozenset[int]:
        """Addresses to which control may come otherwise than by a branch or from the one before."""
        program = self.program
        found = set(program.listing.addresses[program.graph.first[program.graph.entered]].tolist())
        found |= {f.start for f in program.functions} | {p.address for p in program.pins}
        found |= {fixup.resume for fixup in program.fixups.values()}
        return frozenset(found | program.references.labels | set(self.told.tolist()))


def _makes(insn: Insn) -> tuple[int, ...] | None:
    """The registers that an instruction computes of registers alone; None where it does more."""
    made = TABLE.computes(insn)
    return made if made and not TABLE.effects(insn.op).loads else None
