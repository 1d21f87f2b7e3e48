"""A CPU that issues what its code puts together, as data: ports, dispersal, latencies, pairs.

Every number has its source.  Times are in cycles of issue: a distance of 1 is the next cycle, and
a bubble is a cycle in which nothing issues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.cpu import Cache, Cpu, Figure

ANY = "any"
"""The kind that every instruction is of."""


@dataclass(frozen=True, slots=True)
class Role:
    """What an instruction does with a register: as in `address`, `data`, `qp`, `result`, `base`.

    A `state` is what no value is waited for: the pair tables say what its changes cost.
    """

    register: int
    name: str


@dataclass(frozen=True, slots=True)
class BundledTraits:
    """What timing asks of one instruction.

    `unit` is the letter of the slot that it stands in; `sched` its scheduling class, refined by
    what follows a space; `kinds` the names under which the tables of pairs and splits know it.
    `rotates`: it renames the rotating registers by one; `frame` is how many general registers
    rotate from here on, where it says so.  `hinted` is whether its text expects it to be taken.
    """

    unit: str
    sched: str
    kinds: frozenset[str]
    reads: tuple[Role, ...]
    writes: tuple[Role, ...]
    uses: int
    defs: int
    flow: Flow
    is_predicated: bool
    rotates: bool = False
    frame: int | None = None
    hinted: bool = True


@dataclass(frozen=True)
class IssueClass:
    """A scheduling class: by the letter of the slot, the ports that take it, preferred first.

    Ports are given out by `rank`, which also depends on the slot (0 where it has none), then in
    the order of the slots: an instruction of a lower rank comes first although it stands behind
    one of a higher.  One that takes `all_ports` needs each of them.  `latency` is that of its
    results for an ordinary reader.
    """

    ports: Mapping[str, tuple[str, ...]]
    latency: Figure
    rank: Mapping[str, int]
    all_ports: bool = False


@dataclass(frozen=True)
class RolePass:
    """A bypass: a latency other than the producer's own; of several, the first that fits counts.

    `wrote` and `reads` name roles; an empty set stands for all.  The figure is the whole distance
    between the two issues.
    """

    producers: frozenset[str]
    consumers: frozenset[str]
    latency: Figure
    reads: frozenset[str] = frozenset()
    wrote: frozenset[str] = frozenset({"result"})


@dataclass(frozen=True)
class Pair:
    """An instruction of kind `later` issues at least `cycles` after the last of kind `earlier`.

    What it waits is counted by `counter`; `shares`, if any, splits the bubbles among several
    counters, the first first.
    """

    earlier: frozenset[str]
    later: frozenset[str]
    cycles: Figure
    counter: str
    shares: tuple[tuple[str, Figure], ...] = ()


@dataclass(frozen=True)
class Echo:
    """`bubbles` that come `after` cycles behind an instruction of the kind, whatever issues."""

    kind: str
    after: Figure
    bubbles: Figure
    counter: str


@dataclass(frozen=True)
class Dispersal:
    """How the slots of `bundles` bundles, each of so many bytes, go to ports in one cycle.

    A shape is the letters of a bundle's slots.  The cycle ends behind a shape of `ending`, and
    behind one of `ending_if_busy` unless its last slot is of a class of `idle`; the pairs of
    `apart` never share one.  `places` gives the port of a slot by shape and number where the
    place decides.  `after` and `before` are kinds that end the cycle, `between` pairs of kinds
    that do not share one in this order.
    """

    bundles: Figure
    bundle_bytes: Figure
    ending: frozenset[str]
    ending_if_busy: frozenset[str]
    idle: frozenset[str]
    apart: frozenset[tuple[str, str]]
    places: Mapping[tuple[str, int], tuple[str, ...]]
    after: Mapping[str, str]
    before: Mapping[str, str]
    between: Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Waits:
    """The counter for those who wait for a register of `first` up to `last`.

    `within` counts, beside it, the waits that are not for a class of `except_for`.
    """

    first: int
    last: int
    counter: str
    within: str = ""
    except_for: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Front:
    """Fetch and branches.  Penalties are bubbles, counted by `counter`; a lack of bundles is
    `starved`.

    A branch to a register is foretold if the register was written `known` cycles before.
    """

    fetch_bytes: Figure
    buffer_bundles: Figure
    taken: Figure
    mispredicted: Figure
    history_bits: Figure
    counter_bits: Figure
    return_stack: Figure
    known: Figure
    counter: str
    starved: str


@dataclass(frozen=True)
class Rotating:
    """Registers that rotate: `count` from `first` on, as many as the frame says if it is 0."""

    first: int
    count: int


@dataclass(frozen=True)
class Hierarchy:
    """Caches and what accesses cost beside their latency.

    The first of `levels` is not looked at by accesses of `around` classes.  `banks` of
    `bank_bytes` each take one access a cycle in the second level; another one comes `conflict`
    cycles later.  A load of what a store wrote comes `after_store` cycles behind the store, and is
    counted by `forwarding`; what waits for one of `misses` to end is counted by `queue`.
    """

    levels: tuple[Cache, ...]
    memory: Figure
    loads: frozenset[str]
    stores: frozenset[str]
    prefetches: frozenset[str]
    around: frozenset[str]
    banks: Figure
    bank_bytes: Figure
    conflict: Figure
    after_store: Figure
    forwarding: str
    misses: Figure
    queue: str


@dataclass(frozen=True, eq=False)
class Bundled:
    """A pipeline that issues the groups of its code in order, up to `dispersal.bundles` a cycle.

    `traits` says what an instruction is to the tables; `priority` orders the groups of counters:
    of several reasons to wait in one cycle, the first is counted.
    """

    classes: Mapping[str, IssueClass]
    passes: tuple[RolePass, ...]
    pairs: tuple[Pair, ...]
    echoes: tuple[Echo, ...]
    dispersal: Dispersal
    waits: tuple[Waits, ...]
    front: Front
    memory: Hierarchy
    rotating: tuple[Rotating, ...]
    priority: tuple[str, ...]
    traits: Callable[[Insn], BundledTraits]

    def class_of(self, sched: str) -> IssueClass:
        """The description of a class; one that has none of its own is what it refines."""
        found = self.classes.get(sched)
        return self.classes[sched.partition(" ")[0]] if found is None else found


@dataclass(frozen=True, kw_only=True)
class BundledCpu(Cpu):
    """A CPU with such a pipeline."""

    issue: Bundled

    @property
    def bundled(self) -> BundledCpu:
        """The CPU itself."""
        return self
