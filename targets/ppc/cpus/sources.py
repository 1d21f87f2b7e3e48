"""Where the figures come from, and the short ways to write them down."""

from __future__ import annotations

from dataclasses import replace

from rewriter.core.target.cpu import (
    NO_RESULT,
    Cache,
    Cpu,
    Figure,
    Placing,
    Sched,
    Selected,
    assumed,
    figures_of,
    figures_of_classes,
)
from rewriter.core.target.dispatched_cpu import Dispatched
from targets.ppc.cpus.traits import plain

GCC603 = "gcc config/rs6000/603.md"
GCC7XX = "gcc config/rs6000/7xx.md"
GCC7450 = "gcc config/rs6000/7450.md"
GCC4 = "gcc config/rs6000/power4.md"
GCC7 = "gcc config/rs6000/power7.md"
GCC8 = "gcc config/rs6000/power8.md"
GCC9 = "gcc config/rs6000/power9.md"
GCC10 = "gcc config/rs6000/power10.md"
GCC = "gcc config/rs6000/rs6000.cc"
COSTS = f"{GCC}: processor_costs"
G3 = "LLVM PPCScheduleG3.td"
G4PLUS = "LLVM PPCScheduleG4Plus.td"
G5 = "LLVM PPCScheduleG5.td"
P7 = "LLVM PPCScheduleP7.td"
P8 = "LLVM PPCScheduleP8.td"
P9 = "LLVM PPCScheduleP9.td"
P10 = "LLVM PPCScheduleP10.td"
HAZARD = "LLVM PPCHazardRecognizers.cpp, PPCHazardRecognizer970"
UM750 = "IBM 750GX User's Manual"
UM750_TABLES = f"{UM750}, tables 6-9"
DS7450 = "MPC7445/7455 datasheet rev 4.1, page 8"
AN2203 = "Freescale AN2203, software optimization guide"
TN2087 = "Apple TN2087"
LECTURE = "NPTEL 106104024, lecture 40"
_DATA = frozenset({"rs", "frs", "vrs", "xs"})  # operands of the table that are stored
GENERAL = "general knowledge of the chip, not confirmed"


def guess(value: int, what: str) -> Figure:
    """A parameter."""
    return assumed(value, f"{what}; {GENERAL}")


def tables(entries: int, bits: int) -> Selected:
    """A predictor of three tables, as all chips from POWER4 on have it."""
    return Selected(
        entries=guess(entries, "entries of each table"),
        bits=guess(bits, "bits an entry"),
        history=guess(11, "branches in the history"),
    )


def takes(
    ports: str,
    latency: int,
    source: str,
    busy: int = 0,
    **results: int,
) -> Sched:
    """A class: ports apart by `|`, pipes that one takes at once joined by `+`.

    `busy` is for how long it keeps what it took, `results` the latency of some of its results.
    """
    return Sched(
        pipes=tuple(ports.split("|")),
        latency=Figure(latency, source),
        busy=Figure(busy, source) if busy else None,
        results={name: Figure(cycles, source) for name, cycles in results.items()},
    )


def stores(ports: str, source: str, busy: int = 0, **results: int) -> Sched:
    """A class without a result of its own: one cycle until it counts as done."""
    return takes(ports, 1, f"{source}: {NO_RESULT}", busy, **results)


def apart(sched: Sched, ports: str = "") -> Sched:
    """A store whose data may come later than its address, through ports of its own if it has."""
    return replace(sched, then=tuple(ports.split("|")) if ports else (), late=_DATA)


def then(sched: Sched, ports: str, after: int) -> Sched:
    """The class with a second issue so many cycles later at least, of which its latency counts."""
    when = Figure(after, sched.latency.source)
    return replace(sched, then=tuple(ports.split("|")), after=when)


def both(first: str, second: str) -> str:
    """Ports for one of the first and one of the second pipes at once."""
    return "|".join(f"{a}+{b}" for a in first.split("|") for b in second.split("|"))


def figures(value: int, names: str, source: str) -> dict[str, Figure]:
    """One figure for several classes."""
    return {name: Figure(value, source) for name in names.split()}


def cache(kilobytes: int, ways: int, line: int, latency: int, source: str) -> Cache:
    """A cache whose latency is a parameter unless it is that of the pipeline."""
    return Cache(
        size=Figure(kilobytes * 1024, source),
        line=Figure(line, source),
        ways=Figure(ways, source),
        latency=guess(latency, "cycles from a load's issue to its use"),
    )


def guessed_cache(kilobytes: int, ways: int, line: int, latency: int) -> Cache:
    """A cache of which nothing is confirmed."""
    return Cache(
        size=guess(kilobytes * 1024, "bytes"),
        line=guess(line, "line, bytes"),
        ways=guess(ways, "ways"),
        latency=guess(latency, "cycles from a load's issue to its use"),
    )


IN_LINES = Placing(
    boundary=Figure(4, f"{GCC}: no alignment of loops for these chips"),
    sector=Figure(32, f"{AN2203}: a tight loop inside one cache block"),
)
IN_SECTORS = Placing(
    boundary=Figure(16, f"{GCC}: align_loops of POWER4 to POWER9"),
    sector=Figure(32, f"{GCC}: rs6000_loop_align, one sector of the instruction cache"),
)
GROUPED_SECTORS = replace(IN_SECTORS, ends_groups=True)
SECTORS_ASSUMED = Placing(
    boundary=assumed(16, "as POWER9"), sector=assumed(32, "as POWER9, an aligned block of fetch")
)
"""Where loops of 750 and its kind, of POWER4 to POWER9, and of later ones stand best; POWER7 and
POWER8 have a nop that ends a group."""


def dispatched(
    name: str,
    description: str,
    features: frozenset[str],
    block: Figure,
    pipeline: Dispatched,
    placing: Placing,
    called: tuple[str, ...],
) -> Cpu:
    """A CPU with such a pipeline."""
    shown = _shown(pipeline) | dict(figures_of(placing, "loops"))
    made = (name, description, features, block, shown, pipeline, plain, placing)
    return Cpu(*made, called=called)


def _shown(pipeline: Dispatched) -> dict[str, Figure]:
    """Figures by name: of classes, of bypasses and of everything else."""
    shown = figures_of_classes(pipeline)
    for part in ("width", "grouping", "queues", "flight", "issue", "fetch", "memory"):
        shown.update(figures_of(getattr(pipeline, part), part))
    return shown
