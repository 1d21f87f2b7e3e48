"""A block run symbolically, step by step, with its definitions and uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.isa.registers import register as named
from rewriter.core.isa.table import Table
from rewriter.core.masks import bits
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.readings.unaligned import Unaligned
from rewriter.core.terms.term import Term, Terms

INPUT = -1  # the "slot" that defines what the block gets


@lru_cache(maxsize=1 << 14)  # few masks come again and again
def registers_of(mask: int) -> tuple[Reg, ...]:
    """The registers of a mask, ascending."""
    return tuple(map(named, bits(mask)))


class Range(NamedTuple):
    """That the lowest `bits` of a register, without a sign, are a number from `least` to `most`."""

    bits: int
    least: int
    most: int


class Fact(NamedTuple):
    """What is known of a register: it is `base`, another register, plus `distance`.

    With `cell` it is what the cell of memory holds in which that place is; with `bits` it is its
    own base, and no bit above so many is set.  Whatever else it is, it is `within` a range.
    """

    base: int
    distance: int
    cell: bool = False
    bits: int | None = None
    within: Range | None = None


Facts = Mapping[int, Fact]
"""What is known of registers, bases before those of which they are the base."""


def machine(table: Table, terms: Terms, facts: Facts | None = None) -> Symbolic:
    """A symbolic machine of the table's registers in an unknown state, but for the facts.

    Ranges are left out: `ranges` says them as conditions.
    """
    reading = Symbolic if table.aligned else Unaligned
    state = reading(terms, table.constants, table.byteorder)
    for register, (base, distance, cell, most, _) in (facts or {}).items():
        value = state.get(Reg(base)) + terms.const(distance)
        if cell:
            value = terms.load(state.memory, terms.and_(value, terms.const(-table.cell)))
        if most is not None:
            value = terms.and_(value, terms.const((1 << most) - 1))
        state.registers[register] = value
    return state


def ranges(table: Table, terms: Terms, facts: Facts) -> Iterator[Term]:
    """The conditions that registers are within their ranges, at the start of a run."""
    state = machine(table, terms, facts)
    for register, fact in facts.items():
        if fact.within is not None:
            bits, least, most = fact.within
            number = terms.and_(state.get(Reg(register)), terms.const((1 << bits) - 1))
            for too_far in (
                terms.ult(number, terms.const(least)),
                terms.ult(terms.const(most), number),
            ):
                yield terms.bnot(too_far)


def going_on(insn: Insn, state: Symbolic) -> Iterator[Term]:
    """The condition under which control passes a transfer that else leads away for good."""
    if insn.op.flow in (Flow.BRANCH, Flow.RETURN_IF) and state.control is not None:
        yield state.terms.bnot(state.control[0])


def reached(
    table: Table, terms: Terms, insn: Insn, address: int, operands: Mapping[int, Term]
) -> Term:
    """What an access at an address goes to, as its meaning makes it of what it reads."""
    state = machine(table, terms)
    state.registers.update(operands)
    state.execute(insn, address)
    return state.reached[0]


def inputs(table: Table, insns: Iterable[Insn | None]) -> int:
    """Mask of the registers that are read before they are written."""
    read = written = 0
    for insn in insns:
        if insn is not None:
            read |= table.uses(insn) & ~written
            written |= table.defs(insn)
    return read


def run(
    table: Table,
    terms: Terms,
    insns: Sequence[Insn | None],
    addresses: Sequence[int],
    exits: Iterable[int],
    code: Mapping[int, int] | None = None,
    facts: Facts | None = None,
    changing: Reg | None = None,
) -> Run:
    """Runs straight code symbolically; None is an empty slot, `exits` are slots.

    An exit INPUT is the start.  `code` are registers that hold code addresses at the start, `facts`
    what is known of registers.  What `changing` holds may be another value behind each store and
    event, till the code writes that register.
    """
    state = machine(table, terms, facts)
    kept = None if changing is None else state.get(changing)
    for register, place in (code or {}).items():
        state.registers[register] = state.code(place)
    leaving = set(exits)
    found = Run(state, addresses)
    if INPUT in leaving:
        found.exits[INPUT] = state.snapshot()
    summary, get, stored = table.summary, state.get, state.stored
    for slot, (insn, address) in enumerate(zip(insns, addresses, strict=True)):
        if insn is not None:
            reads, writes, results, _, size = summary(insn)
            operands = tuple(map(get, registers_of(reads)))
            found.operand[slot] = operands
            is_narrow = 1 < size < state.cell  # of one byte none is misaligned
            before = set(state.narrow) if is_narrow else None
            if results:
                found.made[slot] = state.compute(insn, address, operands, results)
            else:
                stores = len(stored)
                state.execute(insn, address)
                if len(stored) > stores:
                    found.store[slot] = stores, len(stored)
                if changing is not None and kept is state.registers[changing]:
                    kept = state.registers[changing] = _at_present(state, changing)
                if writes:
                    found.made[slot] = {r: get(r) for r in registers_of(writes)}
            if before is not None and len(state.narrow) > len(before):
                found.narrow[slot] = next(iter(state.narrow - before))
        if slot in leaving:
            found.exits[slot] = state.snapshot()
            state.control = None
    return found


def _at_present(state: Symbolic, register: Reg) -> Term:
    """What a register holds that may change by itself behind each store and event."""
    passed = len(state.stored) + len(state.events)
    return state.terms.var(f"r{register:d} behind {passed}") if passed else state.get(register)


def written(table: Table, insns: Iterable[Insn | None]) -> int:
    """Mask of the registers that are written."""
    mask = 0
    for insn in insns:
        mask |= table.defs(insn) if insn is not None else 0
    return mask


@dataclass
class Run:
    """A straight run: by slot, the addresses, states at exits, operands, results, narrow accesses.

    `made` are the results by register; `store` numbers the stores: slot to where its first is in
    `state.stored`, and where the next slot's are.
    """

    state: Symbolic
    addresses: Sequence[int]
    made: dict[int, Mapping[int, Term]] = field(default_factory=dict)
    store: dict[int, tuple[int, int]] = field(default_factory=dict)
    operand: dict[int, tuple[Term, ...]] = field(default_factory=dict)
    exits: dict[int, Symbolic] = field(default_factory=dict)
    narrow: dict[int, tuple[Term, int]] = field(default_factory=dict)

    @property
    def values(self) -> list[Term]:
        """All results."""
        return [value for made in self.made.values() for value in made.values()]


@dataclass
class Trace:
    """A block's dataflow.

    `value[i]` is what slot i puts in its one result register, if it has one; `states` are those at
    the exits; `stored[i]` is the cell's address and value where slot i stores; `initial` is what
    the registers hold at the start of which something is known or read.
    """

    table: Table
    insns: tuple[Insn, ...]
    address: int
    exits: tuple[tuple[int, int], ...]
    facts: Facts = field(default_factory=dict)
    terms: Terms = field(init=False)
    value: list[Term | None] = field(default_factory=list)
    stored: dict[int, tuple[Term, Term]] = field(default_factory=dict)
    addresses: list[int] = field(default_factory=list)
    states: dict[int, Symbolic] = field(default_factory=dict)
    state: Symbolic = field(init=False)
    initial: dict[int, Term] = field(init=False)

    def __post_init__(self) -> None:
        leaving, table, value = dict(self.exits), self.table, self.value
        self.terms = table.terms()
        self.state = state = machine(table, self.terms, self.facts)
        registers, stored, known, address = state.registers, state.stored, 0, self.address
        self.initial = dict(registers)
        self._several: dict[int, dict[int, Term]] = {}
        for slot, insn in enumerate(self.insns):
            self.addresses.append(address)
            if first := table.uses(insn) & ~known:  # their values are made in this order
                known |= first
                self.initial.update((r, state.get(r)) for r in registers_of(first))
            stores = len(stored)
            state.execute(insn, address)
            if len(stored) > stores:
                self.stored[slot] = stored[-1][:2]
            address += insn.op.format.size
            if slot in leaving:
                self.states[slot] = state.snapshot()
                state.control = None
            writes = table.defs(insn)
            known |= writes
            single = writes and not writes & writes - 1
            value.append(registers[writes.bit_length() - 1] if single else None)
            if writes and not single:
                self._several[slot] = {r: registers[r] for r in registers_of(writes)}

    @property
    def cell(self) -> int:
        """Bytes of a cell of memory."""
        return self.table.cell

    def results(self, slot: int) -> Mapping[int, Term]:
        """What a slot puts in the registers that it writes."""
        value = self.value[slot]
        if value is None:
            return self._several.get(slot, {})
        return {self.table.defs(self.insns[slot]).bit_length() - 1: value}

    @property
    def definition(self) -> list[dict[int, int]]:
        """By slot, the registers that it reads, each with the slot that defines it."""
        return self._read[0]

    @property
    def operand(self) -> list[dict[int, Term]]:
        """By slot, the registers that it reads, each with its value."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[list[dict[int, int]], list[dict[int, Term]]]:
        """Made only where a pass asks: many blocks have nothing for any."""
        uses, defs, value = self.table.uses, self.table.defs, self.value
        last, held = dict[int, int](), dict(self.initial)
        definition, operand = list[dict[int, int]](), list[dict[int, Term]]()
        for slot, insn in enumerate(self.insns):
            from_, values = dict[int, int](), dict[int, Term]()
            for register in registers_of(uses(insn)):
                from_[register] = last.get(register, INPUT)
                values[register] = held[register]
            definition.append(from_)
            operand.append(values)
            for register in registers_of(defs(insn)):
                last[register] = slot
                one = value[slot]
                held[register] = self._several[slot][register] if one is None else one
        return definition, operand

    def only_for(self, slot: int, feeders: Iterable[int]) -> set[int]:
        """Those of the feeders that nothing but the slot uses, or uses by way of them."""
        found: set[int] = set()
        for feeder in sorted(feeders, reverse=True):
            users = self.users.get(feeder, ())
            if found.issuperset(set(users) - {slot}) and not self.escapes(feeder):
                found.add(feeder)
        return found

    @cached_property
    def users(self) -> dict[int, list[int]]:
        """The slots that read a slot's results."""
        found: dict[int, list[int]] = {}
        for slot, sources in enumerate(self.definition):
            for source in dict.fromkeys(sources.values()):
                found.setdefault(source, []).append(slot)
        return found

    @cached_property
    def inputs(self) -> int:
        """Mask of the registers that the block reads before it writes them."""
        return inputs(self.table, self.insns)

    @cached_property
    def written(self) -> int:
        """Mask of the registers that the block writes."""
        return written(self.table, self.insns)

    def escapes(self, slot: int) -> bool:
        """Whether a result of `slot` may be read after an exit."""
        return slot in self._escaping

    @cached_property
    def _escaping(self) -> set[int]:
        found, live, leaving = set[int](), 0, dict(self.exits)
        for slot in range(len(self.insns) - 1, -1, -1):
            live |= leaving.get(slot, 0)
            results = self.table.defs(self.insns[slot])
            if results & live:
                found.add(slot)
            live &= ~results
        return found

    def slice(self, slot: int, stop: frozenset[int] = frozenset()) -> set[int]:
        """The slots that the results of `slot` come from, without those in `stop`."""
        return set(self.sources(slot, stop))

    def sources(self, slot: int, stop: frozenset[int] = frozenset()) -> Iterator[int]:
        """The same one by one: who looks for a few need not wait for all."""
        found: set[int] = set()
        queue, definition = [slot], self.definition
        while queue:
            for source in definition[queue.pop()].values():
                if source != INPUT and source not in found and source not in stop:
                    found.add(source)
                    queue.append(source)
                    yield source


def drop_dead(
    table: Table,
    slots: Sequence[Insn | None],
    candidates: frozenset[int],
    exits: Iterable[tuple[int, int]],
) -> list[Insn | None]:
    """The slots, with every candidate emptied whose results nothing reads."""
    result = list(slots)
    leaving = dict(exits)
    live = 0
    for slot in range(len(result) - 1, -1, -1):
        live |= leaving.get(slot, 0)
        insn = result[slot]
        if insn is None:
            continue
        defs = table.defs(insn)
        if slot in candidates and defs and not defs & live:
            result[slot] = None
            continue
        live = live & ~defs | table.uses(insn)
    return result
