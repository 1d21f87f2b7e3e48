"""The front end of a pipeline of bundles: fetch into a buffer, and what branches do to it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from rewriter.core.target.bundled_cpu import Front
from rewriter.timing.bundled.result import Wait


@dataclass
class Predictor:
    """A history of outcomes for each branch, and a counter for each history of each."""

    figures: Front
    _histories: dict[int, int] = field(default_factory=dict)
    _counters: dict[tuple[int, int], int] = field(default_factory=dict)

    def right(self, address: int, taken: bool, hinted: bool) -> bool:
        """Whether the branch was foretold; learns from it.  A new one is foretold by its hint."""
        top = (1 << self.figures.counter_bits.value) - 1
        history = self._histories.get(address, 0)
        counter = self._counters.get((address, history), top // 2 + hinted)
        moved = min(counter + 1, top) if taken else max(counter - 1, 0)
        self._counters[address, history] = moved
        mask = (1 << self.figures.history_bits.value) - 1
        self._histories[address] = (history << 1 | taken) & mask
        return (counter > top // 2) == taken


@dataclass
class Fetch:
    """Bundles come in aligned blocks, one a cycle, as long as the buffer has room."""

    figures: Front
    bundle: int
    _next: int = -1
    _block: int = -1
    _ready: int = 0
    _left: deque[int] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._left = deque(maxlen=self.figures.buffer_bundles.value)

    def ready(self, number: int) -> int:
        """The cycle from which a bundle can issue; asked in the order of control."""
        block = number * self.bundle // self.figures.fetch_bytes.value
        if block != self._block:
            full = len(self._left) == self._left.maxlen
            fetched = max(self._next, self._left[0] if full else self._next)
            self._block, self._next, self._ready = block, fetched + 1, fetched + 1
        return self._ready

    def following(self, address: int) -> int:
        """Where a call in the bundle of an address comes back to."""
        return address // self.bundle * self.bundle + self.bundle

    def issued(self, cycle: int) -> None:
        """A bundle has left the buffer."""
        self._left.append(cycle)

    def redirect(self, right: bool, cycle: int) -> Wait | None:
        """Control goes elsewhere, by a branch issued in the cycle; what that costs."""
        self._block = -1
        if right:
            self._next += self.figures.taken.value
            return None
        return self.flush(cycle)

    def flush(self, cycle: int) -> Wait:
        """All that was fetched behind a branch of the cycle is thrown away."""
        until = cycle + 1 + self.figures.mispredicted.value
        self._block, self._next = -1, until - 1
        self._left.clear()
        return Wait(until, self.figures.counter)
