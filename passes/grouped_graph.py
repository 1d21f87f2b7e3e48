"""Dependences among the instructions of a straight region whose code says its groups.

An edge says that one instruction stays behind another: in a later group, or only further on, and
how many cycles later its operands are there.  Registers come from masks; the target answers for
the pairs that may share a group all the same.  Two accesses are disjoint when their addresses are
the same value plus different numbers, far enough apart; all others keep their order, but loads
among themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Protocol

from rewriter.core.groups import Slot, groups
from rewriter.core.isa import Insn
from rewriter.core.regions import Edge, Facts


class Rules(Protocol):
    """What the target and the CPU's model answer about instructions, in program order."""

    def facts(self, insn: Insn) -> Facts:
        """What is known of one."""
        ...

    def needs_stop(self, earlier: Insn, later: Insn) -> bool:
        """Whether two that clash over a register may never share a group."""
        ...

    def distance(self, earlier: Insn, later: Insn, registers: int) -> int:
        """Cycles from the issue of one to that of the other, which reads its `registers`."""
        ...


def edges(
    slots: Sequence[Slot], rules: Rules, facts: Sequence[Facts], stands: Mapping[int, int]
) -> list[tuple[Edge, ...]]:
    """For each instruction, those among the earlier ones that it depends on.

    `facts` are those of the slots; where they name values instead of registers, `stands` has the
    register of each.
    """
    named = [rules.facts(slot.insn) for slot in slots] if stands else facts
    places = list(addresses(named))
    group = [n for n, members in enumerate(groups(slots)) for _ in members]
    exclusive = Exclusive(group, facts)
    found: list[tuple[Edge, ...]] = []
    for later, mine in enumerate(facts):
        uses, defs, among = mine.uses, mine.defs, mine.among
        touched, sets, clears = uses | defs, *mine.gathers
        before = []
        for earlier in range(later):
            other = facts[earlier]
            read = other.defs & uses
            clash = other.defs & touched
            if clash and not read:
                clash &= ~(sets & other.gathers[0] | clears & other.gathers[1])
            if clash:
                one, two = slots[earlier].insn, slots[later].insn
                apart = rules.needs_stop(one, two) and not exclusive(earlier, later)
                cycles = rules.distance(one, two, _named(read, stands))
                before.append(Edge(earlier, apart, max(cycles, apart)))
            elif (
                other.uses & defs
                or other.order & among
                or ((mine.stores or other.stores) and _overlap(places[earlier], places[later]))
            ):
                apart, cycles = False, 0
                if other.is_system and not mine.is_free:
                    apart = group[earlier] != group[later]
                if other.is_system or mine.is_system:
                    cycles = rules.distance(slots[earlier].insn, slots[later].insn, 0)
                before.append(Edge(earlier, apart, max(cycles, apart)))
        found.append(tuple(before))
    return found


def _named(mask: int, stands: Mapping[int, int]) -> int:
    """The registers of a mask of registers and values."""
    for value, register in stands.items() if stands else ():
        if mask >> value & 1:
            mask ^= 1 << value | 1 << register
    return mask


Place = tuple[int, int, int] | None
"""An access: the number of the value that its address is made from, the distance, the size."""


def addresses(facts: Sequence[Facts]) -> Iterator[Place]:
    """Where each instruction accesses memory, in terms of values that bases had.

    The facts name registers.
    """
    values: dict[int, tuple[int, int]] = {}
    made = count()
    for each in facts:
        access, step = each.access, each.step
        place = source = None
        if access is not None:
            if access.base not in values:
                values[access.base] = next(made), 0
            value, offset = values[access.base]
            place = value, offset, access.size
        if step is not None:
            if step[1] not in values:
                values[step[1]] = next(made), 0
            source = values[step[1]]
        for register in _bits(each.defs) if values else ():
            values.pop(register, None)
        if step is not None and source is not None:
            values[step[0]] = source[0], source[1] + step[2]
        yield place


def _overlap(one: Place, other: Place) -> bool:
    """Whether two accesses are not shown to be to different bytes."""
    if one is None or other is None:
        return False
    if one[0] != other[0]:
        return True
    return one[1] < other[1] + other[2] and other[1] < one[1] + one[2]


class Exclusive:
    """Which instructions never both execute.

    Their predicates are the targets of one compare, which nothing wrote since; or the code itself
    relies on it, with both in one group where they clash.
    """

    def __init__(self, group: Sequence[int], facts: Sequence[Facts]) -> None:
        self._group, self._facts = group, facts

    def __call__(self, earlier: int, later: int) -> bool:
        one, other = self._facts[earlier].predicate, self._facts[later].predicate
        if not one or not other or one == other:
            return False
        if self._group[earlier] == self._group[later]:
            return True
        both = 1 << one | 1 << other
        for number in range(later - 1, -1, -1):
            if self._facts[number].defs & both:
                return number < earlier and self._facts[number].either == {one, other}
        return False


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
