"""Places of a function's own frame that hold addresses of memory.

Compilers keep a pointer in the frame and read it back.  What is read is what was stored where
nothing can have come between: the frame is one that the function has made by moving the stack
pointer down itself, on every way; nothing on any of these ways has taken the frame's address, so
that nobody else has it; and between store and load there is no call, no store but by the stack
pointer, and the stack pointer stays.  Such places are never below the stack pointer, where an
interrupt may write.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from rewriter.core.isa.instruction import COMING_BACK, Insn
from rewriter.core.target.protocol import Sequential, whole


class Spilled(NamedTuple):
    """How many bytes from the stack pointer on are the function's own and nobody's else, and how
    far from it those places in them are that hold addresses of memory."""

    size: int = 0
    places: AbstractSet[int] = frozenset()

    def both(self, other: Spilled) -> Spilled:
        """What holds whichever of two ways control came."""
        return Spilled(min(self.size, other.size), self.places & other.places)


def spilled_behind(before: Spilled, insn: Insn, memory: int, target: Sequential) -> Spilled:
    """What holds behind an instruction; `memory` are the registers with addresses before it."""
    effects, stack = target.table.effects(insn.op), target.stack
    if insn.op.flow in COMING_BACK:
        return Spilled(before.size if target.kept_over(insn) >> stack & 1 else 0)
    if target.table.defs(insn) >> stack & 1:
        return Spilled(max(0, before.size - _moved(insn, before.size, target)))
    if _takes_address(insn, target):
        return Spilled()
    if effects.events:
        return Spilled(before.size)
    return _stored(before, insn, memory, target) if effects.stores else before


def read_back(before: Spilled, insn: Insn, target: Sequential) -> bool:
    """Whether a load has an address of memory from such a place."""
    place = _place(insn, target)
    return place is not None and not place[1] and place[2] in before.places


def _stored(before: Spilled, insn: Insn, memory: int, target: Sequential) -> Spilled:
    spelled, size = target.spelling.address(insn), target.table.accessed(insn)
    if spelled is None or spelled[0] != target.stack or whole(insn, target):
        return Spilled(before.size)
    first, width = spelled[1], target.table.cell
    left = {at for at in before.places if at >= first + size or at + width <= first}
    place = _place(insn, target)
    if place is not None and memory >> place[0] & 1 and 0 <= first <= before.size - width:
        left.add(first)
    return Spilled(before.size, left)


def _place(insn: Insn, target: Sequential) -> tuple[int, bool, int] | None:
    """Of a store or load of a whole register by the stack pointer: the register, whether it is a
    store, and how far off."""
    said = target.whole(insn)
    spelled = None if said is None else target.spelling.address(insn)
    if said is None or spelled is None or spelled[0] != target.stack or said[0].bit_count() != 1:
        return None
    return said[0].bit_length() - 1, said[2], spelled[1]


def _moved(insn: Insn, size: int, target: Sequential) -> int:
    """How far up the stack pointer goes; all of the frame where that is not a constant."""
    linear = target.linear(insn)
    return linear[2] if linear is not None and linear[:2] == (target.stack,) * 2 else size


def _takes_address(insn: Insn, target: Sequential) -> bool:
    """Whether the stack pointer is read but as the base of an access."""
    named = sum(insn.operands[n] == target.stack for n in insn.op.format.registers)
    effects = target.table.effects(insn.op)
    spelled = target.spelling.address(insn) if effects.loads or effects.stores else None
    based = spelled is not None and spelled[0] == target.stack
    return target.table.uses(insn) >> target.stack & 1 == 1 and named != int(based)
