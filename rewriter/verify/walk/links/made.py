"""Code behind a call: what is made from the return address, of code that moved or made no more.

A caller makes gp from where the call comes back to, so in a function that moved these instructions
differ behind every call.  They are all that need be computed: where each such register holds one
value in both files before anything else reads it, the rest is as it was.  What makes a value that
the register holds already (`analysis/values/pointers.py`) may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from rewriter.analysis.values.pointers import Again
from rewriter.core.code.dataflow import machine
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.target.protocol import Sequential
from rewriter.core.terms.term import Terms
from rewriter.verify.walk.segments import Segment


def same_but_for_place(
    target: Sequential,
    old: Segment,
    new: Segment,
    link: int,
    places: tuple[int, int],
    live_after: Callable[[int], int],
) -> bool:
    """Whether two segments do the same when the register `link` holds each file's own place.

    `live_after` gives the registers that may be read after a slot of the old one.
    """
    one, other = old.proper(), new.proper()
    if len(one) != len(other) or old.fixups or new.fixups:
        return False
    with target.table.terms() as terms:
        linked = _Linked(target, link, places, terms)
        for n, (slot, there) in enumerate(zip(one, other, strict=True)):
            if old.uses[slot] & linked.differing:
                if not linked.made(old.insns[slot], new.insns[there]):
                    return False
            elif old.placeless[slot] != new.placeless[there]:
                return False
            else:
                linked.differing &= ~old.defs[slot]
            if not linked.differing:  # nor will anything again
                return _words(old, one[n + 1 :]) == _words(new, other[n + 1 :])
            if slot in old.exits and linked.differing & live_after(slot):
                return False
        return not old.falls_out


def without_again(
    old: Segment, new: Segment, known: Callable[[], Again | None], register: int
) -> Segment:
    """The old segment without what makes a register's value again, if the new one is without it.

    Control comes to both from a call that leaves the value in the register: `known` says where it
    is made again, by a whole text, and is asked only where the new one has fewer writes.
    """
    fewer = _writes(old, register) - _writes(new, register)
    again = known() if fewer == len(Again._fields) else None
    if again is None:
        return old
    return old.without({old.addresses.index(address) for address in again})


def _writes(segment: Segment, register: int) -> int:
    """How many of the instructions write a register."""
    return sum(mask >> register & 1 for mask in segment.defs)


def _words(segment: Segment, slots: Sequence[int]) -> list[int]:
    return [segment.placeless[slot] for slot in slots]


class _Linked:
    """Two machines; `differing` is the mask of registers that may hold different values in them."""

    def __init__(
        self, target: Sequential, link: int, places: tuple[int, int], terms: Terms
    ) -> None:
        self.target, self.table, self.places, self.terms = target, target.table, places, terms
        self.link, self.differing = link, register_mask((link,))

    @cached_property
    def states(self) -> tuple[Symbolic, Symbolic]:
        """The machines: often the address is not used."""
        one = machine(self.table, self.terms)
        found = one, one.snapshot()
        for state, place in zip(found, self.places, strict=True):
            state.registers[self.link] = state.code(place)
        return found

    def made(self, before: Insn, after: Insn) -> bool:
        """Whether both compute registers from such registers alone; which are equal then?"""
        table = self.table
        effects = table.effects(before.op)
        results = table.computes(before)
        same = before.op is after.op and table.defs(after) == table.defs(before)
        alone = not (table.uses(before) | table.uses(after)) & ~self.differing
        if not (results and not effects.loads and same and alone):
            return False
        for state, insn in zip(self.states, (before, after), strict=True):
            state.execute(insn, 0)
        for result in results:
            one, other = (state.registers[result] for state in self.states)
            mask = register_mask((result,))
            self.differing = self.differing & ~mask if one is other else self.differing | mask
        return True
