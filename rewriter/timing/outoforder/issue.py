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
        self._crossing = window.crossing.value
        pipes = {p for s in pipeline.classes.values() for p in (*s.pipes, *s.then)}
        self._booked: dict[str, set[int]] = {pipe: set() for pipe in pipes}
        self._cluster = {pipe: window.cluster.get(pipe, _EVERYWHERE) for pipe in ("", *pipes)}
        self._units: dict[str, int] = {}
        self._values: dict[int, Value] = {}

    def issue(
        self, place: Place, pipes: tuple[str, ...], registers: tuple[int, ...], least: Event
    ) -> Issued:
        """The first issue to one of the pipes, not before `least`."""
        unit = self._units.get(place.unit, 0) if place.unit else 0
        soonest = max(least.time, unit)
        best, pipe, at = -1, "", 0
        value: Value | None = None
        known: dict[int, tuple[int, Value | None]] = {}
        for one in pipes:
            cluster = self._cluster[one]
            ready = known.get(cluster)
            if ready is None:
                ready = known[cluster] = self._ready(place, registers, cluster)
            start = max(ready[0], soonest)
            booked = self._booked[one]
            while start in booked:
                start += 1
            if best < 0 or start < best:
                best, pipe, at, value = start, one, ready[0], ready[1]
                if start == soonest:
                    break
        self._take(place, pipe, best)
        first = least if value is None or at <= least.time else self._operand(value, at)
        conflict = causes.UNIT if place.unit else causes.PIPES
        return Issued(later(first, best, conflict), pipe, first)

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
        if place.busy:
            self._units[place.unit] = cycle + place.busy

    def _ready(
        self, place: Place, registers: tuple[int, ...], cluster: int
    ) -> tuple[int, Value | None]:
        """When the operands can be read in a cluster, and the one that comes last."""
        latest = 0
        last: Value | None = None
        special = place.special
        for register in registers:
            value = self._values.get(register)
            if value is None:
                continue
            at = value.issued.time + value.latency
            if value.name in special:
                latency = special[value.name]
                at = value.issued.time + latency
                value = Value(value.issued, latency, value.cluster, value.name, value.cause)
            elif value.cluster not in (_EVERYWHERE, cluster) and cluster != _EVERYWHERE:
                at += self._crossing
            if at > latest:
                latest, last = at, value
        return latest, last

    def write(self, place: Place, event: Event, latency: int, pipe: str, cause: str) -> None:
        """The results of an instruction that was issued; a load's are seen by both clusters."""
        cluster = _EVERYWHERE if cause else self._cluster[pipe]
        for register in place.writes:
            self._values[register] = Value(
                event, latency, cluster, place.name, cause or causes.OPERANDS
            )
