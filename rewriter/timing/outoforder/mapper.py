"""Renaming: up to four instructions of one block a cycle, if there is room behind."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from rewriter.core.target.cpu import OutOfOrderCore
from rewriter.timing import causes
from rewriter.timing.outoforder.places import Place
from rewriter.timing.path import BEGINNING, Event
from rewriter.timing.result import Delay


class Queue:
    """Places in an issue queue; what stands there leaves in any order."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._leaving: list[tuple[int, int, Event]] = []
        self._count = 0

    def enter(self) -> Event | None:
        """What left the place that is taken now; None if one was free from the start."""
        if len(self._leaving) < self._size:
            return None
        return heappop(self._leaving)[2]

    def leave(self, issued: Event) -> None:
        """What entered last left when it was issued."""
        self._count += 1  # no two entries compare equal
        heappush(self._leaving, (issued.time, self._count, issued))


class Mapper:
    """The map stage, in program order; `event` is when the last instruction went through."""

    def __init__(self, window: OutOfOrderCore) -> None:
        self._stage = window.map_stage.value
        self._blocks: deque[Event] = deque(maxlen=window.blocks.value)  # when each was retired
        self._room = window.blocks.value
        self._queues = (
            Queue(window.integer_queue.value),
            Queue(window.floating_queue.value),
        )
        reserve = window.map_reserve.value
        self._free = (
            window.integer_registers.value - reserve,
            window.floating_registers.value - reserve,
        )
        self._taken: tuple[deque[Event], deque[Event]] = (deque(), deque())
        self._floating = window.floating
        self.event = BEGINNING
        self.waits: list[Delay] = []

    def block(self, fetched: Event, cause: str, depth: str) -> None:
        """A block arrives, right behind the one before for `cause`, or through an empty pipeline.

        `depth` is why it was empty.
        """
        self.waits = []
        behind, arrived = self.event.time + 1, fetched.time + self._stage
        if behind >= arrived:
            self.event = Event(behind, self.event, cause)
        else:
            self.event = Event(arrived, fetched, depth)
        self._group()

    def _after(self, event: Event, cause: str) -> None:
        """Mapping goes on the cycle after something."""
        time = event.time + 1
        if time > self.event.time:
            self.waits.append((cause, time - self.event.time))
            self.event = Event(time, event, cause)

    def _group(self) -> None:
        """The instructions of one cycle need an entry in the window and free registers."""
        if len(self._blocks) == self._room:
            self._after(self._blocks[0], causes.WINDOW)
        for floating in (False, True):
            taken, free = self._taken[floating], self._free[floating]
            while len(taken) > free:
                self._after(taken.popleft(), causes.REGISTERS)
        self._blocks.append(BEGINNING)

    def _queued(self, floating: bool) -> None:
        left = self._queues[floating].enter()
        if left is not None:
            self._after(left, causes.QUEUE)

    def enter(self, place: Place) -> Event:
        """An instruction is mapped; it then stands in its queues."""
        for floating in place.queues[:1] if place.split else place.queues:
            self._queued(floating)
        return self.event

    def split(self, place: Place) -> Event:
        """The second half of an instruction is mapped in the next cycle, and what follows it."""
        self._after(self.event, causes.SPLIT)
        self._group()
        self._queued(place.queues[-1])
        return self.event

    def issued(self, place: Place, first: Event, last: Event) -> None:
        """An instruction left its queue, or its queues one after the other."""
        event = first
        for floating in place.queues:
            self._queues[floating].leave(event)
            event = last

    def retired(self, place: Place, event: Event) -> None:
        """An instruction gave back its old registers, and perhaps its block's entry."""
        self._blocks[-1] = event
        for register in place.writes:
            self._taken[register in self._floating].append(event)
