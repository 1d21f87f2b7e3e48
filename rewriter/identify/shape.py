"""Functions that could be a known routine by their shape alone, to be tried on its cases.

A shape is what one look at the instructions tells: how long, what is called, which argument
registers are read before they are written, whether memory beside the stack is read and written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.contracts.contract import Contract
from rewriter.contracts.contract import Kind as Argument
from rewriter.contracts.linkage import Linkage
from rewriter.core.code.listing import FLOW_CODE, UNKNOWN, among
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import CALLS, Flow, To, leading
from rewriter.core.isa.operands import Kind, Words
from rewriter.core.isa.registers import Masks, of_row, register_mask
from rewriter.core.isa.table import Table
from rewriter.core.target.capability import trials_of
from rewriter.core.target.protocol import Sequential
from rewriter.identify.search import Range

_LONGEST = 400  # words: hand-unrolled routines reach 325 in glibc, 288 in Linux
_CALLS = 4  # direct calls of a function that is nearly a leaf
_UNTOLD = (leading(To.REGISTER) & CALLS) | {Flow.TRAP}  # what they do cannot be told


@dataclass(frozen=True, slots=True)
class Shape:
    """What a function does at a glance; registers are masks."""

    words: int
    calls: int
    leaves: bool
    live: int
    loads: bool
    stores: bool


def candidates(
    ranges: Sequence[Range],
    target: Sequential,
    functions: Sequence[Function],
    contracts: Mapping[str, Contract],
) -> Iterator[tuple[Function, tuple[str, ...]]]:
    """Functions with the names of the contracts that their shape fits."""
    size = target.table.size
    linkages = {c.linkage: trials_of(target).program(c.linkage).linkage for c in contracts.values()}
    for start, words in ranges:
        glance = Glance(words, target.table, {linkage.stack for linkage in linkages.values()})
        for function in functions:
            first, last = ((at - start) // size for at in (function.start, function.end))
            if not 0 <= first < last <= len(words) or last - first > _LONGEST:
                continue
            shape = glance.shape(first, last)
            if shape is not None:
                fitting = (c for c in contracts.values() if fits(shape, c, linkages[c.linkage]))
                names = tuple(contract.name for contract in fitting)
                if names:
                    yield function, names


class Glance:
    """What every instruction of a text does, as arrays."""

    def __init__(self, words: Words, table: Table, stacks: Collection[int]) -> None:
        rows = table.classify(words)
        self.uses, self.defs = table.uses_and_defs(words, rows)
        beside = ~(self.uses & table.columns_of(register_mask(stacks))).any(axis=1)
        effects = [table.effects(op) for op in table.rows]
        # The last element is for row -1: data.
        self.loads = np.array([e.loads for e in effects] + [False])[rows] & beside
        self.stores = np.array([e.stores for e in effects] + [False])[rows] & beside
        self.flows = np.array([FLOW_CODE[op.flow] for op in table.rows] + [UNKNOWN])[rows]
        self.goals = _goals(words, rows, table)

    def shape(self, first: int, last: int) -> Shape | None:
        """The shape of a function; None where it calls what cannot be told, or traps."""
        part = slice(first, last)
        flows = self.flows[part]
        if np.any(among(flows, _UNTOLD) | (flows == UNKNOWN)):
            return None
        calls = among(flows, CALLS)
        goals = self.goals[part][~calls]
        away = (goals >= 0) & ((goals < first) | (goals >= last))
        # A call may have written any register.
        certain = flows == FLOW_CODE[Flow.CALL]
        defs = np.where(certain[:, None], ~np.uint64(0), self.defs[part])
        return Shape(
            words=last - first,
            calls=int(np.sum(calls)),
            leaves=bool(np.any(away) or np.any(among(flows, leading(To.REGISTER)))),
            live=_live(self.uses[part], defs),
            loads=bool(np.any(self.loads[part])),
            stores=bool(np.any(self.stores[part])),
        )


def _goals(words: Words, rows: NDArray[np.int16], table: Table) -> NDArray[np.int64]:
    """The position that each instruction may go to, -1 where it says none."""
    goals = np.full(len(words), -1, dtype=np.int64)
    for number, op in enumerate(table.rows):
        for operand in op.format.operands:
            if operand.kind is Kind.TARGET:
                at = np.flatnonzero(rows == number)
                starts = at.astype(np.uint64) * np.uint64(table.size)
                places = operand.goals(table.extract(words[at], operand), starts, table.size)
                goals[at] = np.maximum(places.view(np.int64) // table.size, 0)
    return goals


def _live(uses: Masks, defs: Masks) -> int:
    """Registers that are read before they are written, in the order of addresses."""
    written = np.bitwise_or.accumulate(defs, axis=0)
    before = np.concatenate((np.zeros_like(defs[:1]), written[:-1]))
    return of_row(np.bitwise_or.reduce(uses & ~before, axis=0))


def fits(shape: Shape, contract: Contract, linkage: Linkage) -> bool:
    """Whether a routine of that shape could keep the contract.

    Other registers than arguments do not count: in the order of addresses, a loop that is entered
    in its middle reads what is set further down.
    """
    wanted = len(contract.kinds)
    given = register_mask(linkage.arguments[:wanted])
    others = register_mask(linkage.arguments[wanted:])
    if shape.calls > _CALLS or shape.live & others:
        return False
    read = (shape.live & given).bit_count()
    if shape.calls or shape.leaves:  # two arguments may be handed on as they came
        return read >= max(1, wanted - 2)
    writes = Argument.TO in contract.kinds
    reads = Argument.FROM in contract.kinds
    return read == wanted and shape.stores == writes and (shape.loads or not reads)
