"""Give values in straight code registers of their own, so that fewer instructions wait.

A value is what one instruction writes and others read until the register is written again; writes
under a predicate and increments of an address carry on the value that was there.  It may change
its register if it is made and last read in the code and all those instructions can name another.
Such values are first told apart, whatever register they are in; when the new order is known each
gets a register that nothing else lives in then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from passes.scheduling.exits import in_frame, reading
from rewriter.core.code.groups import Slot, groups
from rewriter.core.code.ordering import Names
from rewriter.core.code.scheduling import Facts
from rewriter.core.code.superblock import NO_EXITS, Exits
from rewriter.core.masks import bits

_APART = 1 << 10  # the first number of a value that may move; registers are below


@dataclass(slots=True, eq=False)
class Value:
    """A value: its register and the slots, by number, that write and read it.

    It is `fixed` where it must keep its register, `outlives` the code where that is read behind
    it, and was there before where nothing comes before the first read.
    """

    register: int
    fixed: bool = False
    outlives: bool = False
    existed: bool = False
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)


class Values:
    """The values of straight code, given the mask of registers that are live behind it, and
    those that are at its exits."""

    def __init__(
        self, slots: Sequence[Slot], live: int, names: Names, exits: Exits = NO_EXITS
    ) -> None:
        self.slots, self.names, self._live, self._exits = slots, names, live, exits
        self._plain = [names.facts(slot.insn) for slot in slots]
        self.facts = reading(slots, self._plain, exits) if exits else self._plain
        self.all = list(_values(slots, self.facts, live, names, exits))
        self.moving = [value for value in self.all if not value.fixed]
        registers = {value.register for value in self.all}
        self.is_crowded = bool(self.moving) and len(registers) < len(self.all)

    # What follows is asked of few: most code needs no other registers, or has enough of them.

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Of each general value that may move its first writer, -1 for none, and all that touch
        it."""
        return tuple(_touching(v)[:2] for v in self._general if not v.fixed)

    @cached_property
    def pinned(self) -> tuple[tuple[int, int, bool], ...]:
        """The same of those that may not, and whether each is read behind the code."""
        kept = self._always
        return tuple(_touching(v) for v in self._general if v.fixed and v.register not in kept)

    @cached_property
    def room(self) -> int:
        """How many general values may live at a time."""
        bank = self.names.banks[0]
        pool = {v.register for v in self._general} | set(bits(self._free & bank))
        return len(pool) - len(self._always)

    @cached_property
    def _general(self) -> list[Value]:
        bank = self.names.banks[0]
        return [value for value in self.all if bank >> value.register & 1]

    @property
    def _always(self) -> set[int]:
        """The general registers that hold something all the time."""
        return {v.register for v in self._general if v.existed and v.outlives}

    @cached_property
    def _shown(self) -> int:
        """The registers of the frame that are shown to be there."""
        return in_frame(self.slots, self._plain, self.names, self._exits)

    @property
    def _free(self) -> int:
        return (self.names.spare | self._shown) & ~self._live

    def apart(self) -> tuple[list[Facts], dict[int, int]]:
        """The facts of each slot with every value that may move in a register of its own.

        These have numbers that no register has; with the register that each stands for.
        """
        uses: dict[int, int] = {}
        defs: dict[int, int] = {}
        read: dict[tuple[int, int], int] = {}
        written: dict[tuple[int, int], int] = {}
        facts = list(self.facts)
        stands: dict[int, int] = {}
        for number, value in enumerate(self.moving, _APART):
            change = 1 << number | 1 << value.register
            stands[number] = value.register
            for slot in value.reads:
                uses[slot] = uses.get(slot, 0) ^ change
                read[slot, value.register] = number
            for slot in value.writes:
                defs[slot] = defs.get(slot, 0) ^ change
                written[slot, value.register] = number
            for slot in self._reading_all(value):
                uses[slot] = uses.get(slot, 0) | 1 << number
            for slot in self._writing_all(value):
                defs[slot] = defs.get(slot, 0) | 1 << number
        for slot in uses.keys() | defs.keys():
            one = facts[slot]
            facts[slot] = replace(
                one,
                uses=one.uses ^ uses.get(slot, 0),
                defs=one.defs ^ defs.get(slot, 0),
                predicate=read.get((slot, one.predicate), one.predicate),
                either=frozenset(written.get((slot, each), each) for each in one.either),
            )
        return facts, stands

    def _reading_all(self, value: Value) -> Iterator[int]:
        """The slots in front of a value that read all registers in which it could be."""
        every = next(bank for bank in self.names.banks if bank >> value.register & 1)
        before = self.facts[: min(value.writes)]
        return (n for n, one in enumerate(before) if not every & ~one.uses)

    def _writing_all(self, value: Value) -> Iterator[int]:
        """The slots in front of it and behind it that write all of them."""
        every = next(bank for bank in self.names.banks if bank >> value.register & 1)
        slots = {*value.writes, *value.reads}
        return (n for n, one in enumerate(self.facts) if not every & ~one.defs and n not in slots)

    def spread(self) -> tuple[Slot, ...] | None:
        """The code as it stands, each value in the register that was free for longest; None if
        there are too few."""
        return self._settled(self.slots, range(len(self.slots)), _rested)

    def settled(self, new: Sequence[Slot], origins: Sequence[int]) -> tuple[Slot, ...] | None:
        """The code in its new order with registers for all values; None if there are too few.

        `origins` has for each new slot the number of the old one, -1 for none.
        """
        found = self._settled(new, origins, _own)
        return self._settled(new, origins, _lasting) if found is None else found

    def _settled(
        self, new: Sequence[Slot], origins: Sequence[int], choice: Choice
    ) -> tuple[Slot, ...] | None:
        places = _places(new, origins)
        spans = {id(value): _span(value, places, len(new)) for value in self.all}
        chosen: dict[int, int] = {}
        for bank in self.names.banks:
            mine = [value for value in self.all if bank >> value.register & 1]
            touched = sum({1 << value.register for value in mine})
            pool = (touched | self._free) & bank, self.names.framed & ~self._shown
            if not _assign(mine, spans, pool, chosen, choice):
                return None
        return self._rewritten(new, origins, chosen)

    def _rewritten(
        self, new: Sequence[Slot], origins: Sequence[int], chosen: Mapping[int, int]
    ) -> tuple[Slot, ...] | None:
        reads: dict[int, dict[int, int]] = {}
        writes: dict[int, dict[int, int]] = {}
        for value in self.moving:
            register = chosen[id(value)]
            if register != value.register:
                for number in value.reads:
                    reads.setdefault(number, {})[value.register] = register
                for number in value.writes:
                    writes.setdefault(number, {})[value.register] = register
        made = list(new)
        for at, number in enumerate(origins):
            if number in reads or number in writes:
                slot = new[at]
                mine = reads.get(number, {}), writes.get(number, {})
                try:
                    insn = self.names.renamed(slot.insn, *mine)
                except ValueError:
                    return None
                made[at] = Slot(slot.address, insn, slot.stop)
        return tuple(made)


def _values(
    slots: Sequence[Slot], facts_of: Sequence[Facts], live: int, names: Names, exits: Exits
) -> Iterator[Value]:
    written = 0
    for one in facts_of:
        written |= one.defs
    # What is never written and read behind the code stays where it is, whatever else happens.
    every = sum(names.banks) & ~(live & ~written)
    current: dict[int, Value] = {}
    for number, (slot, facts) in enumerate(zip(slots, facts_of, strict=True)):
        free, joined = names.renamable(slot.insn)
        free &= ~exits.get(slot.address, 0)
        for register in bits(facts.uses & every):
            value = current.get(register)
            if value is None:
                value = current[register] = Value(register, fixed=True, existed=True)
            value.reads.append(number)
            if not free >> register & 1:
                value.fixed = True
        for register in bits(facts.defs & every):
            carries_on = bool(facts.predicate or joined >> register & 1)
            value = current.get(register)
            if value is None or not carries_on:
                if value is not None:
                    yield value
                value = current[register] = Value(register, fixed=carries_on, existed=carries_on)
            value.writes.append(number)
            if not free >> register & 1:
                value.fixed = True
    for register, value in current.items():
        value.outlives = bool(live >> register & 1)
        value.fixed |= value.outlives
        yield value


def _places(new: Sequence[Slot], origins: Sequence[int]) -> dict[int, tuple[int, int]]:
    """By number of an old slot its new place, and that of the last slot in its group."""
    places = {}
    start = 0
    for group in groups(new):
        end = start + len(group)
        for at in range(start, end):
            places[origins[at]] = at, end - 1
        start = end
    return places


def _span(value: Value, places: Mapping[int, tuple[int, int]], length: int) -> tuple[int, int]:
    """From where to where a value lives: no other one may be written within.

    Its own writes keep others out of their groups, a read only out of what is before it.
    """
    start = -1 if value.existed else min(places[number][0] for number in value.writes)
    if value.outlives:
        return start, length
    ends = [places[number][1] + 1 for number in value.writes]
    ends += [places[number][0] for number in value.reads]
    return start, max(ends, default=start)


def renamed(slots: Sequence[Slot], live: int, names: Names) -> tuple[Slot, ...] | None:
    """The code as it stands with registers chosen anew, so that the same one does not come again
    soon; None if there is nothing to choose."""
    values = Values(slots, live, names)
    return values.spread() if values.is_crowded else None


Spans = Mapping[int, tuple[int, int]]
Pool = tuple[int, int]
"""Registers for values, and those that are only for the values that were in them."""


Choice = Callable[[Value, int, Sequence[tuple[int, int]], tuple[int, int]], int]
"""How good a register is for a value and its span, given the spans in it; the least is best."""


def _own(value: Value, register: int, others: Sequence[tuple[int, int]], _: object) -> int:
    """The value's own, and others only where they must be."""
    return register != value.register


def _rested(
    _: Value, register: int, others: Sequence[tuple[int, int]], span: tuple[int, int]
) -> int:
    """The register that was free for longest."""
    return max((last for _, last in others if last <= span[0]), default=-1)


def _lasting(
    _: Value, register: int, others: Sequence[tuple[int, int]], span: tuple[int, int]
) -> int:
    """The register that stays free for longest."""
    return -min((first for first, _ in others if first >= span[1]), default=_APART)


def _assign(
    values: Sequence[Value], spans: Spans, pool: Pool, chosen: dict[int, int], choice: Choice
) -> bool:
    """Gives each value a register, by its id; whether there are enough."""
    registers, hidden = pool
    taken: dict[int, list[tuple[int, int]]] = {register: [] for register in bits(registers)}
    for value in values:
        if value.fixed:
            taken[value.register].append(spans[id(value)])
    for value in sorted((v for v in values if not v.fixed), key=lambda v: spans[id(v)]):
        span = start, end = spans[id(value)]
        free = {
            register: choice(value, register, others, span)
            for register, others in taken.items()
            if (register == value.register or not hidden >> register & 1)
            and all(end <= first or last <= start for first, last in others)
        }
        if not free:
            return False
        register = min(free, key=lambda r: (free[r], r))
        taken[register].append(span)
        chosen[id(value)] = register
    return True


def _touching(value: Value) -> tuple[int, int, bool]:
    first = -1 if value.existed else min(value.writes)
    return first, _mask(value.writes) | _mask(value.reads), value.outlives


def _mask(numbers: Sequence[int]) -> int:
    return sum(1 << number for number in set(numbers))
