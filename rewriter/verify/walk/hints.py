"""Loads without a result that new code has and old code has not.

Such a load changes no register and no memory and signals nothing, so it may stand anywhere but near
a load-locked, where it can make the store-conditional succeed wrongly.  What the old code asks for
itself stays: someone wanted it there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rewriter.analysis.program import Program
from rewriter.core.assumptions import LOCKS
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.protocol import Sequential, is_hint
from rewriter.verify.walk.equivalence import Different


def added(old: Sequence[Insn], new: Sequence[Insn], target: Sequential) -> list[int]:
    """Slots of the new code with hints that the old code does not have, in its order."""
    waiting = [insn for insn in reversed(old) if is_hint(insn, target)]
    found = []
    for slot, insn in enumerate(new):
        if is_hint(insn, target):
            if waiting and waiting[-1] == insn:
                waiting.pop()
            else:
                found.append(slot)
    return found


def allow(program: Program, places: Collection[int]) -> None:
    """Raises Different if there may be no hint where this old code stood."""
    if LOCKS not in program.assume:
        raise Different("a hint was added, which --assume does not allow")
    near = program.near_locks
    if any(place in near for place in places):
        raise Different("a hint was added near a load-locked")
