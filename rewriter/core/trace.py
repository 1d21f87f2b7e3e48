"""A block run symbolically, step by step, with its definitions and uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from rewriter.core.isa import Insn, Reg, Table
from rewriter.core.symbolic import Symbolic
from rewriter.core.term import Term, Terms

INPUT = -1  # the "slot" that defines what the block gets


@lru_cache(maxsize=1 << 14)  # few masks come again and again
def registers_of(mask: int) -> tuple[Reg, ...]:
    """The registers of a mask, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(Reg(low.bit_length() - 1))
        mask ^= low
    return tuple(found)


Facts = Mapping[int, tuple[int, int]]
"""Register: (another register, distance)."""


def machine(table: Table, terms: Terms, granule: int, facts: Facts | None = None) -> Symbolic:
    """A symbolic machine of the table's registers in an unknown state, but for the facts."""
    state = Symbolic(terms, table.constants, granule)
    for register, (base, distance) in (facts or {}).items():
        state.registers[register] = state.get(Reg(base)) + terms.const(distance)
    return state


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
    granule: int,
    insns: Sequence[Insn | None],
    addresses: Sequence[int],
    exits: Iterable[int],
    code: Mapping[int, int] | None = None,
    facts: Facts | None = None,
) -> Run:
    """Runs straight code symbolically; None is an empty slot, `exits` are slots.

    An exit INPUT is the start.  `code` are registers that hold code addresses at the start, `facts`
    registers that are another plus a constant.
    """
    state = machine(table, terms, granule, facts)
    for register, place in (code or {}).items():
        state.registers[register] = state.code(place)
    leaving = set(exits)
    found = Run(state)
    if INPUT in leaving:
        found.exits[INPUT] = state.snapshot()
    stores = 0
    for slot, (insn, address) in enumerate(zip(insns, addresses, strict=True)):
        if insn is not None:
            operands = tuple(map(state.get, registers_of(table.uses(insn))))
            found.operand[slot] = operands
            before = set(state.narrow) if insn.op.needs else None
            result = table.computes(insn)
            if result is not None:
                found.value[slot] = state.compute(insn, address, operands, result)
            else:
                state.execute(insn, address)
                if len(state.stored) > stores:
                    found.store[slot] = stores
                    stores += 1
                writes = registers_of(table.defs(insn))
                if len(writes) == 1:
                    found.value[slot] = state.registers[writes[0]]
            if before is not None and len(state.narrow) > len(before):
                found.narrow[slot] = next(iter(state.narrow - before))
        if slot in leaving:
            found.exits[slot] = state.snapshot()
            state.control = None
    return found


def written(table: Table, insns: Iterable[Insn | None]) -> int:
    """Mask of the registers that are written."""
    mask = 0
    for insn in insns:
        mask |= table.defs(insn) if insn is not None else 0
    return mask


@dataclass
class Run:
    """A straight run: by slot, the states at exits, operands, single results, narrow accesses.

    `store` numbers the stores: slot to position in `state.stored`.
    """

    state: Symbolic
    value: dict[int, Term] = field(default_factory=dict)
    store: dict[int, int] = field(default_factory=dict)
    operand: dict[int, tuple[Term, ...]] = field(default_factory=dict)
    exits: dict[int, Symbolic] = field(default_factory=dict)
    narrow: dict[int, tuple[Term, int]] = field(default_factory=dict)


@dataclass
class Trace:
    """A block's dataflow.

    `value[i]` is what slot i puts in its one result register, if it has one; `definition[i]` maps
    each register that slot i reads to the slot that defines it, and `operand[i]` to its value;
    `users[i]` are the slots that read slot i's results; `states` are those at the exits;
    `stored[i]` is the granule's address and value where slot i stores.
    """

    table: Table
    insns: tuple[Insn, ...]
    address: int
    granule: int
    exits: tuple[tuple[int, int], ...]
    facts: Facts = field(default_factory=dict)
    terms: Terms = field(default_factory=Terms)
    value: list[Term | None] = field(default_factory=list)
    definition: list[dict[int, int]] = field(default_factory=list)
    users: dict[int, list[int]] = field(default_factory=dict)
    operand: list[dict[int, Term]] = field(default_factory=list)
    stored: dict[int, tuple[Term, Term]] = field(default_factory=dict)
    addresses: list[int] = field(default_factory=list)
    states: dict[int, Symbolic] = field(default_factory=dict)
    state: Symbolic = field(init=False)

    def __post_init__(self) -> None:
        leaving = dict(self.exits)
        self.state = machine(self.table, self.terms, self.granule, self.facts)
        last: dict[int, int] = {}
        address = self.address
        for slot, insn in enumerate(self.insns):
            self.addresses.append(address)
            reads = registers_of(self.table.uses(insn))
            self.definition.append({r: last.get(r, INPUT) for r in reads})
            self.operand.append({r: self.state.get(r) for r in reads})
            for source in set(self.definition[-1].values()):
                self.users.setdefault(source, []).append(slot)
            stores = len(self.state.stored)
            self.state.execute(insn, address)
            if len(self.state.stored) > stores:
                self.stored[slot] = self.state.stored[-1][:2]
            address += insn.size
            if slot in leaving:
                self.states[slot] = self.state.snapshot()
                self.state.control = None
            writes = registers_of(self.table.defs(insn))
            self.value.append(self.state.registers[writes[0]] if len(writes) == 1 else None)
            last.update(dict.fromkeys(writes, slot))

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
        found: set[int] = set()
        queue = [slot]
        while queue:
            at = queue.pop()
            for source in self.definition[at].values():
                if source != INPUT and source not in found and source not in stop:
                    found.add(source)
                    queue.append(source)
        return found


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
