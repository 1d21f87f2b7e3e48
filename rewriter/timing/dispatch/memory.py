"""Loads and stores of a pipeline of dispatch groups: forwarding, the data cache, stores' queue."""

from __future__ import annotations

from collections import deque

from rewriter.core.readings.interpret import Step
from rewriter.core.target.dispatched_cpu import Accesses
from rewriter.timing import causes
from rewriter.timing.caches import Below, Bus, Tags
from rewriter.timing.dispatch.core import Loaded
from rewriter.timing.path import BEGINNING, Event

_CELL_SHIFT = 3  # stores are looked up by aligned 8-byte cells
_KEPT = 8  # stores remembered for one cell


class _Store:
    """The bytes from `first` to `last` were stored."""

    __slots__ = ("first", "issued", "last", "written")

    def __init__(self, first: int, last: int, issued: Event, written: int) -> None:
        self.first = first
        self.last = last
        self.issued = issued
        self.written = written

    def meets(self, first: int, last: int) -> bool:
        """Whether they have a byte in common."""
        return self.first <= last and first <= self.last


def crosses(step: Step, split: int) -> bool:
    """Whether an access that is not aligned crosses a multiple of `split` bytes."""
    address, size = step.access or 0, step.size
    if not size or address % size == 0:
        return False
    return address // split != (address + size - 1) // split


class Memory:
    """What a chip's accesses meet; the tags survive a restart of the clock."""

    def __init__(self, figures: Accesses, below: Below) -> None:
        self._below, self._tags = below, Tags(figures.dcache)
        self._after_store = figures.after_store.value
        self._partial = figures.partial.value
        self._entries = figures.stores.value
        self._split = figures.split.value
        self._through = figures.through
        self.restart()

    def restart(self) -> None:
        """Time starts again at zero."""
        self._stores: dict[int, list[_Store]] = {}
        self._queue: deque[int] = deque(maxlen=self._entries)
        self._written = self._begun = 0
        self._banks = [Bus() for _ in range(self._through.number.value if self._through else 0)]

    @property
    def full(self) -> bool:
        """Whether a line has had to give way."""
        return self._tags.full

    def touch(self, step: Step) -> bool:
        """What an access leaves in caches; False where it may have been done otherwise."""
        assert step.access is not None
        if step.store:
            self.write(step, BEGINNING, BEGINNING)
            return True
        first, last = step.access, step.access + max(step.size, 1) - 1
        stored = self.met(first, last) if step.size else None
        if stored is not None and self._tags.find(first) is None:
            return False
        self.read(first, 0, 0)
        return True

    def more(self, step: Step) -> int:
        """Cycles that an access takes more than others, because it is in two parts."""
        return int(crosses(step, self._split))

    def met(self, first: int, last: int) -> _Store | None:
        """The youngest store that has some of these bytes."""
        cells = range(first >> _CELL_SHIFT, (last >> _CELL_SHIFT) + 1)
        found = [s for cell in cells for s in self._stores.get(cell, ()) if s.meets(first, last)]
        return max(found, key=lambda store: store.issued.time, default=None)

    def room(self) -> int:
        """When a store may enter the queue."""
        return self._queue[0] if len(self._queue) == self._entries else 0

    def read(self, address: int, at: int, usual: int) -> Loaded:
        """Through the data cache; a line on its way is waited for."""
        line = address >> self._tags.shift
        fill = self._below.pending(line, at + usual)
        if fill is None and self._tags.find(address) is None:
            fill = self._below.fill(address, line, at)
            self._tags.insert(address)
        if fill is None:
            return Loaded(usual, "")
        return Loaded(max(fill[0] - at, usual), fill[1])

    def forwarded(self, store: _Store, first: int, last: int, at: int, usual: int) -> Loaded:
        """What a load of just-stored bytes takes."""
        whole = store.first <= first and last <= store.last
        there = store.issued.time + (self._after_store if whole else self._partial)
        return Loaded(usual, "") if there <= at + usual else Loaded(there - at, causes.STORE)

    def write(self, step: Step, issued: Event, completed: Event) -> None:
        """A store: its line is asked for when it issues, written after it completes."""
        assert step.access is not None
        first, last = step.access, step.access + step.size - 1
        if self._through is not None:
            written = self._passed(first, completed.time, self._through.busy.value)
            self._written = max(written, self._written)
        else:
            ready = issued.time + self.read(first, issued.time, 1).latency
            self._below.modify(first, issued.time)
            self._written = max(completed.time, self._written, ready) + 1
        self._queue.append(self._written)
        store = _Store(first, last, issued, self._written)
        for cell in range(first >> _CELL_SHIFT, (last >> _CELL_SHIFT) + 1):
            held = self._stores.setdefault(cell, [])
            held.append(store)
            del held[:-_KEPT]

    def _passed(self, address: int, at: int, busy: int) -> int:
        """When a store is in its bank of the next cache: they begin in order, in others at once."""
        self._tags.find(address)
        bank = self._banks[(address >> self._tags.shift) % len(self._banks)]
        end = bank.take(max(at, self._begun), busy)
        self._begun = end - busy
        return max(end, self._below.absorb(address, self._begun))


class CachedAccess:
    """One access of a trace."""

    def __init__(self, memory: Memory, step: Step) -> None:
        self._memory, self._step = memory, step
        self.more = memory.more(step)
        self._issued: Event | None = None

    def held(self, least: Event) -> Event:
        """A store waits for room in the queue."""
        room = self._memory.room() if self._step.store else 0
        return Event(room, least, causes.STORES) if room > least.time else least

    def issued(self, event: Event, usual: int) -> Loaded:
        """A load's latency; a hint reads a line that nobody waits for."""
        step, memory = self._step, self._memory
        assert step.access is not None
        self._issued, usual = event, usual + self.more
        if step.store:
            return Loaded(usual, "")
        first, last = step.access, step.access + max(step.size, 1) - 1
        store = memory.met(first, last) if step.size else None
        if store is not None and store.written > event.time:
            return memory.forwarded(store, first, last, event.time, usual)
        read = memory.read(first, event.time, usual)
        return read if step.size else Loaded(usual, "")

    def completed(self, event: Event) -> None:
        """A store is written."""
        if self._step.store:
            assert self._issued is not None
            self._memory.write(self._step, self._issued, event)
