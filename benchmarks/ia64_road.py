"""What the road does to real IA-64 files: modelled cycles and nops of straight regions, time.

`.venv/bin/python benchmarks/ia64_road.py [--funcs RE] [--cpu NAME] [NAME...]` tunes the inputs and
prints, over all straight regions of the functions that are understood: cycles, nops and bundles
before and after, each region counted once and by itself, one with exits on the way (a superblock)
along the path that falls through, before as after; how many ways through a region, to its end or
to an exit, take more cycles than before; how many regions changed, each proved; why others did not;
and the processor and wall time.  "At least" is what no order of a region has fewer
of, given its ports, units, exits and what is read behind them: each by itself, whatever the others
are; those of regions that stay as they are.

If none is named: the two libraries, and of the kernel the routines of its `lib.a`, of `lib` and of
`arch/ia64/lib`, which the linker puts one behind another; then the sum of all.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import targets
from passes import offered
from rewriter.core.code.groups import Slot
from rewriter.core.code.superblock import Superblock
from rewriter.core.isa.instruction import Flow

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.ia64_bounds import least
from fixtures.inputs import Missing, find
from passes.scheduling.bundled_model import Model
from rewriter.analysis.functions import find_functions
from rewriter.elf.image import load
from rewriter.road.bundled.function import Figures, Reordered
from rewriter.road.bundled.regions import Reordering
from rewriter.road.bundled.road import BundledRoad, prepared
from rewriter.road.options import Options
from targets.ia64.schedule.bundler import Scheduling

LIBRARIES = "ia64-libsigar", "ia64-libjnidispatch"
KERNEL, ARCHIVE = "ia64-vmlinux", ("argv_split", "strlen")  # the first and the last of its lib.a


@dataclass
class Sums:
    """Totals over regions; `left` counts regions by why they stay.

    Of the `ways` through changed regions, to the end or to an exit, `slower` take more cycles.
    """

    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    least: Counter[str] = field(default_factory=Counter)
    regions: int = 0
    ways: int = 0
    slower: int = 0

    def __iadd__(self, other: Sums) -> Sums:
        """Another file's."""
        self.before += other.before
        self.after += other.after
        self.left += other.left
        self.least += other.least
        self.regions += other.regions
        self.ways += other.ways
        self.slower += other.slower
        return self

    def add(self, old: Figures, new: Figures) -> None:
        """One region."""
        self.regions += 1
        for total, figures in ((self.before, old), (self.after, new)):
            total["cycles"] += figures.cycles
            total["nops"] += figures.nops
            total["bundles"] += figures.bundles

    def compare(self, old: Sequence[int], new: Sequence[int]) -> None:
        """The cycles of each way through a changed region."""
        self.ways += len(old)
        self.slower += sum(b > a for a, b in zip(old, new, strict=True))

    def lines(self) -> list[str]:
        """What a reader wants to know."""
        found = [f"straight regions: {self.regions}"]
        for what in ("cycles", "nops", "bundles"):
            old, new = self.before[what], self.after[what]
            share = 100 * (old - new) / old if old else 0
            found.append(f"{what}: {old} before, {new} after, {share:.1f} % fewer")
            found[-1] += f", at least {self.least[what]}"
        found.append(f"ways through changed regions: {self.ways}, in more cycles: {self.slower}")
        found += [f"left alone: {n}: {reason}" for reason, n in self.left.most_common()]
        return found


def summed(road: BundledRoad) -> Sums:
    """The totals of a file."""
    sums, reordering = Sums(), road.prepared.reordering
    for placing in road.placings.values():
        for region in placing.routine.regions:
            one = placing.made.get(region.start)
            if one is not None:
                sums.add(one.before, one.after)
                sums.compare(*(_ways(reordering, code) for code in _codes(reordering, one)))
                continue
            sums.left[re.sub(r"0x[0-9a-f]+|\d+", "...", placing.left[region.start])] += 1
            try:
                code = reordering.image.read(region.start, region.end - region.start)
                same = reordering.figures(code, region.start)
            except ValueError:
                continue  # it holds no instructions
            sums.add(same, same)
    return sums


def _codes(reordering: Reordering, one: Reordered) -> Iterator[Sequence[Slot]]:
    """The slots of a region as it was and as it is."""
    yield reordering.slots(one.region)
    yield list(reordering.target.straight(one.code, one.region.start))


def _ways(reordering: Reordering, slots: Sequence[Slot]) -> list[int]:
    """The cycles to each transfer of control, with the bundle that it is in, and to the end."""
    size = reordering.target.bundle
    ends = [s.address // size for s in slots if s.insn.op.flow is not Flow.NEXT]
    ends.append(slots[-1].address // size)
    return [
        reordering.scheduling.cycles([s for s in slots if s.address // size <= end]) for end in ends
    ]


def bound(road: BundledRoad, sums: Sums) -> None:
    """Adds what no order has fewer of."""
    reordering = road.prepared.reordering
    scheduling = Scheduling(Model(road.prepared.cpu))
    for placing in road.placings.values():
        live = reordering.liveness.live(placing.routine, reordering.slots, reordering.beyond)
        for region in placing.routine.regions:
            slots = reordering.slots(region)
            if not slots:
                continue
            asked = Superblock(tuple(slots), fixed=frozenset(slot.address for slot in slots))
            if not region.reason:
                asked = reordering.asked(region, slots, False, live)
            found = least(asked, scheduling)
            sums.least += Counter(cycles=found.cycles, bundles=found.bundles, nops=found.nops)


def archived(name: str) -> tuple[str, ...]:
    """Patterns of the names of the routines from a kernel's `lib.a`."""
    image = load(find(name))
    target = targets.of(image).bundling
    assert target is not None
    functions = find_functions(image, target.described(image))
    first, last = (next(f.start for f in functions if f.name == end) for end in ARCHIVE)
    return tuple(re.escape(f.name) for f in functions if first <= f.start <= last)


def measure(name: str, cpu: str, funcs: tuple[str, ...]) -> Sums:
    """One input."""
    image = load(find(name))
    target = targets.of(image).bundling
    assert target is not None, f"{name} is of another kind"
    options = Options(passes=offered(target), funcs=funcs)
    road = BundledRoad(
        prepared(image, target, target.cpus[cpu], options), jobs=len(os.sched_getaffinity(0))
    )
    start, spent = time.perf_counter(), _spent()
    road.run(road.functions, lambda what, done, total: None)
    wall, processor = time.perf_counter() - start, _spent() - spent
    print(f"{name}: {len(road.functions)} functions, {road.prepared.code.bundles} bundles")
    sums = summed(road)
    bound(road, sums)
    for line in sums.lines():
        print(f"  {line}")
    for reason, number in Counter(r.reason for r in road.refusals).most_common():
        print(f"  functions left alone: {number}: {reason}")
    grades = Counter(str(e.evidence.grade.value) for e in road.edits)
    print(f"  edits: {dict(grades)}; in new places: {sum(p.moved for p in road.placings.values())}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"  {processor:.0f} s of processor, {wall:.0f} s, {peak} MiB", flush=True)
    return sums


def _spent() -> float:
    times = os.times()
    return sum(times[:4])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cpu", default="itanium2")
    parser.add_argument("--funcs", action="append", default=[], metavar="RE")
    options = parser.parse_args()
    try:
        for name in options.names:
            measure(name, options.cpu, tuple(options.funcs))
        if not options.names:
            every = Sums()
            for name in LIBRARIES:
                every += measure(name, options.cpu, tuple(options.funcs))
            every += measure(KERNEL, options.cpu, tuple(options.funcs) or archived(KERNEL))
            print("all of these", *every.lines(), sep="\n  ")
    except Missing as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
