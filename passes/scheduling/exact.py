"""The exact scheduler, for loops of one block: OR-Tools CP-SAT, with effort counted and no clock.

In order, it looks for a pass that repeats in the fewest cycles: each instruction gets a place and
a cycle, cycles do not go back from place to place, and pipes, units and results hold as in
`rewriter/timing/inorder/steady`.  Out of order, the window hides latencies, and what an order
decides is how many instructions each half of the integer unit gets: the busier half gets as few as
possible.  Either way what is left out can only add cycles, so that the bound holds in the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Any

from passes.scheduling.dependence import Dependences
from passes.scheduling.list_scheduler import Order, Pass
from passes.scheduling.solver import solver
from rewriter.core.target.cpu import InOrder
from rewriter.timing.steady import Slotted, Steady
from rewriter.timing.steady_node import Node

LONGEST = 60
"""Instructions in a pass, at most."""

_EFFORT = 0.1
"""The solver's own count of work for one loop, in what it calls deterministic seconds."""


@dataclass(frozen=True)
class Solved:
    """An order with fewer cycles than were asked about, if there is one, and a lower bound."""

    order: Order | None
    least: Fraction


def asked(steady: Steady) -> bool:
    """Whether an order is looked for on a CPU at all."""
    return steady.in_order is not None or steady.slotted is not None


def exact(
    loop: Pass, dependences: Dependences, steady: Steady, known: Order, cycles: Fraction
) -> Solved:
    """Looks for an order that takes less than `cycles`, which `known` takes.

    On a CPU that neither issues in order alone nor in halves it looks for none.
    """
    if steady.in_order is not None:
        return _in_order(_Problem(loop, dependences, known), steady, steady.in_order, cycles)
    slotted = steady.slotted
    if slotted is None or slotted.busier(loop.placed(known), loop.standing(known)) < cycles:
        return Solved(None, Fraction(0))  # the halves are not what it waits for
    return _halves(_Problem(loop, dependences, known), steady, slotted, cycles)


class _Problem:
    """Places for the instructions of the one run, in their order of dependence."""

    def __init__(self, loop: Pass, dependences: Dependences, known: Order) -> None:
        cp_model = solver()
        self.loop, self.dependences, self.solver = loop, dependences, cp_model.CpSolver()
        self.model, self._found = cp_model.CpModel(), (cp_model.OPTIMAL, cp_model.FEASIBLE)
        self._none = cp_model.INFEASIBLE
        run = loop.runs[0]
        inside = cp_model.Domain.from_values(run)
        self.place: list[Any] = [
            self.model.new_int_var_from_domain(inside, "") if n in run else n
            for n in range(len(loop.insns))
        ]
        self.model.add_all_different([self.place[n] for n in run])
        for number in run:
            for other in dependences.before[number]:
                if other in run:
                    self.model.add(self.place[other] < self.place[number])
        for place in run:
            self.model.add_hint(self.place[known[place]], place)

    def at(self, values: Sequence[Any], number: int, low: int, high: int) -> Any:
        """Of values by place, the one where an instruction stands."""
        if isinstance(self.place[number], int):
            return values[self.place[number]]
        found = self.model.new_int_var(low, high, "")
        self.model.add_element(self.place[number], values, found)
        return found

    def solve(self, objective: Any, otherwise: int) -> tuple[Order | None, int]:
        """An order with the least objective found, and a bound; `otherwise` if there is none."""
        self.model.minimize(objective)
        parameters = self.solver.parameters
        parameters.num_workers, parameters.random_seed = 1, 0
        parameters.max_deterministic_time = _EFFORT
        status = self.solver.solve(self.model)
        if status == self._none:
            return None, otherwise
        bound = min(ceil(self.solver.best_objective_bound - 1e-6), otherwise)
        if status not in self._found:
            return None, bound
        places = {int(self.solver.value(place)): n for n, place in enumerate(self.place)}
        return tuple(places[place] for place in range(len(self.place))), bound


def _in_order(problem: _Problem, steady: Steady, pipeline: InOrder, cycles: Fraction) -> Solved:
    model, loop = problem.model, problem.loop
    most = ceil(cycles) - 1
    # The next pass starts so long after the last issue; where fetch is ahead, the bubble may be
    # hidden, but fetch takes its time for a pass all the same.
    behind = 1 if pipeline.ahead.value else 1 + pipeline.taken.value
    fetched = len({at // steady.block for at in loop.addresses}) + pipeline.taken.value
    if most < behind:
        return Solved(None, cycles)
    nodes = [steady.node(insn) for insn in loop.insns]
    times = [model.new_int_var(0, most - behind, "") for _ in nodes]
    model.add(times[0] == 0)
    for number, (before, after) in enumerate(zip(loop.addresses, loop.addresses[1:], strict=False)):
        new_block = before // steady.block != after // steady.block
        model.add(times[number + 1] >= times[number] + new_block)
    issue = [problem.at(times, n, 0, most - behind) for n in range(len(nodes))]
    length = model.new_int_var(0, most, "")
    model.add(length >= times[-1] + behind)
    model.add(length >= fetched)
    for number in range(len(nodes)):
        for after, took in problem.dependences.results[number]:
            model.add(issue[after] >= issue[number] + took)
        for after, took in problem.dependences.carried[number]:
            model.add(issue[after] + length >= issue[number] + took)
    _pipes(model, pipeline, nodes, issue)
    _stores(model, pipeline, nodes, issue, length)
    order, bound = problem.solve(length, most + 1)
    # A pass that does not repeat exactly has a broken number: the bound is not for those.
    return Solved(order, Fraction(min(bound, floor(cycles))))


def _pipes(model: Any, pipeline: InOrder, nodes: Sequence[Node], issue: Sequence[Any]) -> None:
    """No two instructions in one pipe at once, nor two that exclude each other."""
    taken: dict[str, list[Any]] = {}
    for node, time in zip(nodes, issue, strict=True):
        chosen = [model.new_bool_var("") for _ in node.pipes]
        model.add_exactly_one(chosen)
        for pipe, here in zip(node.pipes, chosen, strict=True):
            interval = model.new_optional_fixed_size_interval_var(time, 1, here, "")
            taken.setdefault(pipe, []).append(interval)
        if node.unit:
            interval = model.new_fixed_size_interval_var(time, node.busy, "")
            taken.setdefault(f"unit {node.unit}", []).append(interval)
    for intervals in taken.values():
        model.add_no_overlap(intervals)
    for one, other in pipeline.exclusions:
        for a, b in product(range(len(nodes)), repeat=2):
            if nodes[a].name in one and nodes[b].name in other:
                model.add(issue[a] != issue[b])


def _stores(
    model: Any, pipeline: InOrder, nodes: Sequence[Node], issue: Sequence[Any], length: Any
) -> None:
    """No load at a barred distance from a store, of this pass or the one before."""
    loads = [number for number, node in enumerate(nodes) if node.loads]
    stores = [number for number, node in enumerate(nodes) if node.stores]
    for load, store, barred in product(loads, stores, pipeline.barred):
        model.add(issue[load] != issue[store] + barred.value)
        model.add(issue[load] + length != issue[store] + barred.value)


def _halves(problem: _Problem, steady: Steady, slotted: Slotted, cycles: Fraction) -> Solved:
    model, loop = problem.model, problem.loop
    integer = {*slotted.upper, *slotted.lower}
    nodes = [steady.node(insn) for insn in loop.insns]
    issues = [sum(bool(p) and {*p} <= integer for p in (n.pipes, n.then)) for n in nodes]
    letters = [_LETTERS.index(slotted.letter(insn)) for insn in loop.insns]
    each = len(slotted.upper)
    most = ceil(cycles * each) - 1
    upper = _upper_by_place(problem, steady, slotted, letters)
    busier = model.new_int_var(0, most, "")
    up = [problem.at(upper, n, 0, 1) for n in range(len(nodes)) if issues[n]]
    load = sum(u * count for u, count in zip(up, filter(None, issues), strict=True))
    model.add(busier >= load)
    model.add(busier >= sum(issues) - load)
    order, bound = problem.solve(busier, most + 1)
    return Solved(order, min(Fraction(bound, each), cycles))


_LETTERS = "EUL"


def _upper_by_place(
    problem: _Problem, steady: Steady, slotted: Slotted, letters: Sequence[int]
) -> list[Any]:
    """For each place whether its instruction goes to the upper half, by the slotting rule."""
    model, loop = problem.model, problem.loop
    count, size = steady.block // loop.insns[0].size, loop.insns[0].size
    rows = []
    for pattern in product(range(len(_LETTERS)), repeat=count):
        text = "".join(_LETTERS[n] for n in reversed(pattern))
        halves = slotted.slotting(text)[::-1]
        rows.append((*pattern, *(int(half == "U") for half in halves)))
    stands = _letters_by_place(problem, letters)
    known = {at: _LETTERS.index(slotted.letter(insn)) for at, insn in loop.text.items()}
    upper: dict[int, Any] = {}
    for block in sorted({at // steady.block * steady.block for at in loop.addresses}):
        places = range(block, block + steady.block, size)
        given = [stands[at] if at in stands else known.get(at, 0) for at in places]
        given = [model.new_constant(g) if isinstance(g, int) else g for g in given]
        made = [model.new_bool_var("") for _ in places]
        model.add_allowed_assignments([*given, *made], rows)
        upper.update(zip(places, made, strict=True))
    return [upper[at] for at in loop.addresses]


def _letters_by_place(problem: _Problem, letters: Sequence[int]) -> dict[int, Any]:
    """By address, the letter of what stands there."""
    model, loop = problem.model, problem.loop
    run = loop.runs[0]
    found: dict[int, Any] = {at: letters[n] for n, at in enumerate(loop.addresses) if n not in run}
    for place in run:
        letter = model.new_int_var(0, len(_LETTERS) - 1, "")
        found[loop.addresses[place]] = letter
    for number in run:
        for place in run:
            here = model.new_bool_var("")
            model.add(problem.place[number] == place).only_enforce_if(here)
            model.add(problem.place[number] != place).only_enforce_if(~here)
            model.add(found[loop.addresses[place]] == letters[number]).only_enforce_if(here)
    return found
