"""Loads and stores of an out-of-order pipeline: queues, order, forwarding, traps, data cache."""

from __future__ import annotations

from collections import deque

from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import OutOfOrder
from rewriter.timing import causes
from rewriter.timing.caches import Below, Tags, Translations
from rewriter.timing.path import BEGINNING, Event

_CELL_SHIFT = 3  # stores are looked up by aligned 8-byte cells
_KEPT = 8  # stores remembered for one cell
_WORD_SHIFT = 2


class Trap:
    """Refetch from this instruction `penalty` cycles after its own fetch would have ended."""

    __slots__ = ("cause", "penalty")

    def __init__(self, cause: str, penalty: int) -> None:
        self.cause = cause
        self.penalty = penalty


class Loaded:
    """When a load's value can be used, in cycles after issue, and what it came from."""

    __slots__ = ("cause", "latency")

    def __init__(self, latency: int, cause: str) -> None:
        self.latency = latency
        self.cause = cause


class _Store:
    """The bytes from `first` to `last` were stored."""

    __slots__ = ("drained", "first", "issue", "last")

    def __init__(self, first: int, last: int, issue: int, drained: int) -> None:
        self.first = first
        self.last = last
        self.issue = issue
        self.drained = drained


class Mbox:
    """The memory unit; caches and tables survive a restart of the clock."""

    def __init__(self, pipeline: OutOfOrder, below: Below) -> None:
        figures = pipeline.memory
        self._below = below
        self._tags = Tags(figures.dcache)
        self._dtb = Translations(figures.dtb_entries.value, pipeline.fetch.page.value)
        self._hit = figures.dcache.latency.value
        self._sizes = (figures.loads.value, figures.stores.value)
        self._order = figures.order_trap.value
        self._replay = figures.replay_trap.value
        self._walk = figures.dtb_miss.value + figures.walk.value
        self._forward = figures.store_to_load.value
        self._epoch = figures.store_wait_cleared.value
        self._mask = figures.store_wait_entries.value - 1
        self._shift = self._tags.shift
        self.restart()

    def restart(self) -> None:
        """Time starts again at zero."""
        self._stores: dict[int, list[_Store]] = {}
        self._loads: dict[int, tuple[int, int, int]] = {}
        self._load_queue: deque[int] = deque(maxlen=self._sizes[0])
        self._store_queue: deque[int] = deque(maxlen=self._sizes[1])
        self._store_wait: dict[int, int] = {}
        self._last_store = BEGINNING
        self._drained = 0
        self.finished = 0

    @property
    def full(self) -> bool:
        """Whether something that was accessed has had to give way."""
        return self._tags.full or self._dtb.full

    def touch(self, step: Step, hint: bool) -> None:
        """What an access, or a write hint, leaves in caches."""
        assert step.access is not None
        if hint:
            self.allocate(step, 0)
            return
        self._dtb.hit(step.access)
        self._read(step.access, 0)
        if step.store:
            self._below.modify(step.access, 0)

    def floor(self, step: Step) -> Event:
        """A load that once trapped does not issue before this: it waits for the stores."""
        at = self._last_store.time + self._forward
        marked = self._store_wait.get(step.address >> _WORD_SHIFT & self._mask)
        if marked is None or marked != at // self._epoch:
            return BEGINNING
        return Event(at, self._last_store, causes.BEHIND)

    def load_trap(self, step: Step, issue: int) -> Trap | None:
        """The trap that a load issued now would take."""
        assert step.access is not None
        if not self._dtb.hit(step.access):
            return Trap(causes.DTB, self._walk)
        if _full(self._load_queue, issue):
            return Trap(causes.LOADS, self._replay)
        return self._conflict(step, step.access, issue)

    def _conflict(self, step: Step, first: int, issue: int) -> Trap | None:
        """Older accesses to the same bytes: only forwarding the whole value is done in place."""
        last = first + step.size - 1
        for store in reversed(self._stores.get(first >> _CELL_SHIFT, ())):
            if store.drained <= issue or store.first > last or store.last < first:
                continue
            if store.issue > issue:
                index = step.address >> _WORD_SHIFT & self._mask
                self._store_wait[index] = store.issue // self._epoch
                return Trap(causes.ORDER, self._order)
            if store.first <= first and last <= store.last:
                break
            return Trap(causes.SIZE, self._replay)
        other = self._loads.get(first >> _CELL_SHIFT)
        if other is not None and other[2] > issue and other[0] <= last and first <= other[1]:
            return Trap(causes.ORDER, self._order)
        return None

    def load(self, step: Step, issue: int) -> Loaded:
        """A load that took no trap."""
        assert step.access is not None
        first = step.access
        cell = first >> _CELL_SHIFT
        other = self._loads.get(cell)
        if other is None or other[2] <= issue:
            self._loads[cell] = (first, first + step.size - 1, issue)
        return self._read(first, issue)

    def _read(self, address: int, issue: int) -> Loaded:
        """Through the data cache; a line on its way is waited for."""
        line = address >> self._shift
        fill = self._below.pending(line, issue + self._hit)
        if fill is None and self._tags.find(address) is None:
            fill = self._below.fill(address, line, issue)
            self._tags.insert(address)
        if fill is None:
            return Loaded(self._hit, causes.LOAD)
        return Loaded(max(fill[0] - issue, self._hit), fill[1])

    def load_retired(self, cycle: int, done: int) -> None:
        """A load left the load queue; its value came at `done`."""
        self._load_queue.append(cycle)
        self.finished = max(self.finished, done)

    def hint(self, step: Step, issue: int) -> Trap | None:
        """A prefetch: reads a line that nobody waits for."""
        assert step.access is not None
        if not self._dtb.hit(step.access):
            return Trap(causes.DTB, self._walk)
        self._read(step.access, issue)
        return None

    def allocate(self, step: Step, issue: int) -> None:
        """A write hint: the line becomes ours without being read."""
        assert step.access is not None
        if self._tags.find(step.access) is None:
            self._below.allocate(step.access, step.access >> self._shift, issue)
            self._tags.insert(step.access)
        else:
            self._below.modify(step.access, issue)

    def store_trap(self, step: Step, issue: int) -> Trap | None:
        """The trap that a store issued now would take."""
        assert step.access is not None
        if not self._dtb.hit(step.access):
            return Trap(causes.DTB, self._walk)
        return Trap(causes.STORES, self._replay) if _full(self._store_queue, issue) else None

    def store(self, step: Step, issued: Event, retired: int) -> None:
        """A store: it asks for its line when it issues and writes it after it retires."""
        assert step.access is not None
        first, issue = step.access, issued.time
        ready = issue + self._read(first, issue).latency
        self._below.modify(first, issue)
        self._drained = max(retired, self._drained, ready) + 1
        self._store_queue.append(self._drained)
        if issue > self._last_store.time:
            self._last_store = issued
        self.finished = max(self.finished, self._drained)
        held = self._stores.setdefault(first >> _CELL_SHIFT, [])
        held.append(_Store(first, first + step.size - 1, issue, self._drained))
        del held[:-_KEPT]


def _full(queue: deque[int], issue: int) -> bool:
    """Whether the entry that this access needs is still held by the one a queue's length before."""
    return len(queue) == queue.maxlen and queue[0] > issue
