"""Caches, translation buffers, misses in flight, and the bus behind them."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence

from rewriter.core.target.cpu import Cache, System
from rewriter.timing import causes


class Tags:
    """Which lines a cache holds, least recently used first out.

    `full` is whether a line has had to give way: until then it does not matter when each was used.
    """

    def __init__(self, cache: Cache) -> None:
        self.shift = cache.line.value.bit_length() - 1
        self.ways = cache.ways.value
        self.sets = cache.size.value // (cache.line.value * self.ways)
        self._sets: dict[int, list[tuple[int, int]]] = {}
        self.full = False

    def find(self, address: int) -> int | None:
        """The way of the line that holds `address`, now used last; None for a miss."""
        line = address >> self.shift
        held = self._sets.get(line % self.sets)
        if held is None:
            return None
        if held[-1][0] == line:
            return held[-1][1]
        for index, (other, way) in enumerate(held):
            if other == line:
                held.append(held.pop(index))
                return way
        return None

    def insert(self, address: int) -> int:
        """Puts the line in, a victim out; gives the way."""
        line = address >> self.shift
        held = self._sets.setdefault(line % self.sets, [])
        way = len(held)
        if way == self.ways:
            way, self.full = held.pop(0)[1], True
        held.append((line, way))
        return way


class Translations:
    """A fully associative translation buffer that replaces in turn; `full` once it has."""

    def __init__(self, entries: int, page: int) -> None:
        self._entries = entries
        self._shift = page.bit_length() - 1
        self._pages: dict[int, None] = {}
        self.full = False

    def hit(self, address: int) -> bool:
        """Whether the page was there; it is afterwards."""
        page = address >> self._shift
        if page in self._pages:
            return True
        if len(self._pages) == self._entries:
            del self._pages[next(iter(self._pages))]
            self.full = True
        self._pages[page] = None
        return False


_KEPT = 256  # past uses that a younger access may still ask about


class Bus:
    """Something that moves one thing at a time.

    Requests come in program order, not in the order of time, so one may use what time earlier
    ones left free, in pieces if need be: nothing is left unused that somebody waits for.
    """

    def __init__(self) -> None:
        self._taken: list[tuple[int, int]] = []  # apart from each other, in order

    def take(self, at: int, length: int) -> int:
        """Uses the first `length` free cycles from `at`; gives the cycle after the last."""
        taken = self._taken
        first = last = bisect_right(taken, at, key=lambda span: span[1])
        start, end, need = at, at, length
        while last < len(taken) and end + need > taken[last][0]:
            need -= max(taken[last][0] - end, 0)
            start, end = min(start, taken[last][0]), max(end, taken[last][1])
            last += 1
        end += need
        # From `at` to `end` all is taken now, by this or by what was there before.
        taken[first:last] = [(start, end)]
        del taken[:-_KEPT]
        return end


class Flights:
    """Misses under way: at most so many at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._flights: list[tuple[int, int]] = []  # end and start

    def admit(self, at: int) -> int:
        """The first cycle from `at` in which one more may start."""
        flights = self._flights
        index = bisect_right(flights, (at + 1, -1))
        while sum(start <= at for _, start in flights[index:]) >= self._most:
            at = flights[index][0]
            index += 1
        return at

    def add(self, start: int, end: int) -> None:
        """A miss that starts and ends at these cycles."""
        insort(self._flights, (end, start))
        del self._flights[:-_KEPT]


Fill = tuple[int, str]
"""The cycle in which a line can be used, and what it came from."""


class Below:
    """Everything below a first-level cache: further levels, misses in flight, bus and memory.

    A line that becomes modified pushes another modified line out of the last cache sooner or
    later; the bus pays for that at once, so that a trace shorter than the cache costs what it
    costs in a machine that has been running for long.
    """

    def __init__(self, inner: Sequence[Cache], system: System, misses: int) -> None:
        named = [(cache, causes.INNER) for cache in inner] + [(system.board, causes.BOARD)]
        self._levels = [(Tags(cache), cache, cause) for cache, cause in named]
        self._misses = misses
        self._line = system.cycles(system.line_time.value)
        self._latency = system.cycles(system.latency.value)
        self._shift = system.board.line.value.bit_length() - 1
        self._modified: set[int] = set()
        self.restart()

    def restart(self) -> None:
        """Time starts again at zero; what the caches hold stays."""
        self._ports = [Bus() for _ in self._levels]
        self._bus = Bus()
        self._pending: dict[int, Fill] = {}
        self._flights = Flights(self._misses)
        self._victims = Flights(self._misses)

    @property
    def full(self) -> bool:
        """Whether a line of a level has had to give way."""
        return any(tags.full for tags, _, _ in self._levels)

    def pending(self, line: int, at: int) -> Fill | None:
        """A fill of this first-level line that is still under way at a time."""
        fill = self._pending.get(line)
        if fill is not None and fill[0] <= at:
            del self._pending[line]
            return None
        return fill

    def fill(self, address: int, line: int, at: int) -> Fill:
        """Reads a line for the level above; the miss was seen by an access issued at `at`."""
        start = self._admit(at)
        ready, cause = self._find(address, start)
        self._flights.add(start, ready)
        if start > at and cause != causes.MEMORY:
            cause = causes.MISSES
        self._pending[line] = (ready, cause)
        return ready, cause

    def allocate(self, address: int, line: int, at: int) -> int:
        """Makes room for a line that will be written whole: nothing is read."""
        start = self._admit(at)
        _, cache, _ = self._levels[-1]
        for tags, _, _ in self._levels:
            if tags.find(address) is None:
                tags.insert(address)
        ready = start + cache.latency.value
        self._flights.add(start, ready)
        self._pending[line] = (ready, causes.BOARD)
        self.modify(address, start)
        return ready

    def absorb(self, address: int, at: int) -> int:
        """A store out of a write buffer: when its entry is free again."""
        ready, cause = self._find(address, at)
        self.modify(address, at)
        busy = self._levels[0][1].busy
        return ready if cause == causes.MEMORY else at + (busy.value if busy else 1)

    def modify(self, address: int, at: int) -> None:
        """A line is written to; the first time, a victim goes to memory in its stead."""
        line = address >> self._shift
        if line not in self._modified:
            self._modified.add(line)
            self._victims.add(at, self._bus.take(at, self._line))

    def _admit(self, at: int) -> int:
        """A miss needs an entry, and one in the victim buffer for the line that it pushes out."""
        return self._flights.admit(self._victims.admit(at))

    def _find(self, address: int, at: int) -> Fill:
        for number, (tags, cache, cause) in enumerate(self._levels):
            if tags.find(address) is not None:
                for nearer, _, _ in self._levels[:number]:
                    nearer.insert(address)
                busy = cache.busy.value if cache.busy else 0
                start = self._ports[number].take(at, busy) - busy
                return start + cache.latency.value, cause
        for tags, _, _ in self._levels:
            tags.insert(address)
        start = self._bus.take(at, self._line) - self._line
        return start + self._latency, causes.MEMORY
