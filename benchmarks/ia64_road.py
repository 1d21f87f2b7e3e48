"""What the road does to real IA-64 files: modelled cycles and nops of straight regions, time.

`.venv/bin/python benchmarks/ia64_road.py [--funcs RE] [--cpu NAME] [NAME...]` tunes the inputs (the
two libraries if none is named) and prints, over all straight regions of the functions that are
understood: cycles, nops and bundles before and after, each region counted once and by itself, one
with exits on the way (a superblock) along the path that falls through, before as after;
how many regions changed, each proved; why others did not; and the processor and wall time.
"At least" is what no order of a region has fewer of, given its stops, units, exits and what is read
behind them: nops and bundles, whatever the cycles; those of regions that stay as they are.

The kernel's routines in assembler:
`... ia64-vmlinux --funcs 'mem(cpy|move|set|cmp|chr)|str\\w+|__\\w*user|(copy|clear)_page|do_csum'`
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from fixtures.inputs import Missing, find
from passes.grouped import Superblock, part_of
from rewriter.core.grouped import Grouped
from rewriter.elf.image import load
from rewriter.options import Options
from rewriter.steps.grouped import GroupedRoad
from rewriter.steps.placing import Figures
from targets import any_for
from targets.ia64.bundles import SLOTS


@dataclass
class Sums:
    """Totals over regions; `left` counts regions by why they stay, `grades` by evidence."""

    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    least: Counter[str] = field(default_factory=Counter)
    regions: int = 0

    def add(self, old: Figures, new: Figures) -> None:
        """One region."""
        self.regions += 1
        for total, figures in ((self.before, old), (self.after, new)):
            total["cycles"] += figures.cycles
            total["nops"] += figures.nops
            total["bundles"] += figures.bundles

    def lines(self) -> list[str]:
        """What a reader wants to know."""
        found = [f"straight regions: {self.regions}"]
        for what in ("cycles", "nops", "bundles"):
            old, new = self.before[what], self.after[what]
            share = 100 * (old - new) / old if old else 0
            least = f", at least {self.least[what]}" if self.least[what] else ""
            found.append(f"{what}: {old} before, {new} after, {share:.1f} % fewer{least}")
        found += [f"left alone: {n}: {reason}" for reason, n in self.left.most_common()]
        return found


def summed(road: GroupedRoad) -> Sums:
    """The totals of a file."""
    sums, reordering = Sums(), road.reordering
    for placing in road.placings.values():
        for region in placing.routine.regions:
            one = placing.made.get(region.start)
            if one is not None:
                sums.add(one.before, one.after)
                continue
            sums.left[re.sub(r"0x[0-9a-f]+|\d+", "...", placing.left[region.start])] += 1
            try:
                code = reordering.image.read(region.start, region.end - region.start)
                same = reordering.figures(code, region.start)
            except ValueError:
                continue  # it holds no instructions
            sums.add(same, same)
    return sums


def bound(road: GroupedRoad, sums: Sums) -> None:
    """Adds what no order has fewer of."""
    reordering = road.reordering
    for placing in road.placings.values():
        live = reordering.effects.live(placing.routine, reordering.slots, reordering.beyond)
        for region in placing.routine.regions:
            slots = reordering.slots(region)
            nops = sum(road.target.is_nop(slot.insn) for slot in slots)
            bundles = (region.end - region.start) // road.target.bundle if slots else 0
            if slots and not region.reason:
                asked = reordering.asked(region, slots, False, live)
                bundles, taken = fewest(asked, reordering.scheduling)
                nops = SLOTS * bundles - taken
            sums.least["nops"] += nops
            sums.least["bundles"] += bundles


def fewest(asked: Superblock, scheduling: Any) -> tuple[int, int]:
    """Bundles that a region takes at least, and the slots that its instructions take."""
    kept = [slot.insn for slot in asked.slots if not scheduling.facts(slot.insn).is_nop]
    taken = sum(map(scheduling.takes, kept))
    try:
        part, _ = part_of(asked, scheduling)
        bundles = scheduling.fewest(replace(part, values=()))[1] if part.slots else 1
    except ValueError:  # some of it must stay
        bundles = -(-taken // SLOTS)
    return max(bundles, 1), taken


def measure(name: str, cpu: str, funcs: tuple[str, ...]) -> None:
    """One input."""
    image = load(find(name))
    target = any_for(image.machine, name)
    assert isinstance(target, Grouped), f"{name} is of another kind"
    options = Options(passes=tuple(sorted(target.passes)), funcs=funcs)
    road = GroupedRoad(image, target, target.cpus[cpu], options, jobs=len(os.sched_getaffinity(0)))
    start, spent = time.perf_counter(), _spent()
    road.run(lambda what, done, total: None)
    wall, processor = time.perf_counter() - start, _spent() - spent
    print(f"{name}: {len(road.functions)} functions, {road.code.bundles} bundles")
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


def _spent() -> float:
    times = os.times()
    return sum(times[:4])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", default=["ia64-libsigar", "ia64-libjnidispatch"])
    parser.add_argument("--cpu", default="itanium2")
    parser.add_argument("--funcs", action="append", default=[], metavar="RE")
    options = parser.parse_args()
    try:
        for name in options.names:
            measure(name, options.cpu, tuple(options.funcs))
    except Missing as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
