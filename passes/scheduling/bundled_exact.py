"""The exact scheduler of straight regions: OR-Tools CP-SAT, with effort counted and no clock.

Each instruction gets a cycle.  Dependences hold with their distances, ports and slots are enough
in every cycle, nothing issues where an instruction keeps all others off, and no more values live
at a time than there are registers.  What is left out (how slots make bundles) can only add cycles,
so that the bound holds in the model; the arrangement is then made of the cycles found, and counts
with the cycles that it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from types import MappingProxyType
from typing import Any

from passes.scheduling.solver import solver
from rewriter.core.code.ordering import Limits
from rewriter.core.code.scheduling import Part

EFFORT = 2.0
"""The solver's own count of work for one question, in what it calls deterministic seconds."""

_SEARCHES = 4  # that share the effort for one question


Groups = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Solved:
    """The cycle of each instruction, None if no solution was found; none takes fewer cycles than
    `least`."""

    cycles: tuple[int, ...] | None
    least: int


def least(part: Part, limits: Limits, most: int, effort: float = EFFORT) -> Solved:
    """The fewest cycles, up to `most`, if there were registers for any number of values."""
    problem = _Problem(part, limits, most)
    problem.model.minimize(problem.end)
    return problem.solve(effort)


def within(
    part: Part,
    limits: Limits,
    most: int,
    near: Sequence[int],
    apart: Groups,
    latest: Mapping[int, int] = MappingProxyType({}),
    effort: float = EFFORT,
) -> tuple[int, ...] | None:
    """Cycles of which there are at most `most`, for the registers that the part allows.

    `near` is where to begin to look; instructions of a set of `apart` do not all share a cycle,
    and those of `latest`, by number, issue in no later cycle.
    """
    problem = _Problem(part, limits, most)
    problem.live()
    for number, cycle in latest.items():
        problem.model.add(problem.time[number] <= cycle)
    problem.separate(apart)
    for time, cycle in zip(problem.time, near, strict=True):
        problem.model.add_hint(time, cycle)
    # How long a search takes depends on where chance leads it: several short ones find more.
    for seed in range(_SEARCHES):
        solved = problem.solve(effort / _SEARCHES, seed)
        if solved.cycles is not None or solved.least > most:
            return solved.cycles
    return None


class _Problem:
    def __init__(self, part: Part, limits: Limits, most: int) -> None:
        cp_model = solver()
        self.cp, self.model = cp_model, cp_model.CpModel()
        self.part, self.limits = part, limits
        self.insns = [slot.insn for slot in part.slots]
        self.last = most - 1
        starts, tails = heads(part), _tails(part)
        longest = max(head + tail for head, tail in zip(starts, tails, strict=True))
        self.possible = longest <= self.last
        self.time: list[Any] = [
            self.model.new_int_var(head, max(head, self.last - tail), "")
            for head, tail in zip(starts, tails, strict=True)
        ]
        self.end = self.model.new_int_var(longest, max(longest, self.last), "")
        for time in self.time:
            self.model.add(self.end >= time)
        self.depend()
        self.issue()

    def depend(self) -> None:
        """Instructions stay behind what they depend on."""
        for later, edges in enumerate(self.part.before):
            for edge in edges:
                distance = max(edge.cycles, edge.apart)
                self.model.add(self.time[later] >= self.time[edge.before] + distance)

    def issue(self) -> None:
        """Slots and ports of each cycle."""
        model, limits = self.model, self.limits
        every = [model.new_fixed_size_interval_var(time, 1, "") for time in self.time]
        widths = [limits.takes(insn) for insn in self.insns]
        model.add_cumulative(every, widths, limits.places)
        for time, insn in zip(self.time, self.insns, strict=True):
            for start, length in limits.alone(insn):
                empty = model.new_fixed_size_interval_var(time + start, length, "")
                model.add_cumulative([*every, empty], [*widths, limits.places], limits.places)
        ports = [limits.ports(insn) for insn in self.insns]
        for union in _unions(set(ports)):
            inside = [every[n] for n, each in enumerate(ports) if each <= union]
            if len(union) < limits.places and len(inside) > len(union):
                model.add_cumulative(inside, [1] * len(inside), len(union))

    def separate(self, apart: Groups) -> None:
        """Sets of instructions that do not fit in one cycle."""
        for numbers in apart:
            first = self.model.new_int_var(0, self.last, "")
            last = self.model.new_int_var(0, self.last, "")
            self.model.add_min_equality(first, [self.time[n] for n in numbers])
            self.model.add_max_equality(last, [self.time[n] for n in numbers])
            self.model.add(last > first)

    def live(self) -> None:
        """Values from the cycle in which they are made to that in which they are last read."""
        values = [(first, members, False) for first, members in self.part.values]
        intervals = [self._lives(*each) for each in (*values, *self.part.pinned)]
        if len(intervals) > self.part.most:
            self.model.add_cumulative(intervals, [1] * len(intervals), self.part.most)

    def _lives(self, first: int, members: int, outlives: bool) -> Any:
        """The cycles from the one in which a value is made; -1 was before all."""
        model = self.model
        end = model.new_int_var(0, self.last + 1, "")
        for number in range(len(self.insns)):
            if members >> number & 1:
                model.add(end >= self.time[number] + (number == first))
        if outlives:
            model.add(end == self.last + 1)
        size = model.new_int_var(0, self.last + 2, "")
        start = self.time[first] if first >= 0 else -1
        return model.new_interval_var(start, size, end, "")

    def solve(self, effort: float, seed: int = 0) -> Solved:
        """The best solution found, and the bound."""
        if not self.possible:
            return Solved(None, self.last + 2)
        solver = self.cp.CpSolver()
        parameters = solver.parameters
        parameters.num_workers, parameters.random_seed = 1, seed
        parameters.max_deterministic_time = effort
        status = solver.solve(self.model)
        if status == self.cp.INFEASIBLE:
            return Solved(None, self.last + 2)
        bound = ceil(solver.best_objective_bound - 1e-6) + 1
        if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            return Solved(None, bound)
        return Solved(tuple(int(solver.value(time)) for time in self.time), bound)


def heads(part: Part) -> list[int]:
    """The cycle before which each instruction cannot issue."""
    heads: list[int] = []
    for edges in part.before:
        heads.append(max((heads[e.before] + max(e.cycles, e.apart) for e in edges), default=0))
    return heads


def _tails(part: Part) -> list[int]:
    """The cycles from each instruction to the last at least."""
    tails = [0] * len(part.slots)
    for later in range(len(tails) - 1, -1, -1):
        for edge in part.before[later]:
            distance = tails[later] + max(edge.cycles, edge.apart)
            tails[edge.before] = max(tails[edge.before], distance)
    return tails


def _unions(ports: set[frozenset[str]]) -> Iterator[frozenset[str]]:
    """All sets of ports that are made of the given ones."""
    found: set[frozenset[str]] = set()
    for each in ports:
        found |= {each} | {each | other for other in found}
    return iter(sorted(found, key=sorted))
