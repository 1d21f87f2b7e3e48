"""A CPU that dispatches in order, in groups, to units that take what is ready, as data.

From a 603e, whose groups are two instructions and whose units hold one each, to a POWER10.
Every number has its source; times are in cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rewriter.core.target.cpu import Bypass, Cache, Counters, Figure, Sched, Selected


@dataclass(frozen=True)
class Grouping:
    """How instructions are put together in program order; a group is dispatched in one cycle.

    A group has `places`, taken in turn, and `branches` more that only transfers of control take.
    An instruction takes one place, or what `takes` says of its class; of `alone` it takes them
    all, of `first` it is the first of its group, and of `last` it ends the group.  The pairs of
    `apart`, earlier and later, share none.  `folded` are classes that the front handles: they take
    no place and no unit.  A pipe with `lanes` is for instructions that start in these places.
    """

    places: Figure
    branches: Figure
    takes: Mapping[str, Figure]
    alone: frozenset[str] = frozenset()
    first: frozenset[str] = frozenset()
    last: frozenset[str] = frozenset()
    apart: tuple[tuple[frozenset[str], frozenset[str]], ...] = ()
    folded: frozenset[str] = frozenset()
    lanes: Mapping[str, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Queue:
    """Where instructions for `pipes` wait between dispatch and issue: `entries` of them."""

    pipes: frozenset[str]
    entries: Figure


@dataclass(frozen=True)
class Flight:
    """What is between dispatch and completion.

    At most so many `instructions`, and so many `groups` where it is groups that are counted; of
    these `completes` are finished a cycle, in order.
    """

    completes: Figure
    instructions: Figure | None = None
    groups: Figure | None = None


@dataclass(frozen=True)
class Fetching:
    """The front: up to `width` instructions a cycle out of one aligned block into a buffer.

    `taken` and `indirect` are the cycles lost by a branch, and by one to LR or CTR, that is taken
    as foretold; `mispredicted` those from its execution until what comes instead is fetched.
    Without a `predictor` branches back are foretold as taken.  `targets` is of how many branches
    to CTR the last target is remembered.  Fetch waits for an address that nothing foretells.
    """

    width: Figure
    buffer: Figure
    taken: Figure
    indirect: Figure
    mispredicted: Figure
    predictor: Counters | Selected | None
    return_stack: Figure
    targets: Figure


@dataclass(frozen=True)
class Banks:
    """Banks of a cache, which lines go to in turn (no manual says it): each has a port of its own,
    which a store takes for `busy` cycles."""

    number: Figure
    busy: Figure


@dataclass(frozen=True)
class Accesses:
    """Caches, and what loads and stores cost beside the latency of their class.

    A load of what a store wrote has its value `after_store` cycles behind the store's issue at
    least; one that needs more than the store wrote, `partial` cycles.  `stores` wait in a queue
    until their line is there.  An access that is not aligned and crosses a multiple of `split`
    bytes takes its pipe, and its result, a cycle more.  `streams` is how many streams of lines the
    chip asks for by itself; where it has none, it may pay that code asks ahead.  With `through`,
    stores go through the data cache, which they bring no line into, to banks of the next one.
    """

    icache: Cache
    dcache: Cache
    inner: tuple[Cache, ...]
    misses: Figure
    stores: Figure
    after_store: Figure
    partial: Figure
    split: Figure
    streams: Figure
    through: Banks | None = None


@dataclass(frozen=True)
class Dispatched:
    """A pipeline that dispatches groups in order, issues what is ready, and completes in order.

    `issue` is how long after dispatch the first issue is.  Results named `base` are addresses that
    were moved: they count from the first issue of what is issued twice.  A class with `late`
    operands and no `then` waits for them without a pipe, as a store does for its data.  What a
    class of `waiting` is comes after everything before it is finished, and nothing is dispatched
    until it is.
    """

    width: Figure
    classes: Mapping[str, Sched]
    bypasses: tuple[Bypass, ...]
    grouping: Grouping
    queues: tuple[Queue, ...]
    flight: Flight
    issue: Figure
    fetch: Fetching
    memory: Accesses
    waiting: frozenset[str] = frozenset()
