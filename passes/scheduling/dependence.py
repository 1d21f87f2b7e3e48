"""What must stay in order in one pass of a loop, and how long each result takes.

Instructions between two fixed ones may change places as far as these allow it:
- registers: a read stays behind the write that it gets its value from, and before the next write;
- stores keep their order, and stay behind every load that stood before them, so that a fault of a
  load finds no store done that was not done before;
- a load may pass another load, and goes before a store only when both are reached from one value,
  as far apart as the widest access takes, a cell at least.
Where accesses may reach a device, all of them keep their order, and so does what else reads where
the data of the processor is.  A nop does nothing, whatever
its mnemonic says (UNOP is written as a load): it waits for nothing, and nothing waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

from rewriter.core.isa.instruction import BRANCHING, Flow, Insn, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.masks import bits
from rewriter.core.run.kept import alike, by
from rewriter.core.target.protocol import Sequential, asks_processor
from rewriter.timing.steady import Steady
from rewriter.timing.steady_node import Where

Edge = tuple[int, int]
"""Another instruction of the pass, by number, and cycles between the two."""

Reader = tuple[int, int]
"""An instruction that reads a result, by number, and the register."""


@dataclass(frozen=True)
class Dependences:
    """Of instructions numbered in their original order.

    `before` are, for each, those that must stand before it; `results` those of the same pass that
    read what it makes, with the cycles that takes; `carried` the same of the next pass.
    """

    before: tuple[frozenset[int], ...]
    results: tuple[tuple[Edge, ...], ...]
    carried: tuple[tuple[Edge, ...], ...]

    def heights(self, cycles: int) -> list[int]:
        """How many cycles must follow each, at least, when a pass takes so many."""
        heights = [0] * len(self.before)
        for _ in range(2):  # what the next pass waits for counts less by a pass
            for number in range(len(heights) - 1, -1, -1):
                inner = (heights[n] + took for n, took in self.results[number])
                outer = (heights[n] + took - cycles for n, took in self.carried[number])
                heights[number] = max((0, *inner, *outer))
        return heights

    def recurrence(self) -> Fraction:
        """Cycles a pass that results alone cost at least, if everything else were free.

        An instruction that waits for itself, one or two passes before, shows it.
        """
        worst = Fraction(0)
        for number, edges in enumerate(self.carried):
            if not edges:
                continue
            times = {number: 0}
            for turn in (1, 2):
                times = self._following(times)
                worst = max(worst, Fraction(times.get(number, 0), turn))
        return worst

    def _following(self, times: dict[int, int]) -> dict[int, int]:
        """When instructions of the next pass can start, given when some of this one do: what is
        carried from these, and all that waits for it in the next pass."""
        following: dict[int, int] = {}
        for number, time in times.items():
            for after, took in self.carried[number]:
                following[after] = max(following.get(after, 0), time + took)
        for number, edges in enumerate(self.results):
            if number in following:
                for after, took in edges:
                    following[after] = max(following.get(after, 0), following[number] + took)
        return following


@dataclass(frozen=True, slots=True, eq=False)
class Bonds:
    """What ties an instruction to others and to its place.

    One that `is_free` has nothing else that does than what it reads and writes: `uses` and `defs`
    are registers, `written` the mask of the latter.  It may access so many bytes (`size`) at a
    `place`, base and displacement, and take a `step`: result, source and distance.  In a system's
    code it is `ordered` among accesses.  Some CPUs may lack what it `needs`, if that is not empty.
    """

    is_free: bool
    is_nop: bool
    branches: bool
    uses: tuple[int, ...]
    defs: tuple[int, ...]
    written: int
    loads: bool
    stores: bool
    accesses: bool
    ordered: bool
    size: int
    place: tuple[int, int] | None
    step: tuple[int, int, int] | None
    needs: str


@cache
def bonding(target: Sequential) -> Callable[[Insn], Bonds]:
    """What ties an instruction to others and to its place, wherever it may branch to."""

    def staying(op: Op) -> Iterable[int]:
        operands = enumerate(op.format.operands)
        return [number for number, operand in operands if operand.kind is not Kind.TARGET]

    return alike(partial(_bonds, target), by(staying))


def _bonds(target: Sequential, insn: Insn) -> Bonds:
    table = target.table
    effects, written = table.effects(insn.op), table.defs(insn)
    return Bonds(
        is_free=free(insn, target),
        is_nop=target.is_nop(insn),
        branches=insn.op.flow in BRANCHING,
        uses=bits(table.uses(insn)),
        defs=bits(written),
        written=written,
        loads=effects.loads,
        stores=effects.stores,
        accesses=table.accesses(insn),
        ordered=table.accesses(insn) or asks_processor(insn, target),
        size=effects.size,
        place=target.spelling.address(insn) if effects.loads or effects.stores else None,
        step=target.linear(insn),
        needs=insn.op.needs,
    )


def free(insn: Insn, target: Sequential) -> bool:
    """Whether nothing but its operands ties an instruction to its place.

    A load that has no result is a hint, and a hint is given where somebody wanted it.
    """
    effects = target.table.effects(insn.op)
    tied = effects.events or effects.placed or (effects.loads and not target.table.defs(insn))
    return insn.op.flow is Flow.NEXT and not tied and not target.in_order(insn)


@dataclass(frozen=True, slots=True, eq=False)
class Straight:
    """Dependences of straight code whose instructions have `bonds` and access `places`.

    Memory has such cells, and accesses may be to `devices`.  `before` are, for each, as a mask,
    those that it must itself stand behind; `readers` those that read what it makes, with the
    register; `writer` has what writes each register last.
    """

    bonds: Sequence[Bonds]
    places: Sequence[Where | None]
    cell: int
    devices: bool
    before: list[int]
    readers: list[list[Reader]]
    writer: dict[int, int]

    def reordered(self, order: Sequence[int]) -> Straight:
        """The same in another order."""
        every = [self.bonds[number] for number in order]
        return straight(every, accesses(every), self.cell, self.devices)

    @property
    def moving(self) -> int:
        """The mask of those that are free, nops apart: only they change places."""
        found = 0
        for number, one in enumerate(self.bonds):
            if one.is_free and not one.is_nop:
                found |= 1 << number
        return found

    @property
    def is_chain(self) -> bool:
        """Whether those that are free wait for one another, so that there is one order only."""
        return is_chain(self.moving, closed(self.before))


def closed(before: Sequence[int]) -> list[int]:
    """For each, as a mask, all that must stand before it, given those that it must itself."""
    found: list[int] = []
    for needed in before:
        mask = needed
        while needed:
            low = needed & -needed
            mask |= found[low.bit_length() - 1]
            needed ^= low
        found.append(mask)
    return found


def is_chain(moving: int, before: Sequence[int]) -> bool:
    """Whether each of a mask, but the first, must stand behind the one before it in the mask."""
    last = 0
    while moving:
        low = moving & -moving
        if last & ~before[low.bit_length() - 1]:
            return False
        last = low
        moving ^= low
    return True


def dependences(
    insns: Sequence[Insn],
    places: Sequence[Where | None],
    target: Sequential,
    steady: Steady,
    devices: bool = False,
) -> Dependences:
    """The dependences of one pass whose accesses are at `places`, or may be to devices."""
    every = [*map(bonding(target), insns)]
    code = straight(every, places, target.table.cell, devices)
    results = [
        [(number, steady.latency(insn, insns[number], register)) for number, register in readers]
        for insn, readers in zip(insns, code.readers, strict=True)
    ]
    carried = _carried(insns, every, code.writer, steady)
    return Dependences(
        tuple(frozenset(bits(needed)) for needed in code.before),
        tuple(map(tuple, results)),
        tuple(map(tuple, carried)),
    )


def straight(
    every: Sequence[Bonds], places: Sequence[Where | None], cell: int, devices: bool
) -> Straight:
    """The dependences of instructions with such bonds, one behind the other."""
    wide = max([cell, *[one.size for one in every]])
    before: list[int] = []
    results: list[list[Reader]] = [[] for _ in every]
    writer: dict[int, int] = {}
    readers: dict[int, int] = {}
    loads, stores = 0, list[int]()
    for number, one in enumerate(every):
        needed = 0
        if not one.is_nop:
            for register in one.uses:
                if register in writer:
                    made = writer[register]
                    needed |= 1 << made
                    results[made].append((number, register))
                readers[register] = readers.get(register, 0) | 1 << number
            for register in one.defs:
                needed |= readers.pop(register, 0)
                if register in writer:
                    needed |= 1 << writer[register]
                writer[register] = number
            if one.stores:
                needed |= loads | (1 << stores[-1] if stores else 0)
                stores.append(number)
            elif one.loads:
                for store in stores:
                    if not _apart(places[store], places[number], wide):
                        needed |= 1 << store
                loads |= 1 << number
        before.append(needed & ~(1 << number))
    if devices:
        _in_their_order(every, before)
    return Straight(every, places, cell, devices, before, results, writer)


def _in_their_order(every: Sequence[Bonds], before: list[int]) -> None:
    last: int | None = None
    for number, one in enumerate(every):
        if one.ordered and not one.is_nop:
            if last is not None:
                before[number] |= 1 << last
            last = number


def _carried(
    insns: Sequence[Insn], every: Sequence[Bonds], writer: dict[int, int], steady: Steady
) -> list[list[Edge]]:
    found: list[list[Edge]] = [[] for _ in insns]
    written = 0
    for number, one in enumerate(every):
        if one.is_nop:
            continue
        for register in one.uses:
            if register in writer and not written >> register & 1:
                took = steady.latency(insns[writer[register]], insns[number], register)
                found[writer[register]].append((number, took))
        written |= one.written
    return found


def accesses(every: Iterable[Bonds]) -> tuple[Where | None, ...]:
    """Where each instruction accesses memory: an unknown value, and bytes from it."""
    values: dict[int, tuple[object, int]] = {}
    found: list[Where | None] = []
    for number, one in enumerate(every):
        found.append(None if one.place is None else _place(one.place, values))
        if one.step is not None:
            result, source, distance = one.step
            root, offset = values.get(source, (("at the start", source), 0))
            values[result] = (root, offset + distance)
        else:
            for register in one.defs:
                values[register] = ((number, register), 0)
    return tuple(found)


def _place(spelled: tuple[int, int], values: Mapping[int, tuple[object, int]]) -> Where:
    """Where an access is, by its register and constant."""
    base, displacement = spelled
    root, offset = values.get(base, (("at the start", base), 0))
    return root, offset + displacement


def _apart(one: Where | None, other: Where | None, cell: int) -> bool:
    if one is None or other is None or one[0] != other[0]:
        return False
    return abs(one[1] - other[1]) >= cell
