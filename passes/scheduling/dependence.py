"""What must stay in order in one pass of a loop, and how long each result takes.

Instructions between two fixed ones may change places as far as these allow it:
- registers: a read stays behind the write that it gets its value from, and before the next write;
- stores keep their order, and stay behind every load that stood before them, so that a fault of a
  load finds no store done that was not done before;
- a load may pass another load, and goes before a store only when both are reached from one value,
  as far apart as the widest access takes, a cell at least.
Where accesses may reach a device, all of them keep their order.  A nop does nothing, whatever
its mnemonic says (UNOP is written as a load): it waits for nothing, and nothing waits for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rewriter.core.code.dataflow import registers_of
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.protocol import Sequential
from rewriter.timing.steady import Steady
from rewriter.timing.steady_node import Where

Edge = tuple[int, int]
"""Another instruction of the pass, by number, and cycles between the two."""


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
        for start in sorted({after for edges in self.carried for after, _ in edges}):
            times = {start: 0}
            for turn in (1, 2):
                times = self._following(times)
                worst = max(worst, Fraction(times.get(start, 0), turn))
        return worst

    def _following(self, times: dict[int, int]) -> dict[int, int]:
        """When instructions of the next pass can start, given when some of this pass do."""
        for number, edges in enumerate(self.results):
            if number in times:
                for after, took in edges:
                    times[after] = max(times.get(after, 0), times[number] + took)
        following: dict[int, int] = {}
        for number, time in times.items():
            for after, took in self.carried[number]:
                following[after] = max(following.get(after, 0), time + took)
        return following


def free(insn: Insn, target: Sequential) -> bool:
    """Whether nothing but its operands ties an instruction to its place.

    A load that has no result is a hint, and a hint is given where somebody wanted it.
    """
    effects = target.table.effects(insn.op)
    tied = effects.events or effects.placed or (effects.loads and not target.table.defs(insn))
    return insn.op.flow is Flow.NEXT and not tied and not target.in_order(insn)


def dependences(
    insns: Sequence[Insn],
    places: Sequence[Where | None],
    target: Sequential,
    steady: Steady,
    devices: bool = False,
) -> Dependences:
    """The dependences of one pass whose accesses are at `places`, or may be to devices."""
    before, results, writer = straight(insns, places, target, steady, devices)
    carried = _carried(insns, writer, target, steady)
    return Dependences(
        tuple(map(frozenset, before)), tuple(map(tuple, results)), tuple(map(tuple, carried))
    )


def straight(
    insns: Sequence[Insn],
    places: Sequence[Where | None],
    target: Sequential,
    steady: Steady,
    devices: bool = False,
) -> tuple[list[set[int]], list[list[Edge]], dict[int, int]]:
    """The same of straight code: `before`, `results`, and what writes each register last."""
    before, results, writer = _direct(insns, places, target, steady)
    if devices:
        _in_their_order(insns, before, target)
    return before, results, writer


def _direct(
    insns: Sequence[Insn], places: Sequence[Where | None], target: Sequential, steady: Steady
) -> tuple[list[set[int]], list[list[Edge]], dict[int, int]]:
    table = target.table
    wide = max((table.cell, *(table.effects(insn.op).size for insn in insns)))
    before: list[set[int]] = []
    results: list[list[Edge]] = [[] for _ in insns]
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    loads: list[int] = []
    stores: list[int] = []
    for number, insn in enumerate(insns):
        needed = set[int]()
        before.append(needed)
        if target.is_nop(insn):
            continue
        for register in registers_of(table.uses(insn)):
            if register in writer:
                needed.add(writer[register])
                took = steady.latency(insns[writer[register]], insn, register)
                results[writer[register]].append((number, took))
            readers.setdefault(register, []).append(number)
        for register in registers_of(table.defs(insn)):
            needed.update(n for n in readers.pop(register, ()) if n != number)
            if register in writer:
                needed.add(writer[register])
            writer[register] = number
        effects = table.effects(insn.op)
        if effects.stores:
            needed.update(stores[-1:])
            needed.update(loads)
            stores.append(number)
        elif effects.loads:
            needed.update(s for s in stores if not _apart(places[s], places[number], wide))
            loads.append(number)
    return before, results, writer


def _in_their_order(insns: Sequence[Insn], before: list[set[int]], target: Sequential) -> None:
    last: int | None = None
    for number, insn in enumerate(insns):
        if target.table.accesses(insn) and not target.is_nop(insn):
            if last is not None:
                before[number].add(last)
            last = number


def _carried(
    insns: Sequence[Insn], writer: dict[int, int], target: Sequential, steady: Steady
) -> list[list[Edge]]:
    found: list[list[Edge]] = [[] for _ in insns]
    written = 0
    for number, insn in enumerate(insns):
        if target.is_nop(insn):
            continue
        for register in registers_of(target.table.uses(insn) & ~written):
            if register in writer:
                took = steady.latency(insns[writer[register]], insn, register)
                found[writer[register]].append((number, took))
        written |= target.table.defs(insn)
    return found


def accesses(insns: Sequence[Insn], target: Sequential) -> tuple[Where | None, ...]:
    """Where each instruction accesses memory: an unknown value, and bytes from it."""
    table = target.table
    values: dict[int, tuple[object, int]] = {}
    found: list[Where | None] = []
    for number, insn in enumerate(insns):
        effects = table.effects(insn.op)
        if effects.loads or effects.stores:
            found.append(_place(target.spelling.address(insn), values))
        else:
            found.append(None)
        step = target.linear(insn)
        if step is not None:
            result, source, distance = step
            root, offset = values.get(source, (("at the start", source), 0))
            values[result] = (root, offset + distance)
        else:
            for register in registers_of(table.defs(insn)):
                values[register] = ((number, register), 0)
    return tuple(found)


def _place(
    spelled: tuple[int, int] | None, values: Mapping[int, tuple[object, int]]
) -> Where | None:
    """Where an access is, if a register and a constant say it; None where nobody knows."""
    if spelled is None:
        return None
    base, displacement = spelled
    root, offset = values.get(base, (("at the start", base), 0))
    return root, offset + displacement


def _apart(one: Where | None, other: Where | None, cell: int) -> bool:
    if one is None or other is None or one[0] != other[0]:
        return False
    return abs(one[1] - other[1]) >= cell
