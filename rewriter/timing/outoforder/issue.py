"""Issue: the oldest ready instruction first, to a pipe that is free and where its operands are."""

from __future__ import annotations

from rewriter.core.target.cpu import OutOfOrder
from rewriter.timing import causes
from rewriter.timing.outoforder.places import Place
from rewriter.timing.path import Event, later

_EVERYWHERE = -1  # no cluster: a result that both clusters see at once
_BOOKED, _KEPT = 4096, 2048  # cycles of a pipe that are remembered, and after clearing


class Value:
    """A register's newest value, made by an instruction of class `name`.  Nobody changes one."""

    __slots__ = ("cause", "cluster", "issued", "latency", "name")

    def __init__(self, issued: Event, latency: int, cluster: int, name: str, cause: str) -> None:
        self.issued = issued
        self.latency = latency
        self.cluster = cluster
        self.name = name
        self.cause = cause


class Issued:
    """An instruction was issued to a pipe; it was ready at `ready`, for the cause there."""

    __slots__ = ("event", "pipe", "ready")

    def __init__(self, event: Event, pipe: str, ready: Event) -> None:
        self.event = event
        self.pipe = pipe
        self.ready = ready


class Issuer:
    """Pipes, units and register values.

    Instructions come in program order and each takes the first cycle that is free: so an older
    one always comes before a younger one that is ready for the same cycle.
    """

    def __init__(self, pipeline: OutOfOrder) -> None:
        window = pipeline.window
        self._cluster = window.cluster
        self._crossing = window.crossing.value
        self._special = {
            (producer, consumer): bypass.latency.value
            for bypass in pipeline.bypasses
            for producer in bypass.producers
            for consumer in bypass.consumers
        }
        pipes = {p for s in pipeline.classes.values() for p in (*s.pipes, *s.then)}
        self._booked: dict[str, set[int]] = {pipe: set() for pipe in pipes}
        self._rank = {
            pipe: (pipe not in window.prefer, index) for index, pipe in enumerate(sorted(pipes))
        }
        self._units: dict[str, int] = {}
        self._values: dict[int, Value] = {}

    def issue(
        self, place: Place, pipes: tuple[str, ...], registers: tuple[int, ...], least: Event
    ) -> Issued:
        """The first issue to one of the pipes, not before `least`."""
        best: tuple[int, tuple[bool, int]] | None = None
        found: tuple[str, int, Value | None] = ("", 0, None)
        unit = self._units.get(place.sched.unit, 0) if place.sched.unit else 0
        known: dict[int, tuple[int, Value | None]] = {}
        for pipe in pipes:
            cluster = self._cluster.get(pipe, _EVERYWHERE)
            if cluster not in known:
                known[cluster] = self._ready(place, registers, cluster)
            at, value = known[cluster]
            start = max(at, least.time, unit)
            booked = self._booked[pipe]
            while start in booked:
                start += 1
            key = (start, self._rank[pipe])
            if best is None or key < best:
                best, found = key, (pipe, at, value)
        assert best is not None, place
        pipe, at, value = found
        self._take(place, pipe, best[0])
        ready = least if value is None or at <= least.time else self._operand(value, at)
        conflict = causes.UNIT if place.sched.unit else causes.PIPES
        return Issued(later(ready, best[0], conflict), pipe, ready)

    def _operand(self, value: Value, at: int) -> Event:
        """The operand that comes last is there."""
        whole = value.issued.time + value.latency
        event = Event(min(at, whole), value.issued, value.cause)
        return later(event, at, causes.CROSSING)

    def _take(self, place: Place, pipe: str, cycle: int) -> None:
        booked = self._booked[pipe]
        booked.add(cycle)
        if len(booked) > _BOOKED:
            self._booked[pipe] = {c for c in booked if c > cycle - _KEPT}
        if place.sched.busy is not None:
            self._units[place.sched.unit] = cycle + place.sched.busy.value

    def _ready(
        self, place: Place, registers: tuple[int, ...], cluster: int
    ) -> tuple[int, Value | None]:
        """When the operands can be read in a cluster, and the one that comes last."""
        latest, last = 0, None
        for register in registers:
            value = self._values.get(register)
            if value is None:
                continue
            at = value.issued.time + value.latency
            if (value.name, place.name) in self._special:
                latency = self._special[value.name, place.name]
                at = value.issued.time + latency
                value = Value(value.issued, latency, value.cluster, value.name, value.cause)
            elif value.cluster not in (_EVERYWHERE, cluster) and cluster != _EVERYWHERE:
                at += self._crossing
            if at > latest:
                latest, last = at, value
        return latest, last

    def write(self, place: Place, event: Event, latency: int, pipe: str, cause: str) -> None:
        """The results of an instruction that was issued; a load's are seen by both clusters."""
        cluster = _EVERYWHERE if cause else self._cluster.get(pipe, _EVERYWHERE)
        for register in place.writes:
            self._values[register] = Value(
                event, latency, cluster, place.name, cause or causes.OPERANDS
            )
