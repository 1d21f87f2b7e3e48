"""An in-order pipeline that repeats one pass of a loop; see `inorder` for the whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewriter.core.target.cpu import InOrder
from rewriter.timing.steady_node import Node, Placed, Where

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
        self._cycle = self._finished = self._following = 0
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
            cycle = max(cycle + 1, self._following)
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
            cycle += 1
        return cycle

    def put(self, block: int, node: Node, placed: Placed) -> int:
        """Issues an instruction; returns its cycle."""
        cycle = self.start(block, node, placed)
        if cycle > self._cycle:
            self._group = []
        self._group.append(node)
        self._cycle, self._block, self._following = cycle, block, 0
        for register in node.writes:
            self._values[register] = (cycle, node.latency, node.name)
        self._finished = max(self._finished, cycle + node.latency)
        if node.unit:
            self._units[node.unit] = cycle + node.busy
        if node.stores and placed[2] is not None:
            self._stored[placed[2]] = cycle
        return cycle

    def back(self) -> None:
        """A branch back to the start is taken; places of accesses are other ones now."""
        self._following = self._cycle + 1 + self._taken
        self._block = None
        self._stored = {}

    def _behind_store(self, node: Node, placed: Placed, cycle: int) -> int:
        """A load too soon after a store to the same place is put off."""
        stored = self._stored.get(placed[2]) if node.loads and placed[2] is not None else None
        if stored is None or not self._after_store:
            return cycle
        cycle = max(cycle, stored + 1)
        return cycle + self._after_store.get(cycle - stored, 0)
