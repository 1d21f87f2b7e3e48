"""Registers that hold addresses of memory, where no device is.

In a kernel an access may reach a device, unless it is shown where its address comes from: the
stack, the kernel's own data, what a known allocator returns; or a register by which code has made
an access before that no device allows.  What is a constant or an index away from such an address is
in the same object, and what a function keeps in its frame it reads back from there (`spills`).  A
forward analysis finds what holds on every way to a block; what another function gives, or memory,
may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rewriter.analysis.flow import Graph
from rewriter.analysis.values.spills import Spilled, read_back, spilled_behind
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import COMING_BACK, Insn
from rewriter.core.isa.registers import Masks
from rewriter.core.target.protocol import KnownMemory, Sequential


class Held(NamedTuple):
    """Masks of registers: those that hold addresses of memory, and those with numbers of at most
    32 bits, which are indices beside an address; and places of the frame that hold addresses."""

    memory: int
    narrow: int = 0
    spilled: Spilled = Spilled()


@dataclass(frozen=True)
class Memory:
    """What instructions do to what is known.

    `constant` says whether the word of shared data at a distance from the pointer to it is an
    address in the file, `allocates` whether the call at an address returns memory, `faults` whether
    control may go on elsewhere at an access: its address is a user's, who may map a device.
    """

    target: Sequential
    known: KnownMemory
    constant: Callable[[int], bool]
    allocates: Callable[[int], bool]
    faults: Callable[[int], bool]

    @property
    def nothing(self) -> Held:
        """What is known where nothing else is."""
        return Held(self.known.ALWAYS)

    def behind(self, held: Held, insn: Insn, address: int) -> Held:
        """What is known behind an instruction."""
        spilled = spilled_behind(held.spilled, insn, held.memory, self.target)
        if insn.op.flow in COMING_BACK:
            kept = self.target.kept_over(insn)
            result = self.known.RESULT if self.allocates(address) else 0
            memory = held.memory & kept | self.known.ALWAYS | result
            return Held(memory, held.narrow & kept, spilled)
        proved = 0 if self.faults(address) else self._proved(insn)
        memory, defs = held.memory | proved, self.target.table.defs(insn)
        if not defs:
            return Held(memory, held.narrow, spilled)
        points = self._points(insn, held._replace(memory=memory))
        narrow = self.known.narrow(insn) or self._narrow_move(insn, held.narrow)
        return Held(
            memory & ~defs | (defs if points else 0) | self.known.ALWAYS,
            held.narrow & ~defs | (defs if narrow else 0),
            spilled,
        )

    def _proved(self, insn: Insn) -> int:
        base = self.known.proves(insn)
        return 0 if base is None else 1 << base

    def _points(self, insn: Insn, held: Held) -> bool:
        """Whether a result is an address of memory."""
        word = self.known.shared_word(insn)
        if word is not None:
            return self.constant(word)
        if read_back(held.spilled, insn, self.target):
            return True
        for pointer, index in self.known.sums(insn):
            if held.memory >> pointer & 1 and (index is None or held.narrow >> index & 1):
                return True
        return False

    def _narrow_move(self, insn: Insn, narrow: int) -> bool:
        linear = self.target.linear(insn)
        return linear is not None and linear[2] == 0 and bool(narrow >> linear[1] & 1)


def known_memory(
    graph: Graph, function: Function, memory: Memory, spoiled: Masks
) -> dict[int, Held]:
    """What is known at the start of each of a function's blocks, by address.

    `spoiled` are by block the registers that a call at its end does not keep after all.
    """
    blocks = graph.blocks_of(function)
    edges = graph.within(blocks)
    found = {b: memory.nothing for b in blocks if graph.entered[b] or graph.resumed[b]}
    fixed, waiting = frozenset(found), sorted(found)
    while waiting:
        block = waiting.pop()
        after = _through(graph, block, found[block], memory)
        if lost := int(spoiled[block]):
            after = after._replace(memory=after.memory & ~lost, narrow=after.narrow & ~lost)
        for following in edges.get(block, ()):
            if following in fixed:
                continue
            before = found.get(following)
            joined = after if before is None else _both(before, after)
            if joined != before:
                found[following] = joined
                waiting.append(following)
    addresses = graph.listing.addresses
    return {int(addresses[graph.first[block]]): held for block, held in found.items()}


def _both(a: Held, b: Held) -> Held:
    return Held(a.memory & b.memory, a.narrow & b.narrow, a.spilled.both(b.spilled))


def _through(graph: Graph, block: int, held: Held, memory: Memory) -> Held:
    first, last = int(graph.first[block]), int(graph.last[block])
    places: list[int] = graph.listing.addresses[first:last].tolist()
    for address, insn in zip(places, graph.listing.insns_at(first, last), strict=True):
        if insn is None:
            return memory.nothing
        held = memory.behind(held, insn, address)
    return held


def followed(held: Held, code: Iterable[tuple[int, Insn]], memory: Memory) -> Mapping[int, Held]:
    """What is known before each of some instructions in a row; nothing behind a call."""
    found = {}
    for address, insn in code:
        found[address] = held
        called = insn.op.flow in COMING_BACK
        held = memory.nothing if called else memory.behind(held, insn, address)
    return found
