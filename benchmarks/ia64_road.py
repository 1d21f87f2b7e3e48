"""What the road does to real IA-64 files: modelled cycles and nops of straight regions, time.

`.venv/bin/python benchmarks/ia64_road.py [--funcs RE] [--cpu NAME] [NAME...]` tunes the inputs (the
two libraries if none is named) and prints, over all straight regions of the functions that are
understood: cycles, nops and bundles before and after, each region counted once and by itself, one
with exits on the way (a superblock) along the path that falls through, before as after;
how many regions changed, each proved; why others did not; and the processor and wall time.

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
from dataclasses import dataclass, field

from fixtures.inputs import Missing, find
from rewriter.core.grouped import Grouped
from rewriter.elf.image import load
from rewriter.options import Options
from rewriter.steps.grouped import GroupedRoad
from rewriter.steps.placing import Figures
from targets import any_for


@dataclass
class Sums:
    """Totals over regions; `left` counts regions by why they stay, `grades` by evidence."""

    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
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
            found.append(f"{what}: {old} before, {new} after, {share:.1f} % fewer")
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
    for line in summed(road).lines():
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
