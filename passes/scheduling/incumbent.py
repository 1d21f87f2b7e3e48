"""The best order of a loop's pass that is found, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from passes.scheduling.dependence import Dependences, dependences
from passes.scheduling.exact import LONGEST, exact
from passes.scheduling.list_scheduler import Order, Pass, orders
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.protocol import Sequential
from rewriter.timing.steady import Steady


@dataclass(frozen=True)
class Found:
    """An order with its modelled cycles a pass; `least` is a bound that no order goes below."""

    order: Order
    cycles: Fraction
    least: Fraction

    @property
    def limit(self) -> str:
        """How good it is, in words."""
        return "proved optimal" if self.cycles <= self.least else f"no order below {self.least}"


def best(loop: Pass, cycles: Fraction, target: Sequential, steady: Steady) -> Found:
    """The best order found of a pass that takes `cycles` now; the same one if none is better.

    What was found is looked at again until nothing more is: a second run finds nothing to do.
    """
    found = Found(loop.same, cycles, Fraction(0))
    while True:
        here = loop.reordered(found.order)
        better = _better(here, found.cycles, target, steady)
        order = tuple(found.order[n] for n in better.order)
        again = better.cycles < found.cycles
        found = Found(order, better.cycles, max(found.least, better.least))
        if not again:
            return found


def _better(loop: Pass, cycles: Fraction, target: Sequential, steady: Steady) -> Found:
    """The best order found, without looking again."""
    depends = dependences(loop.insns, loop.accesses, target, steady, loop.devices)
    least = max(Fraction(steady.least(loop.placed(loop.same))), depends.recurrence())
    order = loop.same
    if cycles > least:
        order, cycles = _listed(loop, depends, cycles, least, steady)
    if cycles > least and _is_block(loop):
        solved = exact(loop, depends, steady, order, cycles)
        least = max(least, solved.least)
        took = loop.cycles(solved.order, steady) if solved.order is not None else cycles
        if solved.order is not None and took < cycles:
            order, cycles = solved.order, took
    return Found(order, cycles, least)


def _listed(
    loop: Pass, depends: Dependences, cycles: Fraction, least: Fraction, steady: Steady
) -> tuple[Order, Fraction]:
    order, known = loop.same, {loop.same: cycles}
    for other in orders(loop, depends, steady, cycles):
        if other not in known:
            known[other] = loop.cycles(other, steady)
        if known[other] < cycles:
            order, cycles = other, known[other]
        if cycles <= least:
            break
    return order, cycles


def _is_block(loop: Pass) -> bool:
    """Whether control leaves only at the end, and the exact scheduler can hold it."""
    straight = all(insn.op.flow is Flow.NEXT for insn in loop.insns[:-1])
    return straight and len(loop.runs) == 1 and len(loop.insns) <= LONGEST
