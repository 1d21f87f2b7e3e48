"""An in-order pipeline that repeats one pass of a loop; see `inorder` for the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import Table
from rewriter.core.target.cpu import Cpu, InOrder
from rewriter.timing.inorder.ahead import Ahead, Stores
from rewriter.timing.inorder.pipeline import assign
from rewriter.timing.steady import Line, Steady, Stepper, Times, between
from rewriter.timing.steady_node import Node, Placed, Where

_WARMING, _MEASURED = 2, 8
"""Passes until fetch is as far ahead as it comes, and those over which the cycles are taken."""

_Step = tuple[int, Node, Where | None]
"""An instruction with its fetch block, and where it accesses memory if that is known."""

Fits = Callable[[Sequence[Node]], bool]
"""Whether instructions may issue together."""


class RepeatedInOrder:
    """One run."""

    def __init__(self, pipeline: InOrder, fits: Fits) -> None:
        self._fits = fits
        self._taken = pipeline.taken.value
        self._after_store = {at: figure.value for at, figure in pipeline.after_store.items()}
        self._waiting = pipeline.waiting
        self._cycle = self._finished = 0
        self._ahead = Ahead(pipeline.ahead.value, first=1)
        self._stores = Stores([figure.value for figure in pipeline.barred])
        self._group: list[Node] = []
        self._block: int | None = None
        self._values: dict[int, tuple[int, int, str]] = {}
        self._units: dict[str, int] = {}
        self._stored: dict[Where, int] = {}

    def run(self, steps: Sequence[_Step], passes: int) -> list[int]:
        """When the last instruction of each pass issues."""
        ends = []
        for _ in range(passes):
            for block, node, where in steps:
                self.put(block, node, where)
            ends.append(self._cycle)
            self.back()
        return ends

    def start(self, block: int, node: Node, where: Where | None) -> int:
        """When an instruction would issue if it were the next."""
        cycle = self._cycle
        if block != self._block:
            cycle = self._ahead.reach(cycle + 1)
        for register, special in node.reads:
            value = self._values.get(register)
            if value is not None:
                issued, latency, name = value
                cycle = max(cycle, issued + special.get(name, latency))
        if node.unit:
            cycle = max(cycle, self._units.get(node.unit, 0))
        if node.name in self._waiting:
            cycle = max(cycle, self._finished)
        cycle = self._behind_store(node, where, cycle)
        if cycle == self._cycle and not self._fits([*self._group, node]):
            cycle = self._behind_store(node, where, cycle + 1)
        return cycle

    def put(self, block: int, node: Node, where: Where | None) -> int:
        """Issues an instruction; returns its cycle."""
        cycle = self.start(block, node, where)
        if block != self._block:
            self._ahead.enter(self._cycle + 1)
        if cycle > self._cycle:
            self._group = []
        self._group.append(node)
        self._cycle, self._block = cycle, block
        for register in node.writes:
            self._values[register] = (cycle, node.latency, node.name)
        self._finished = max(self._finished, cycle + node.latency)
        if node.unit:
            self._units[node.unit] = cycle + node.busy
        if node.stores:
            self._stores.issue(cycle)
            if where is not None:
                self._stored[where] = cycle
        return cycle

    def back(self) -> None:
        """A branch back to the start is taken; places of accesses are other ones now."""
        self._ahead.taken(self._taken)
        self._block = None
        self._stored = {}

    def _behind_store(self, node: Node, where: Where | None, cycle: int) -> int:
        """A load at a barred distance from a store, or too soon after one to its place."""
        if not node.loads:
            return cycle
        stored = self._stored.get(where) if where is not None else None
        if stored is not None and self._after_store:
            cycle = max(cycle, stored + 1)
            cycle += self._after_store.get(cycle - stored, 0)
        return self._stores.clear(cycle)


class _Stepping(Stepper):
    """A run that is given its instructions one at a time."""

    def __init__(self, run: RepeatedInOrder, steps: Sequence[_Step]) -> None:
        self._run, self._steps = run, steps

    def loop(self) -> None:
        """Runs one pass of a loop."""
        self._run.run(self._steps, 1)

    def start(self, place: int, number: int) -> int:
        """When an instruction would issue if it were the next."""
        _, node, where = self._steps[number]
        return self._run.start(self._steps[place][0], node, where)

    def put(self, place: int, number: int) -> int:
        """Issues an instruction; returns its cycle."""
        _, node, where = self._steps[number]
        return self._run.put(self._steps[place][0], node, where)


class _InOrderLine(Line):
    """Straight code that runs once."""

    def __init__(self, pipeline: InOrder, fits: Fits, steps: Sequence[_Step]) -> None:
        self._pipeline, self._fits, self._steps = pipeline, fits, steps

    def times(self, order: Sequence[int]) -> list[Times]:
        """When what stands at each place issues, and has its results."""
        run, found = RepeatedInOrder(self._pipeline, self._fits), list[Times]()
        for place, number in enumerate(order):
            _, node, where = self._steps[number]
            cycle = run.put(self._steps[place][0], node, where)
            found.append((cycle, cycle + node.after + node.latency))
        return found

    def stepper(self) -> Stepper:
        """A pipeline that has not run yet."""
        return _Stepping(RepeatedInOrder(self._pipeline, self._fits), self._steps)

    def spread(self) -> int:
        """Cycles from the first issue to the last, if every cycle were full."""
        return -(-len(self._steps) // self._pipeline.width.value) - 1

    def latency(self, made: int, used: int, register: int) -> int:
        """Cycles from the first issue of one to that of another that reads its result there."""
        return between(self._steps[made][1], self._steps[used][1], register)


class SteadyInOrder(Steady):
    """Loops on a CPU that issues in order."""

    def __init__(self, cpu: Cpu, pipeline: InOrder, table: Table) -> None:
        super().__init__(cpu, pipeline, table)
        self.in_order = pipeline
        self._pipeline = pipeline
        self._fits: dict[tuple[str, ...], bool] = {}

    def cycles(self, code: Sequence[Placed], text: Mapping[int, Insn]) -> Fraction:
        """Cycles a pass: nothing is in flight but what the next one reads, and what is fetched."""
        run = RepeatedInOrder(self._pipeline, self.fits)
        ends = run.run(self._steps(code), _WARMING + _MEASURED)
        return Fraction(ends[-1] - ends[_WARMING - 1], _MEASURED)

    def least(self, code: Sequence[Placed]) -> int:
        """Each fetch block takes a cycle, and the branch back its bubbles."""
        blocks = {address & -self.block for address, _, _ in code}
        return len(blocks) + self._pipeline.taken.value

    def line(self, code: Sequence[Placed]) -> Line:
        """Straight code that runs once."""
        return _InOrderLine(self._pipeline, self.fits, self._steps(code))

    def fits(self, members: Sequence[Node]) -> bool:
        """Whether instructions may issue together."""
        classes = tuple([node.name for node in members])
        found = self._fits.get(classes)
        if found is None:
            found = len(classes) <= self._pipeline.width.value
            for one, other in self._pipeline.exclusions:
                found = found and not (one & {*classes} and other & {*classes})
            found = found and assign([node.pipes for node in members]) is not None
            self._fits[classes] = found
        return found

    def _steps(self, code: Sequence[Placed]) -> list[_Step]:
        return [(address & -self.block, self.node(insn), where) for address, insn, where in code]
