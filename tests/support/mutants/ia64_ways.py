"""Where control goes in IA-64 code and what may be read there, simply and on the safe side.

Calls and returns pass on what the calling standard says (Itanium Software Conventions, chapter 5);
computed branches, and all that is not understood, may read everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from rewriter.core.groups import Slot
from rewriter.core.isa import Flow, Insn, Kind, register_mask
from targets.ia64.fields import BUNDLE, QP
from targets.ia64.isa import TABLE
from targets.ia64.registers import FR, GR, NAMES, PR, numbers
from tests.support.mutants.ia64_base import Ia64Base

EVERYTHING = (1 << len(NAMES)) - 1
_SCRATCH = register_mask(
    (
        *(GR + n for n in (2, 3, *range(14, 32))),
        *(FR + n for n in (6, 7, *range(32, 128))),
        *range(PR + 6, PR + 16),
        *numbers("b6", "b7"),
    )
)
"""Scratch registers without a result."""
_RESULTS = register_mask((*range(GR + 8, GR + 12), *range(FR + 8, FR + 16)))
_CHAIN = 1 << GR + 15
_GP = 1 << GR + 1
_STACKED = register_mask(range(GR + 32, GR + 128))
_FAR = 5_000


class Ways:
    """The code of one file."""

    def __init__(self, base: Ia64Base) -> None:
        self.base = base

    def live(self, address: int, wanted: int) -> int:
        """Of some registers those that may be read when control comes to a bundle."""
        seen: dict[int, int] = {}
        todo, found = [(address, wanted)], 0
        while todo:
            at, left = todo.pop()
            left &= ~found & ~seen.get(at, 0)
            if not left:
                continue
            seen[at] = seen.get(at, 0) | left
            if len(seen) > _FAR or not (slots := self.base.slots(at)):
                return wanted
            for slot in slots:
                read, after, goes = self._slot(slot, left)
                found |= read
                todo += [(to, left & mask) for to, mask in goes]
                left = after & ~found
                if not left:
                    break
            if left:
                todo.append((at + BUNDLE, left))
        return found & wanted

    def _slot(self, slot: Slot, left: int) -> tuple[int, int, list[tuple[int, int]]]:
        """Of registers `left`: what may be read at a slot, what goes on behind it, and where else.

        Registers of a group are set at its end, which is no earlier than where the slot stands.
        """
        insn, flow = slot.insn, TABLE.flow(slot.insn)
        if flow is Flow.TRAP or insn.name.startswith("chk."):
            return left, 0, []
        read, under = TABLE.uses(insn) & left, is_under(insn)
        if flow is Flow.NEXT:
            return read, left if under else left & ~TABLE.defs(insn), []
        if flow in (Flow.CALL, Flow.INDIRECT_CALL):
            lost = 0 if under else _SCRATCH | _RESULTS
            return read | left & beyond(insn), left & ~lost, []
        if flow is Flow.RETURN:
            back = [(at, _GP) for at in self._callers(slot.address & -BUNDLE)]
            return read | left & beyond(insn), left if under else 0, back
        to = self.to(slot)
        if to is None:
            return left, 0, []
        return read, 0 if flow is Flow.JUMP else left, [(to, EVERYTHING)]

    def _callers(self, address: int) -> list[int]:
        """Where code of the file goes on that calls the function of a bundle directly.

        All other callers are of other files, or call through a descriptor: these load their gp
        again.
        """
        function = self.base.function_at(address)
        return [] if function is None else self._called.get(function.start, [])

    @cached_property
    def _called(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for function in self.base.functions:
            for at in range(function.start, function.end, BUNDLE):
                for slot in self.base.slots(at):
                    to = self._distance(slot) if slot.insn.op.flow is Flow.CALL else None
                    if to is not None:
                        found.setdefault(to, []).append(at + BUNDLE)
        return found

    def to(self, slot: Slot) -> int | None:
        """Where a branch of which that is all leads."""
        if slot.insn.name not in ("br.cond", "br.cloop", "brl.cond"):
            return None
        return self._distance(slot)

    def _distance(self, slot: Slot) -> int | None:
        for operand in slot.insn.op.format.operands:
            if operand.kind is Kind.TARGET:
                return (slot.address & -BUNDLE) + slot.insn.operand(operand.name)
        return None

    # Straight code ------------------------------------------------------------------------

    @cached_property
    def heads(self) -> frozenset[int]:
        """Bundles to which control may come otherwise than from the one before."""
        found: set[int] = set()
        for function in self.base.functions:
            found.add(function.start)
            for at in range(function.start, function.end, BUNDLE):
                for slot in self.base.slots(at):
                    if (to := self.to(slot)) is not None:
                        found.add(to)
        return frozenset(found)

    def before(self, address: int, most: int) -> Iterator[int]:
        """Bundles before one, the nearest first, from which alone control comes to the next."""
        function = self.base.function_at(address)
        for _ in range(most):
            if function is None or address in self.heads or address == function.start:
                return
            address -= BUNDLE
            slots = self.base.slots(address)
            flows = [slot.insn.op.flow for slot in slots]
            if not slots or set(flows) - {Flow.NEXT, Flow.BRANCH}:
                return
            yield address


def is_under(insn: Insn) -> bool:
    """Whether an instruction is predicated."""
    return insn.has(QP.name) and insn.operand(QP.name) != PR


def beyond(insn: Insn) -> int:
    """What may be read beyond a call or a return, by the calling standard."""
    if insn.op.flow is Flow.RETURN:
        return EVERYTHING & ~_SCRATCH & ~_STACKED & ~_GP
    return EVERYTHING & ~(_SCRATCH & ~_CHAIN)
