"""Dependences among the instructions of a straight region whose code says its groups.

An edge says that one instruction stays behind another: in a later group, or only further on, and
how many cycles later its operands are there.  Registers come from masks; the target answers for
the pairs that may share a group all the same.  Two accesses are disjoint when their addresses are
the same value plus different numbers, far enough apart; all others keep their order, but loads
among themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count

from rewriter.core.code.groups import Slot, groups
from rewriter.core.code.ordering import Rules
from rewriter.core.code.scheduling import Edge, Facts
from rewriter.core.masks import bits


def edges(
    slots: Sequence[Slot], rules: Rules, facts: Sequence[Facts], stands: Mapping[int, int]
) -> list[tuple[Edge, ...]]:
    """For each instruction, those among the earlier ones that it depends on.

    `facts` are those of the slots; where they name values instead of registers, `stands` has the
    register of each.
    """
    named = [rules.facts(slot.insn) for slot in slots] if stands else facts
    group = [n for n, members in enumerate(groups(slots)) for _ in members]
    pairs = _Pairs(slots, rules, facts, stands, group)
    earlier: list[tuple[int, int, int, bool, Place]] = []
    found: list[tuple[Edge, ...]] = []
    for later, (mine, place) in enumerate(zip(facts, addresses(named), strict=True)):
        uses, defs, among, stores = mine.uses, mine.defs, mine.among, mine.stores
        touched = uses | defs
        before = []
        for number, (reads, writes, order, other_stores, other) in enumerate(earlier):
            if writes & touched and pairs.clash(number, later):
                before.append(pairs.over_register(number, later))
            elif (
                reads & defs
                or order & among
                or (place is not None and (stores or other_stores) and _overlap(other, place))
            ):
                before.append(pairs.in_order(number, later))
        found.append(tuple(before))
        earlier.append((uses, defs, mine.order, stores, place))
    return found


class _Pairs:
    """The edges between two instructions, by their numbers."""

    def __init__(
        self,
        slots: Sequence[Slot],
        rules: Rules,
        facts: Sequence[Facts],
        stands: Mapping[int, int],
        group: Sequence[int],
    ) -> None:
        self.insns = [slot.insn for slot in slots]
        self.rules, self.facts, self.stands, self.group = rules, facts, stands, group
        self.exclusive = Exclusive(group, facts)

    def clash(self, earlier: int, later: int) -> int:
        """Registers that the earlier one writes and the later one touches, but for what both only
        ever set or clear."""
        other, mine = self.facts[earlier], self.facts[later]
        if other.defs & mine.uses:
            return other.defs & (mine.uses | mine.defs)
        (sets, clears), (others_set, others_clear) = mine.gathers, other.gathers
        return other.defs & mine.defs & ~(sets & others_set | clears & others_clear)

    def over_register(self, earlier: int, later: int) -> Edge:
        """The edge of two that clash over a register."""
        one, two = self.insns[earlier], self.insns[later]
        apart = self.rules.needs_stop(one, two) and not self.exclusive(earlier, later)
        read = self.facts[earlier].defs & self.facts[later].uses
        if self.stands:
            read = _named(read, self.stands)
        return _edge(earlier, apart, max(self.rules.distance(one, two, read), apart))

    def in_order(self, earlier: int, later: int) -> Edge:
        """The edge of two that keep their order."""
        other, mine = self.facts[earlier], self.facts[later]
        apart, cycles = False, 0
        if other.is_system and not mine.is_free:
            apart = self.group[earlier] != self.group[later]
        if other.is_system or mine.is_system:
            cycles = self.rules.distance(self.insns[earlier], self.insns[later], 0)
        return _edge(earlier, apart, max(cycles, apart))


_edge = cache(Edge)  # there are few


def _named(mask: int, stands: Mapping[int, int]) -> int:
    """The registers of a mask of registers and values."""
    registers = 0
    for number in bits(mask):
        registers |= 1 << stands.get(number, number)
    return registers


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
        for register in bits(each.defs) if values else ():
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
