"""What the steps of a run cost, as far as somebody asks: processor time, waiting, and counts.

Under `keeping` every `spending` charges its step with the time that passes in it, less what other
steps inside of it take.  Processes that share work (`workers`) are copies and keep ledgers of their
own, which come back with their answers.  Nothing that is kept here decides anything.
"""

from __future__ import annotations

import heapq
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, ParamSpec, TypeVar

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")
_Given = ParamSpec("_Given")

START = "start"
"""The step of what the process took before anything was kept."""

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Task:
    """One item of shared work: whose it is, when it began and ended, and its processor time."""

    step: str
    begun: float
    ended: float
    seconds: float


@dataclass
class Ledger:
    """Processor seconds and counts by step; `serial` is when the process itself was in which step.

    `tasks` are the items of work that may be shared, in the order in which they were handed out.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    serial: list[tuple[str, float, float]] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)
    _tasked: bool = False
    _processor: float = field(default_factory=time.process_time)
    _clock: float = field(default_factory=time.perf_counter)

    @property
    def step(self) -> str:
        """The step in hand."""
        return self._open[-1] if self._open else ""

    def enter(self, step: str) -> None:
        """From here on time is this step's."""
        self._charge()
        self._open.append(step)

    def leave(self) -> None:
        """From here on time is the step's around it."""
        self._charge()
        self._open.pop()

    def begin(self) -> Task:
        """An item of the step in hand that may be shared; times are where they stand."""
        self._charge()
        self._tasked = True
        return Task(self.step, self._clock, self._clock, self._processor)

    def end(self, task: Task) -> None:
        """The item is done."""
        self._charge()
        self._tasked = False
        self.serial.append((task.step, task.begun, self._clock))
        seconds = self._processor - task.seconds
        self.tasks.append(replace(task, ended=self._clock, seconds=seconds))

    def beside(self, work: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
        """Work for other threads of the process, each time an item of the step in hand."""
        step = self.step

        def timed(*given: _Given.args, **named: _Given.kwargs) -> _Found:
            begun, before = time.perf_counter(), time.thread_time()
            found = work(*given, **named)
            spent = time.thread_time() - before
            self.tasks.append(Task(step, begun, time.perf_counter(), spent))
            return found

        return timed

    def restart(self) -> None:
        """In a copy of the process: what was kept so far is the other one's."""
        self.taken()
        self._processor, self._clock = time.process_time(), time.perf_counter()

    def taken(self) -> Ledger:
        """What was kept since the last time, without what stays open."""
        self._charge()
        found = Ledger(self.seconds, self.counts, [], self.tasks)
        self.seconds, self.counts, self.serial, self.tasks = {}, Counter(), [], []
        return found

    def add(self, other: Ledger) -> None:
        """What a copy of this process kept."""
        for step, seconds in other.seconds.items():
            self._spend(step, seconds)
        self.counts.update(other.counts)
        self.tasks += other.tasks

    def _charge(self) -> None:
        processor, clock = time.process_time(), time.perf_counter()
        if self._open:
            self._spend(self._open[-1], processor - self._processor)
        if self._open and not self._tasked:
            self.serial.append((self._open[-1], self._clock, clock))
        self._processor, self._clock = processor, clock

    def _spend(self, step: str, seconds: float) -> None:
        self.seconds[step] = self.seconds.get(step, 0.0) + seconds

    # What comes of it ---------------------------------------------------------------------

    @property
    def processor(self) -> float:
        """Processor seconds of all steps."""
        return sum(self.seconds.values())

    @property
    def clocked(self) -> float:
        """Seconds from the first step to the end of the last."""
        return self.serial[-1][2] - self.serial[0][1] if self.serial else 0.0

    @property
    def shareable(self) -> float:
        """Processor seconds of work that any number of processes may share."""
        return sum(task.seconds for task in self.tasks)

    def alone(self, processes: int) -> dict[str, float]:
        """Seconds by step that only one of so many processes worked, or only one could have."""
        found: dict[str, float] = {}
        busy = _busy(self.tasks, min(processes, 2))
        for step, begun, ended in self.serial:
            shared = (min(ended, to) - max(begun, at) for at, to in _meeting(busy, begun, ended))
            found[step] = found.get(step, 0.0) + ended - begun - sum(shared)
        return found

    def simulated(self, processes: int) -> float:
        """Seconds that the run takes with so many processes, each with a processor to itself.

        What is not shared runs before and after; shared items go, in the order in which they were
        begun, to whichever process is free first.
        """
        total = self.processor - self.shareable
        tasks = sorted(self.tasks, key=lambda task: task.begun)
        for _, stage in groupby(tasks, lambda task: task.step):
            total += _makespan([task.seconds for task in stage], processes)
        return total


def _makespan(lengths: Sequence[float], processes: int) -> float:
    """When the last task ends, where each goes to the process that is free first."""
    free = [0.0] * processes
    for length in lengths:
        heapq.heapreplace(free, free[0] + length)
    return max(free)


def _busy(tasks: Sequence[Task], least: int) -> list[Interval]:
    """When at least so many tasks were worked on, ascending."""
    changes = sorted((at, by) for one in tasks for at, by in ((one.begun, 1), (one.ended, -1)))
    found, working, since = list[Interval](), 0, 0.0
    for at, by in changes:
        if working < least <= working + by:
            since = at
        elif working + by < least <= working:
            found.append((since, at))
        working += by
    return found


def _meeting(busy: Sequence[Interval], begun: float, ended: float) -> Iterator[Interval]:
    """Of ascending intervals those that meet another one."""
    at = bisect_left(busy, begun, key=lambda one: one[1])
    while at < len(busy) and busy[at][0] < ended:
        yield busy[at]
        at += 1


_ledger: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


@contextmanager
def keeping() -> Iterator[Ledger]:
    """As long as this lasts steps are charged; what was spent before is the process's start."""
    ledger = Ledger({START: time.process_time()})
    before = _ledger.set(ledger)
    try:
        yield ledger
    finally:
        _ledger.reset(before)


def kept() -> Ledger | None:
    """The ledger that is kept, if one is."""
    return _ledger.get()


@contextmanager
def spending(step: str) -> Iterator[None]:
    """What passes meanwhile is this step's."""
    ledger = _ledger.get()
    if ledger is None:
        yield
        return
    ledger.enter(step)
    try:
        yield
    finally:
        ledger.leave()


def charged(step: str, items: Iterable[_Item]) -> Iterator[_Item]:
    """The items; what it takes to find each is this step's."""
    if _ledger.get() is None:
        yield from items
        return
    found = iter(items)
    while True:
        with spending(step):
            item = next(found, _NONE)
        if item is _NONE:
            return
        yield item


@contextmanager
def task() -> Iterator[None]:
    """What passes meanwhile is one item of the step in hand, which may be shared."""
    ledger = _ledger.get()
    if ledger is None:
        yield
        return
    begun = ledger.begin()
    try:
        yield
    finally:
        ledger.end(begun)


def beside(work: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """Work for other threads of this process, as items of the step in hand."""
    ledger = _ledger.get()
    return work if ledger is None else ledger.beside(work)


def counted(what: str, number: int = 1) -> None:
    """So many more of something."""
    ledger = _ledger.get()
    if ledger is not None:
        ledger.counts[what] += number


_NONE: Any = object()
"""No item."""
