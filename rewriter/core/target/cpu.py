"""A CPU and the machine around it, as data: every number with where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Protocol

from rewriter.core.isa.instruction import Flow, Insn

if TYPE_CHECKING:
    from rewriter.core.target.bundled_cpu import BundledCpu


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a description, with where it comes from.

    A `parameter` was not found in a manual or a measurement: a guess that may be changed.
    """

    value: int
    source: str
    parameter: bool = False


def assumed(value: int, why: str) -> Figure:
    """A parameter: `why` says what the guess rests on."""
    return Figure(value, f"parameter: {why}", parameter=True)


NO_RESULT = "no register result"
"""Said by the source of a latency that only counts until the instruction is done."""


@dataclass(frozen=True)
class Traits:
    """What timing asks of one instruction; registers that cannot change are left out.

    `sched` is the scheduling class; `roles` names the operand that each of `reads` comes from
    (empty where the encoding does not name it); `results`, if any, names what each of `writes` is,
    where results come at different times; `hint` is the distance from the next instruction to the
    target that a computed jump foretells, known modulo `hint_span`.
    """

    sched: str
    flow: Flow
    reads: tuple[int, ...]
    roles: tuple[str, ...]
    writes: tuple[int, ...]
    hint: int | None = None
    hint_span: int = 1
    results: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sched:
    """A scheduling class: one of `pipes` takes it, its result is there `latency` cycles later.

    `unit`, if any, is a unit behind the pipe that takes nothing else for `busy` cycles.  A class
    with `then` is issued twice: to one of `then` at least `after` cycles after the first time,
    when the operands named `late` are there too; `latency` counts from the second issue.  A class
    that is `split` takes two places when registers are renamed.  No pipe: never issued.  A result
    of a name in `results` has the latency there.  Without a unit, `busy` is for the pipe.
    """

    pipes: tuple[str, ...]
    latency: Figure
    unit: str = ""
    busy: Figure | None = None
    then: tuple[str, ...] = ()
    after: Figure | None = None
    late: frozenset[str] = frozenset()
    split: bool = False
    retire: Figure | None = None
    results: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True)
class Bypass:
    """The latency from one class to another where it is not the producer's usual one.

    `operand`, if any, is the only operand of the consumer that has it.
    """

    producers: frozenset[str]
    consumers: frozenset[str]
    latency: Figure
    operand: str = ""


@dataclass(frozen=True)
class Cache:
    """`size` and `line` are bytes; `latency` is the cycles from a load's issue to its use.

    `busy` is how many cycles one line takes on the way out of it; none for what is part of the
    pipeline.
    """

    size: Figure
    line: Figure
    ways: Figure
    latency: Figure
    busy: Figure | None = None


@dataclass(frozen=True)
class Counters:
    """A branch predictor of saturating counters: `entries` of `bits` bits each."""

    entries: Figure
    bits: Figure


@dataclass(frozen=True)
class Tournament:
    """Two predictors and a third that chooses between them; all `*_bits` are widths."""

    local_entries: Figure
    local_history_bits: Figure
    local_counter_bits: Figure
    global_history_bits: Figure
    global_counter_bits: Figure
    choice_counter_bits: Figure


@dataclass(frozen=True)
class Selected:
    """Counters by address, counters by address and the last branches, and a choice between them.

    Each table has `entries`; `history` is how many branches the second one knows.
    """

    entries: Figure
    bits: Figure
    history: Figure


class Pipeline(Protocol):
    """What the description of every pipeline has: how many start a cycle, classes, bypasses.

    The rest depends on its kind, and so does the engine that reads it (`rewriter/timing/engines`).
    """

    @property
    def width(self) -> Figure: ...
    @property
    def classes(self) -> Mapping[str, Sched]: ...
    @property
    def bypasses(self) -> tuple[Bypass, ...]: ...


@dataclass(frozen=True)
class InOrder:
    """A pipeline that issues in program order, and never stalls after issue.  Times in cycles.

    Instructions that may not issue together are in the two sets of an exclusion.  `after_store`
    says what a load from the place just stored to costs, by its distance from the store; at the
    distances that are `barred` no load issues, whatever it reads.  Up to `ahead` fetched blocks
    wait to issue, so that a bubble of fetch may cost nothing.
    `waiting` are classes that let nothing after them issue until all before them is finished.
    """

    width: Figure
    classes: Mapping[str, Sched]
    bypasses: tuple[Bypass, ...]
    exclusions: tuple[tuple[frozenset[str], frozenset[str]], ...]
    after_store: Mapping[int, Figure]
    barred: tuple[Figure, ...]
    waiting: frozenset[str]
    predictor: Counters
    return_stack: Figure
    ahead: Figure
    taken: Figure
    mispredicted: Figure
    icache: Cache
    dcache: Cache
    inner: tuple[Cache, ...]
    misses: Figure
    write_buffer: Figure


@dataclass(frozen=True)
class Fetch:
    """The front of an out-of-order pipeline.  Bubbles and penalties in cycles."""

    predictor: Tournament
    return_stack: Figure
    line_bubble: Figure
    way_bubble: Figure
    mispredicted: Figure
    jump_mispredicted: Figure
    itb_entries: Figure
    itb_miss: Figure
    page: Figure


@dataclass(frozen=True)
class OutOfOrderCore:
    """Renaming, queues, clusters and retirement.

    `cluster` is the cluster of each pipe; a result is seen `crossing` cycles later in another
    cluster.  `prefer` names the pipe that an instruction takes when it could take any.  `upper`
    and `lower` are the pipes that the letters of `slotting` stand for.
    """

    map_stage: Figure
    issue_stage: Figure
    retire_stage: Figure
    blocks: Figure
    integer_registers: Figure
    floating_registers: Figure
    map_reserve: Figure
    integer_queue: Figure
    floating_queue: Figure
    crossing: Figure
    retire_width: Figure
    retire_branches: Figure
    cluster: Mapping[str, int]
    prefer: tuple[str, ...]
    upper: tuple[str, ...]
    lower: tuple[str, ...]
    slotting: Callable[[str], str]
    floating: frozenset[int]


@dataclass(frozen=True)
class Memories:
    """Load and store queues, traps, and the caches on the chip.  Penalties in cycles."""

    loads: Figure
    stores: Figure
    misses: Figure
    order_trap: Figure
    replay_trap: Figure
    store_wait_entries: Figure
    store_wait_cleared: Figure
    dtb_entries: Figure
    dtb_miss: Figure
    walk: Figure
    store_to_load: Figure
    icache: Cache
    dcache: Cache


@dataclass(frozen=True)
class OutOfOrder:
    """A pipeline that issues whatever is ready.

    `write_hints` are classes that allocate a line without reading it, `barriers` those that wait
    for every access before them.
    """

    width: Figure
    classes: Mapping[str, Sched]
    bypasses: tuple[Bypass, ...]
    fetch: Fetch
    window: OutOfOrderCore
    memory: Memories
    write_hints: frozenset[str]
    barriers: frozenset[str]


@dataclass(frozen=True)
class System:
    """What is around a chip: its clock (MHz), board cache, and memory.

    `line_time` is how long a line occupies the memory bus, `latency` the time from a miss to the
    data, both in nanoseconds.
    """

    name: str
    description: str
    clock: Figure
    board: Cache
    line_time: Figure
    latency: Figure

    def cycles(self, nanoseconds: int) -> int:
        """Time in CPU cycles, rounded up."""
        return -(-nanoseconds * self.clock.value // 1000)

    @property
    def figures(self) -> dict[str, Figure]:
        """Every number of the description by name."""
        return dict(figures_of(self))


@dataclass(frozen=True)
class Placing:
    """Where loops stand best.

    Heads and other places that branches lead to go to a multiple of `boundary` bytes; a loop of at
    most `sector` bytes stands in one aligned block of so many.  `ends_groups` says that the nops
    that are there to end a group do so.
    """

    boundary: Figure
    sector: Figure
    ends_groups: bool = False


@dataclass(frozen=True)
class Cpu:
    """One CPU of a target.

    `features` are the names that rows of the table may need; `fetch_block` is the number of bytes
    that are fetched at once, aligned; `pipeline` is what the timing model reads, `traits` what it
    asks of an instruction.  With `placing`, a layout is judged by its loops: compilers have placed
    them for such chips already.  `called` are the names by which Linux calls such chips in
    /proc/cpuinfo.
    """

    name: str
    description: str
    features: frozenset[str]
    fetch_block: Figure
    figures: dict[str, Figure] = field(default_factory=dict)
    pipeline: Pipeline | None = None
    traits: Callable[[Insn], Traits] | None = None
    placing: Placing | None = None
    called: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def bundled(self) -> BundledCpu | None:
        """The CPU, if it is described as one that issues what its code puts together."""
        return None


def figures_of(description: object, prefix: str = "") -> Iterator[tuple[str, Figure]]:
    """Every figure within a description, named by the way to it."""
    if isinstance(description, Figure):
        yield prefix, description
    elif is_dataclass(description):
        for item in fields(description):
            yield from figures_of(getattr(description, item.name), _joined(prefix, item.name))
    elif isinstance(description, Mapping):
        for key, value in description.items():
            yield from figures_of(value, _joined(prefix, str(key)))
    elif isinstance(description, tuple):
        for index, value in enumerate(description):
            yield from figures_of(value, _joined(prefix, str(index)))


def figures_of_classes(pipeline: Pipeline) -> dict[str, Figure]:
    """Figures of classes and bypasses by name; those that share one are named together."""
    sharing: dict[tuple[str, Figure], list[str]] = {}
    for name, sched in pipeline.classes.items():
        for what, figure in figures_of(sched):
            if NO_RESULT not in figure.source:
                sharing.setdefault((what, figure), []).append(name)
    for bypass in pipeline.bypasses:
        producers, consumers = (
            "/".join(sorted(one)) for one in (bypass.producers, bypass.consumers)
        )
        who = f"{producers} to {consumers} {bypass.operand}"
        sharing.setdefault(("latency", bypass.latency), []).append(who.strip())
    return {f"{what} of {', '.join(names)}": figure for (what, figure), names in sharing.items()}


def _joined(prefix: str, name: str) -> str:
    name = name.replace("_", " ")
    return f"{prefix} {name}" if prefix else name
