"""An in-order pipeline that repeats one pass of a loop; see `inorder` for the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import Table
from rewriter.core.target.cpu import Cpu, InOrder
from rewriter.timing.inorder.ahead import Ahead, Stores
from rewriter.timing.inorder.pipeline import assign
from rewriter.timing.steady import Steady, Times
from rewriter.timing.steady_node import Node, Placed, Where

_WARMING, _MEASURED = 2, 8
"""Passes until fetch is as far ahead as it comes, and those over which the cycles are taken."""

Fits = Callable[[Sequence[Node]], bool]
"""Whether instructions may issue together."""


class RepeatedInOrder:
    """One run.  Instructions are put behind each other one at a time, so a scheduler can ask
    when the next would start."""

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

    def run(self, steps: Sequence[tuple[int, Node, Placed]], passes: int) -> list[int]:
        """When the last instruction of each pass issues."""
        ends = []
        for _ in range(passes):
            for block, node, placed in steps:
                self.put(block, node, placed)
            ends.append(self._cycle)
            self.back()
        return ends

    def start(self, block: int, node: Node, placed: Placed) -> int:
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
        cycle = self._behind_store(node, placed, cycle)
        if cycle == self._cycle and not self._fits([*self._group, node]):
            cycle = self._behind_store(node, placed, cycle + 1)
        return cycle

    def put(self, block: int, node: Node, placed: Placed) -> int:
        """Issues an instruction; returns its cycle."""
        cycle = self.start(block, node, placed)
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
            if placed[2] is not None:
                self._stored[placed[2]] = cycle
        return cycle

    def back(self) -> None:
        """A branch back to the start is taken; places of accesses are other ones now."""
        self._ahead.taken(self._taken)
        self._block = None
        self._stored = {}

    def _behind_store(self, node: Node, placed: Placed, cycle: int) -> int:
        """A load at a barred distance from a store, or too soon after one to its place."""
        if not node.loads:
            return cycle
        stored = self._stored.get(placed[2]) if placed[2] is not None else None
        if stored is not None and self._after_store:
            cycle = max(cycle, stored + 1)
            cycle += self._after_store.get(cycle - stored, 0)
        return self._stores.clear(cycle)


class SteadyInOrder(Steady):
    """Loops on a CPU that issues in order."""

    def __init__(self, cpu: Cpu, pipeline: InOrder, table: Table) -> None:
        super().__init__(cpu, pipeline, table)
        self.in_order = pipeline
        self._pipeline = pipeline
        self._fits: dict[tuple[str, ...], bool] = {}

    def cycles(self, code: Sequence[Placed], text: Mapping[int, Insn]) -> Fraction:
        """Cycles a pass: nothing is in flight but what the next one reads, and what is fetched."""
        ends = self.stepper().run(self.nodes(code), _WARMING + _MEASURED)
        return Fraction(ends[-1] - ends[_WARMING - 1], _MEASURED)

    def least(self, code: Sequence[Placed]) -> int:
        """Each fetch block takes a cycle, and the branch back its bubbles."""
        blocks = {address & -self.block for address, _, _ in code}
        return len(blocks) + self._pipeline.taken.value

    def once(self, code: Sequence[Placed]) -> list[Times]:
        """When each instruction issues, and has its results, in straight code that runs once."""
        pipeline, found = self.stepper(), list[Times]()
        for block, node, placed in self.nodes(code):
            cycle = pipeline.put(block, node, placed)
            found.append((cycle, cycle + node.after + node.latency))
        return found

    def spread(self, code: Sequence[Placed]) -> int:
        """Cycles from the first issue to the last, if every cycle were full."""
        return -(-len(code) // self._pipeline.width.value) - 1

    def stepper(self) -> RepeatedInOrder:
        """A pipeline that has not run yet."""
        return RepeatedInOrder(self._pipeline, self.fits)

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
