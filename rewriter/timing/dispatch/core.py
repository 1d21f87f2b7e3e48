"""The core of a pipeline of dispatch groups: fetch, dispatch, issue, completion, in events.

Instructions come in program order and each is given the cycle of every stage at once; each takes
the first cycle that older ones left free, so that the oldest ready instruction comes first.
"""

from __future__ import annotations

from collections import defaultdict, deque
from heapq import heappop, heappush
from typing import Protocol

from rewriter.core.isa.instruction import Flow, To
from rewriter.core.target.dispatched_cpu import Dispatched, Fetching, Queue
from rewriter.timing import causes
from rewriter.timing.dispatch.group import Group
from rewriter.timing.dispatch.items import Item, Ports, Reads
from rewriter.timing.path import BEGINNING, Event, later, latest
from rewriter.timing.steady import State

_WORD = 4
_BOOKED = 512  # cycles of a pipe that are remembered before those that are over are forgotten


class Loaded:
    """The latency of an access' result, and its cause where it is not the usual one."""

    __slots__ = ("cause", "latency")

    def __init__(self, latency: int, cause: str) -> None:
        self.latency = latency
        self.cause = cause


class Access(Protocol):
    """An access of the instruction that is being run; `more` cycles of it, if it is in parts."""

    more: int

    def held(self, least: Event) -> Event:
        """When it may issue, if that is from `least` on otherwise."""

    def issued(self, event: Event, usual: int) -> Loaded:
        """It issues; `usual` is the latency of its class."""

    def completed(self, event: Event) -> None:
        """Its instruction completes."""


class Stages:
    """When an instruction went through; `ready` is when its operands were there."""

    __slots__ = ("completed", "dispatched", "done", "fetched", "issued", "pipe", "ready")

    def __init__(
        self,
        fetched: Event,
        dispatched: Event,
        ready: Event,
        issued: Event,
        done: int,
        completed: Event,
        pipe: str,
    ) -> None:
        self.fetched = fetched
        self.dispatched = dispatched
        self.ready = ready
        self.issued = issued
        self.done = done
        self.completed = completed
        self.pipe = pipe


class Front:
    """Fetch: up to so many instructions a cycle from one aligned block."""

    def __init__(self, figures: Fetching, block: int) -> None:
        self._width, self._block = figures.width.value, block
        self._bubbles = (figures.taken.value, figures.indirect.value)
        self._left: deque[Event] = deque(maxlen=figures.buffer.value)  # dispatched from the buffer
        self._next, self._room, self._at = 0, 0, -1
        self._event, self._cause = BEGINNING, causes.FETCH
        self._redirect: Event | None = None

    def fetch(self, address: int) -> tuple[Event, bool]:
        """When an instruction is fetched, the next on the way; whether that begins a block."""
        block = address & -self._block
        begins = block != self._at
        if begins or not self._room or address != self._next:
            event = Event(self._event.time + 1, self._event, self._cause)
            if self._redirect is not None:
                event = latest(event, self._redirect)
            if len(self._left) == self._left.maxlen:
                event = latest(event, self._left[0])  # only then is there room for it
            self._event, self._cause, self._redirect = event, causes.FETCH, None
            self._at, self._room = block, self._width
        self._next, self._room = address + _WORD, self._room - 1
        return self._event, begins

    def state(self, now: int) -> State:
        """What the next fetch depends on; what left the buffer before the last one is over."""
        last = self._event.time
        left = [event.time - now for event in self._left if event.time > last]
        redirect = None if self._redirect is None else self._redirect.time - now
        return self._at, self._next, self._room, last - now, redirect, *left

    def late(self, event: Event) -> Event:
        """The block comes late."""
        self._event = latest(self._event, event)
        return self._event

    def dispatched(self, event: Event) -> None:
        """The next instruction has left the buffer."""
        self._left.append(event)

    def taken(self, flow: Flow) -> None:
        """Control goes elsewhere, as was foretold."""
        bubbles = self._bubbles[flow.to in (To.REGISTER, To.CALLER)]
        self._at = -1
        self._redirect = later(self._event, self._event.time + 1 + bubbles, causes.TAKEN)

    def wrong(self, event: Event) -> None:
        """What comes next is fetched again, at the event."""
        self._at, self._redirect = -1, event


class Waiting:
    """Entries of a queue between dispatch and issue; what stands there leaves in any order."""

    def __init__(self, queue: Queue) -> None:
        self._entries = queue.entries.value
        self._leaving: list[tuple[int, int, Event]] = []
        self._count = 0

    def state(self, now: int) -> State:
        """When those entries are left that are still taken: it is the same which are free."""
        return tuple(sorted(time - now for time, _, _ in self._leaving if time >= now))

    def free(self) -> Event | None:
        """What leaves first, if every entry is taken."""
        return None if len(self._leaving) < self._entries else self._leaving[0][2]

    def enter(self, issued: Event) -> None:
        """An instruction took an entry and left it when it was issued."""
        if len(self._leaving) == self._entries:
            heappop(self._leaving)
        self._count += 1  # no two entries compare equal
        heappush(self._leaving, (issued.time, self._count, issued))


class _Value:
    """A register's newest value, made by an instruction of class `name`."""

    __slots__ = ("cause", "issued", "latency", "name")

    def __init__(self, issued: Event, latency: int, name: str, cause: str) -> None:
        self.issued = issued
        self.latency = latency
        self.name = name
        self.cause = cause


class Core:
    """One run of a pipeline, from empty."""

    def __init__(self, pipeline: Dispatched, block: int) -> None:
        self.front = Front(pipeline.fetch, block)
        self._depth = pipeline.issue.value
        self._group = Group(pipeline.grouping)
        self._waiting = [Waiting(queue) for queue in pipeline.queues]
        self._queues: dict[str, Waiting] = {}
        for queue, waiting in zip(pipeline.queues, self._waiting, strict=True):
            self._queues.update(dict.fromkeys(queue.pipes, waiting))  # they share it
        # No result is there later than so many cycles behind its issue, or than its own latency.
        self._longest = max((bypass.latency.value for bypass in pipeline.bypasses), default=0)
        self._booked: dict[str, set[int]] = defaultdict(set)
        self._units: dict[str, int] = {}
        self._values: dict[int, _Value] = {}
        flight = pipeline.flight
        self._completes = flight.completes.value
        instructions, groups = flight.instructions, flight.groups
        self._left: deque[Event] = deque(maxlen=instructions.value if instructions else 0)
        self._groups: deque[Event] = deque(maxlen=groups.value if groups else 0)
        self._dispatched = self._completed = BEGINNING
        self._members = 0  # completed in the last cycle
        self._opened = False  # whether a group has none completed yet
        self._finished = 0
        self._barrier = BEGINNING

    def put(self, item: Item, fetched: Event, access: Access | None = None) -> Stages:
        """Runs the next instruction."""
        dispatched, ports = self._dispatch(item, fetched)
        self.front.dispatched(dispatched)
        least = Event(dispatched.time + self._depth, dispatched, causes.START)
        if item.folded:
            least = dispatched
        if access is not None:
            least = access.held(least)
        more = 0 if access is None else access.more
        first, issued, ready, pipe = self._issue(item, ports, least, more)
        loaded = Loaded(item.latency, "")
        if access is not None:
            loaded = access.issued(issued, item.latency)
        if item.waiting:
            self._barrier = Event(issued.time + item.latency, issued, causes.BARRIER)
        for register, latency in item.writes:
            # What a miss delays is what was loaded: a result with the latency of the class.
            took = loaded.latency if latency == item.latency else latency
            self._values[register] = _Value(issued, took, item.name, loaded.cause)
        for register, latency in item.bases:
            self._values[register] = _Value(first, latency, item.name, "")
        done = issued.time + (loaded.latency if item.writes else 1)
        completed = self._complete(item, issued, done, loaded.cause)
        if access is not None:
            access.completed(completed)
        return Stages(fetched, dispatched, ready, issued, done, completed, pipe)

    def state(self) -> State:
        """What the next instructions depend on.

        Nothing is dispatched or issued before the last dispatch: what was over by then is left out.
        """
        now = self._dispatched.time
        return (
            *(self.front.state(now), self._group.state()),
            *(queue.state(now) for queue in self._waiting),
            *(frozenset([c - now for c in one if c >= now]) for one in self._booked.values()),
            tuple([(unit, free - now) for unit, free in self._units.items() if free > now]),
            tuple(
                [
                    (register, value.issued.time - now, value.latency, value.name)
                    for register, value in self._values.items()
                    if value.issued.time + max(value.latency, self._longest) > now
                ]
            ),
            tuple([event.time - now for event in self._left if event.time >= now]),
            tuple([event.time - now for event in self._groups if event.time >= now]),
            *(self._completed.time - now, self._members, self._opened),
            *(self._finished - now, max(self._barrier.time - now, 0)),
        )

    def foreseen(self, item: Item) -> int:
        """When an instruction would issue if it came next, as far as its group and operands say."""
        event = self._dispatched
        dispatched = event.time + (not self._group.fits(item))
        return self._ready(item.reads, Event(dispatched + self._depth, event, causes.START)).time

    # Dispatch -----------------------------------------------------------------------------

    def _dispatch(self, item: Item, fetched: Event) -> tuple[Event, Ports]:
        """The cycle of the instruction's group, a new one where it does not fit, and its ports."""
        event = self._dispatched
        new = not self._group.fits(item)
        if new:
            event = _behind(event, causes.GROUP)
        event = _after(event, fetched, causes.START)
        event = self._room(item, new or self._dispatched is BEGINNING, event)
        if new or event.time > self._dispatched.time:
            self._group.clear()
            self._opened = True
            if self._groups.maxlen:
                self._groups.append(event)  # replaced as its members complete
        self._dispatched = event
        return event, self._group.take(item)

    def _room(self, item: Item, new: bool, event: Event) -> Event:
        """When there is room behind dispatch, from the event on."""
        if self._barrier.time > event.time:
            event = self._barrier
        if item.waiting and self._finished > event.time:
            # What finished last may complete later still: then only the cause is known.
            since = self._completed if self._completed.time <= self._finished else event
            event = Event(self._finished, since, causes.BARRIER)
        if self._left.maxlen and len(self._left) == self._left.maxlen and not item.folded:
            event = _after(event, self._left[0], causes.WINDOW)
        if new and self._groups.maxlen and len(self._groups) == self._groups.maxlen:
            event = _after(event, self._groups[0], causes.WINDOW)
        left = self._leaving(item.ports)
        return event if left is None else _after(event, left, causes.QUEUE)

    def _leaving(self, ports: Ports) -> Event | None:
        """What first leaves the queues of some ports, if all of them are full."""
        first: Event | None = None
        for port in ports:
            queue = self._queues.get(port[0])
            left = None if queue is None else queue.free()
            if left is None:
                return None
            if first is None or left.time < first.time:
                first = left
        return first

    # Issue --------------------------------------------------------------------------------

    def _issue(
        self, item: Item, ports: Ports, least: Event, more: int
    ) -> tuple[Event, Event, Event, str]:
        """The first and the last issue, when the first was ready, and the pipes.

        What is issued first keeps its pipe for `more` cycles than others of its class.
        """
        ready = self._ready(item.reads, least)
        if not ports:
            return ready, ready, ready, ""
        if len(ports) > 1:
            ports = tuple([port for port in ports if self._has_room(port[0])]) or ports
        event, pipe = self._taken(ports, item, ready, more)
        if pipe in self._queues:
            self._queues[pipe].enter(event)
        second = later(event, event.time + item.after, causes.OPERANDS)
        second = self._ready(item.late, second)
        if item.then:
            second, other = self._taken(item.then, item, second)
            pipe = f"{pipe}+{other}"
        return event, second, ready, pipe

    def _has_room(self, pipe: str) -> bool:
        """Whether what is dispatched now may wait for the pipe."""
        queue = self._queues.get(pipe)
        leaving = queue.free() if queue is not None else None
        return leaving is None or leaving.time < self._dispatched.time

    def _ready(self, reads: Reads, least: Event) -> Event:
        """When the operands are there, from `least` on."""
        event = least
        for register, special in reads:
            value = self._values.get(register)
            if value is not None:
                at = value.issued.time + special.get(value.name, value.latency)
                if at > event.time:
                    event = Event(at, value.issued, value.cause or causes.OPERANDS)
        return event

    def _taken(self, ports: Ports, item: Item, ready: Event, more: int = 0) -> tuple[Event, str]:
        """The first cycle in which one of the ports is free, and its first pipe."""
        start, unit = ready.time, self._units.get(item.unit, 0) if item.unit else 0
        start = max(start, unit)
        length = more + (1 if item.unit else item.busy)
        best, chosen = -1, ports[0]
        for port in ports:
            at = self._free(port, start, length)
            if best < 0 or at < best:
                best, chosen = at, port
                if best == start:
                    break
        for pipe in chosen:
            booked = self._booked[pipe]
            booked.update(range(best, best + length))
            if len(booked) > _BOOKED:
                now = self._dispatched.time
                self._booked[pipe] = {cycle for cycle in booked if cycle >= now}
        if item.unit:
            self._units[item.unit] = best + item.busy
        cause = causes.UNIT if item.unit or item.busy > 1 else causes.PIPES
        return later(ready, best, cause), chosen[0]

    def _free(self, port: tuple[str, ...], start: int, length: int) -> int:
        """The first cycle from which all pipes of a port are free for a length."""
        before = -1
        while start != before:  # the first pipe may be taken where the second is free
            before = start
            for pipe in port:
                booked = self._booked[pipe]
                while not booked.isdisjoint(range(start, start + length)):
                    start += 1
        return start

    # Completion ---------------------------------------------------------------------------

    def _complete(self, item: Item, issued: Event, done: int, cause: str) -> Event:
        """In order, so many a cycle: instructions, or groups."""
        self._finished = max(self._finished, done)
        counts = self._opened if self._groups.maxlen else not item.folded
        last = self._completed
        if max(issued.time, done) > last.time:
            event = later(issued, done, cause or causes.RETIRE)
            self._members = 0
        elif counts and self._members >= self._completes:
            event = _behind(last, causes.RETIRE)
            self._members = 0
        else:
            event = last
        self._members += counts
        self._completed, self._opened = event, False
        if self._left.maxlen and not item.folded:
            self._left.append(event)
        if self._groups.maxlen:
            self._groups[-1] = event
        return event


def _behind(event: Event, cause: str) -> Event:
    """The cycle after something."""
    return Event(event.time + 1, event, cause)


def _after(event: Event, other: Event, cause: str) -> Event:
    """The event put off until the cycle after another, if it was before."""
    return Event(other.time + 1, other, cause) if other.time >= event.time else event
