"""A block run symbolically, step by step, with its definitions and uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rewriter.core.isa import Insn, Reg, Table
from rewriter.core.symbolic import Symbolic
from rewriter.core.term import Term, Terms

INPUT = -1  # the "slot" that defines what the block gets


def registers_of(mask: int) -> list[int]:
    """The registers of a mask, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def machine(table: Table, terms: Terms, granule: int) -> Symbolic:
    """A symbolic machine of the table's registers in an unknown state."""
    return Symbolic(terms, table.constants, granule)


def run(
    table: Table,
    terms: Terms,
    granule: int,
    insns: Sequence[Insn | None],
    addresses: Sequence[int],
) -> Symbolic:
    """The state after a straight run; None is an empty slot."""
    state = machine(table, terms, granule)
    for insn, address in zip(insns, addresses, strict=True):
        if insn is not None:
            state.execute(insn, address)
    return state


@dataclass
class Trace:
    """A block's dataflow.

    `value[i]` is what slot i puts in its one result register, if it has one; `definition[i]` maps
    each register that slot i reads to the slot that defines it, and `operand[i]` to its value;
    `users[i]` are the slots that read slot i's results.
    """

    table: Table
    insns: tuple[Insn, ...]
    address: int
    granule: int = 8
    terms: Terms = field(default_factory=Terms)
    value: list[Term | None] = field(default_factory=list)
    definition: list[dict[int, int]] = field(default_factory=list)
    users: dict[int, list[int]] = field(default_factory=dict)
    operand: list[dict[int, Term]] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)
    state: Symbolic = field(init=False)

    def __post_init__(self) -> None:
        self.state = machine(self.table, self.terms, self.granule)
        last: dict[int, int] = {}
        address = self.address
        for slot, insn in enumerate(self.insns):
            self.addresses.append(address)
            reads = registers_of(self.table.uses(insn))
            self.definition.append({r: last.get(r, INPUT) for r in reads})
            self.operand.append({r: self.state.get(Reg(r)) for r in reads})
            for source in set(self.definition[-1].values()):
                self.users.setdefault(source, []).append(slot)
            self.state.execute(insn, address)
            address += insn.size
            writes = registers_of(self.table.defs(insn))
            self.value.append(self.state.registers[writes[0]] if len(writes) == 1 else None)
            last.update(dict.fromkeys(writes, slot))

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
    table: Table, slots: Sequence[Insn | None], candidates: frozenset[int], live_out: int
) -> list[Insn | None]:
    """The slots, with every candidate emptied whose results nothing reads."""
    result = list(slots)
    live = live_out
    for slot in range(len(result) - 1, -1, -1):
        insn = result[slot]
        if insn is None:
            continue
        defs = table.defs(insn)
        if slot in candidates and defs and not defs & live:
            result[slot] = None
            continue
        live = live & ~defs | table.uses(insn)
    return result
