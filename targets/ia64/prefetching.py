"""Prefetches (SDM vol. 3, lfetch): an `adds` that makes the address, and an `lfetch` behind it.

Forms without `.fault` raise nothing.  What stands behind them in the manual's page and is not
relied upon: an address that is NaT, not mapped or not cacheable asks for nothing [UNVERIFIED].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.prefetching import Asked, Touched
from targets.ia64.isa.bundles import SLOTS
from targets.ia64.isa.fields import BUNDLE, QP, Unit
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import GR, NUMBERS, PR
from targets.ia64.schedule import scheduling
from targets.ia64.schedule.bundler import NOPS
from targets.ia64.standard import RETURNED, STACK

_AROUND = ("FLD", "FLDP", "FCLD", "STF", "SEM")  # the first level has no floating-point numbers
_KERNEL = 5  # regions of the address space from here on are Linux's own
_REGION = 61  # bits of an address below the number of its region
_NO_FIRST_LEVEL = 1  # lfhint: nt1


class Prefetching:
    """The target's answers."""

    stack: int = STACK
    counter: int = NUMBERS["ar.lc"]
    spare = register_mask(range(GR + 1, GR + 32)) & ~RETURNED
    reach = (1 << 13) - 1

    def touched(self, insn: Insn) -> Touched | None:
        """What a load or a store accesses."""
        found = scheduling.facts(insn)
        if found.access is None:
            return None
        base, size = found.access.base, found.access.size
        first = not found.stores and insn.op.sched not in _AROUND
        return Touched(base, size, found.stores, first)

    def hint_base(self, insn: Insn) -> int | None:
        """The address register of an lfetch of any form."""
        return insn.operand("r3") if insn.op.sched == "LFETCH" else None

    def counts(self, insn: Insn) -> int | None:
        """One more than what ar.lc is set to."""
        sets = insn.has("ar3") and insn.has("imm8") and insn.operand("ar3") == self.counter
        return insn.operand("imm8") + 1 if sets else None

    def asking(self, asked: Sequence[Asked], end: int) -> tuple[Slot, ...]:
        """For each a bundle with the sum, then for each one with the lfetch."""
        made = [_sum(one) for one in asked] + [_hint(one) for one in asked]
        return tuple(_bundles(made, end - BUNDLE * len(made)))

    def moved(self, slots: Sequence[Slot], distance: int) -> tuple[Slot, ...]:
        """Slots further on."""
        move = scheduling.moved
        return tuple(Slot(s.address + distance, move(s.insn, distance), s.stop) for s in slots)

    def may_be_device(self, address: int) -> bool:
        """Linux: user space is regions 0 to 4, the kernel's are 5 to 7 (asm/page.h)."""
        return address >> _REGION >= _KERNEL


def _bundles(insns: Sequence[Insn], start: int) -> Iterator[Slot]:
    """Each in slot 0 of a bundle of its own, which ends with a stop."""
    for number, insn in enumerate(insns):
        address = start + BUNDLE * number
        yield Slot(address, insn, False)
        yield Slot(address + 1, NOPS[Unit.I], False)
        yield Slot(address + 2, NOPS[Unit.I], True)


def _sum(asked: Asked) -> Insn:
    """adds spare=distance,base, in an M slot."""
    op = TABLE.find("adds")
    blank = Insn(op, tuple(operand.extract(op.match) for operand in op.format.operands))
    values = {"r1": asked.spare, "imm14": asked.distance, "r3": asked.base, QP.name: PR}
    return blank.replace(**values)


def _hint(asked: Asked) -> Insn:
    """lfetch [spare], exclusive for what is only written, past the first level if nobody looks."""
    op = TABLE.find("lfetch.excl" if asked.writes else "lfetch")
    blank = Insn(op, tuple(operand.extract(op.match) for operand in op.format.operands))
    hint = 0 if asked.first else _NO_FIRST_LEVEL
    return blank.replace(lfhint=hint, r3=asked.spare, **{QP.name: PR})


assert SLOTS == 3  # a bundle of an instruction and two nops
