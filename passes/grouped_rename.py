"""Give values in straight code registers of their own, so that fewer instructions wait.

A value is what one instruction writes and others read until the register is written again; writes
under a predicate and increments of an address carry on the value that was there.  It may change
its register if it is made and last read in the code, all those instructions can name another, and
the register is free all the while: nothing in the code lives there then, and what was there before
is not read, or is made again, behind.  Of several free ones, the one free for longest is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rewriter.core.groups import Slot
from rewriter.core.isa import Insn
from rewriter.core.regions import Facts


class Names(Protocol):
    """What the target answers about registers as names."""

    @property
    def banks(self) -> tuple[int, ...]:
        """Masks of registers that can stand for each other."""
        ...

    @property
    def spare(self) -> int:
        """Registers that any code may use where they are not live."""
        ...

    def facts(self, insn: Insn) -> Facts:
        """What is known of an instruction."""
        ...

    def renamable(self, insn: Insn) -> tuple[int, int]:
        """Registers that it can name otherwise, and those of them that it reads and writes as one
        operand."""
        ...

    def renamed(self, insn: Insn, reads: Mapping[int, int], writes: Mapping[int, int]) -> Insn:
        """The instruction with other registers; ValueError where it cannot name one."""
        ...


@dataclass(slots=True, eq=False)
class Value:
    """A value: where it is made (-1: before the code) and last read, by number of the slot."""

    register: int
    start: int
    end: int
    fixed: bool
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)


def renamed(slots: Sequence[Slot], live: int, names: Names) -> tuple[Slot, ...] | None:
    """The code with registers chosen anew; None if that is not possible or changes nothing."""
    values = list(_values(slots, live, names))
    if not _crowded(values):
        return None
    chosen: dict[Value, int] = {}
    for bank in names.banks:
        mine = [value for value in values if bank >> value.register & 1]
        touched = sum({1 << value.register for value in mine})
        if not _assign(mine, (touched | (names.spare & ~live)) & bank, chosen):
            return None
    return _rewritten(slots, chosen, names)


def _crowded(values: Sequence[Value]) -> bool:
    """Whether some register has several values, one of which may move."""
    registers = [value.register for value in values]
    return len(set(registers)) < len(registers) and not all(value.fixed for value in values)


def _values(slots: Sequence[Slot], live: int, names: Names) -> Iterator[Value]:
    every = sum(names.banks)
    current: dict[int, Value] = {}
    for number, slot in enumerate(slots):
        facts = names.facts(slot.insn)
        free, joined = names.renamable(slot.insn)
        for register in _bits(facts.uses & every):
            if register not in current:
                current[register] = Value(register, -1, -1, True)
            value = current[register]
            value.reads.append(number)
            value.end = number
            value.fixed |= not free >> register & 1
        for register in _bits(facts.defs & every):
            carries_on = facts.predicate or joined >> register & 1
            if carries_on and register not in current:
                current[register] = Value(register, -1, -1, True)
            if not carries_on:
                if register in current:
                    yield current[register]
                current[register] = Value(register, number, number, False)
            value = current[register]
            value.writes.append(number)
            value.end = number
            value.fixed |= not free >> register & 1
    for register, value in current.items():
        if live >> register & 1:
            value.fixed, value.end = True, len(slots)
        yield value


def _assign(values: Sequence[Value], pool: int, chosen: dict[Value, int]) -> bool:
    """Gives each value a register; whether there are enough."""
    taken: dict[int, list[Value]] = {register: [] for register in _bits(pool)}
    since = dict.fromkeys(taken, -1)
    for value in values:
        if value.fixed:
            taken[value.register].append(value)
    for value in sorted((v for v in values if not v.fixed), key=lambda v: v.start):
        free = [
            register
            for register, others in taken.items()
            if all(value.end <= o.start or o.end <= value.start for o in others)
        ]
        if not free:
            return False
        register = min(free, key=lambda r: (since[r], r != value.register, r))
        since[register] = value.end
        taken[register].append(value)
        chosen[value] = register
    return True


def _rewritten(
    slots: Sequence[Slot], chosen: Mapping[Value, int], names: Names
) -> tuple[Slot, ...] | None:
    reads: dict[int, dict[int, int]] = {}
    writes: dict[int, dict[int, int]] = {}
    for value, register in chosen.items():
        if register != value.register:
            for number in value.reads:
                reads.setdefault(number, {})[value.register] = register
            for number in value.writes:
                writes.setdefault(number, {})[value.register] = register
    if not writes:
        return None
    made = list(slots)
    for number in reads.keys() | writes.keys():
        slot = slots[number]
        try:
            insn = names.renamed(slot.insn, reads.get(number, {}), writes.get(number, {}))
        except ValueError:
            return None
        made[number] = Slot(slot.address, insn, slot.stop)
    return tuple(made)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
