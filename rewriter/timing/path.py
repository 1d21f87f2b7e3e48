"""The critical path: each event has one that it waited for, and the cause of the time between.

Going back from the last event to the first, the times between add up to the whole exactly, and no
time is counted that was hidden behind something slower.  (Fields, Rubin and Bodik, Focusing
Processor Policies via Critical-Path Prediction, ISCA 2001, find critical paths in this way.)
"""

from __future__ import annotations

from rewriter.timing import causes


class Event:
    """Something at a cycle; since `parent` the time went to `cause`.  Nobody changes one."""

    __slots__ = ("cause", "parent", "time")

    def __init__(self, time: int, parent: Event | None, cause: str) -> None:
        self.time = time
        self.parent = parent
        self.cause = cause


BEGINNING = Event(-1, None, causes.START)  # the cycle before the first fetch


def later(event: Event, time: int, cause: str) -> Event:
    """The event put off until a cycle, if it was before."""
    return Event(time, event, cause) if time > event.time else event


def latest(event: Event, other: Event) -> Event:
    """Which of two events comes last; the first of them where both come at once."""
    return other if other.time > event.time else event


def spent(last: Event) -> dict[str, int]:
    """Cycles by cause on the way from the beginning."""
    found: dict[str, int] = {}
    event: Event | None = last
    while event is not None and event.parent is not None:
        cycles = event.time - event.parent.time
        assert cycles >= 0, event
        if cycles:
            found[event.cause] = found.get(event.cause, 0) + cycles
        event = event.parent
    return found
