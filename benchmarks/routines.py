"""Our tuned Alpha routines against those of Linux and glibc for the 21264, on the timing model.

    python benchmarks/routines.py [--points] [--every N] [ROUTINE...]

Each routine of `references.py` that has a contract and one of ours are run on the same cases, and
what they did is timed on the same model.  A point where a reference does not do what the contract
says is left out and counted.  `--points` prints every point that is lost,
`--every N` looks at every Nth point of the warm grids only.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.references import REFERENCES, Reference, code
from benchmarks.routine_grid import COLD, GRID, Axes
from benchmarks.routine_runs import Runner, Wrong
from fixtures.inputs import Missing
from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import combinations
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import System
from rewriter.verify.trials.image import code_at
from rewriter.verify.trials.steps import Stores
from targets.alpha import routines
from targets.alpha.cpus import CPUS
from targets.alpha.systems import CS20, UP1000

_BASE = 0x180000000
_MIXED, _STEPS = 1000, 80_000  # calls of the mixed stream, and how many steps they may have


@dataclass(frozen=True, slots=True)
class Sample:
    """One point: modelled cycles of both."""

    point: Mapping[str, int]
    ours: int
    theirs: int

    @property
    def won(self) -> bool:
        """Ours needs no more."""
        return self.ours <= self.theirs


@dataclass(frozen=True, slots=True)
class Comparison:
    """A reference and ours over a grid; `wrong` says why points were left out."""

    reference: Reference
    where: str
    samples: tuple[Sample, ...]
    wrong: tuple[str, ...] = field(default=())
    mixed: tuple[int, int] = (0, 0)

    @property
    def share(self) -> float:
        """Of points at which ours needs no more cycles."""
        return sum(sample.won for sample in self.samples) / len(self.samples)

    @property
    def worst(self) -> Sample:
        """The point with the largest ratio."""
        return max(self.samples, key=lambda sample: sample.ours / sample.theirs)

    def row(self) -> str:
        """One line of the table."""
        if not self.samples:
            name = f"{self.reference.contract} | {self.reference.origin}, {self.reference.cpu}"
            return f"| {name} | {self.where} | 0 | - | - | - | - | {len(self.wrong)} |"
        ours, theirs = (sum(getattr(s, side) for s in self.samples) for side in ("ours", "theirs"))
        name = f"{self.reference.contract} | {self.reference.origin}, {self.reference.cpu}"
        worst = f"{self.worst.ours / self.worst.theirs:.2f}"
        mixed = f"{self.mixed[0] / self.mixed[1]:.2f}" if self.mixed[1] else "-"
        counts = f"{len(self.samples)} | {self.share:.1%} | {worst} | {ours / theirs:.2f} | {mixed}"
        return f"| {name} | {self.where} | {counts} | {len(self.wrong)} |"


HEAD = (
    "| routine | against | caches | points | not slower | worst | total | mixed | left out |",
    "|---|---|---|---:|---:|---:|---:|---:|---:|",
)


class Pair:
    """Our routine and a reference, ready to run on the same cases."""

    def __init__(self, reference: Reference) -> None:
        name, cpu = reference.contract, reference.cpu
        self.reference, self.contract = reference, CONTRACTS[name]
        best = routines.best(name, CPUS[cpu].features)
        assert best is not None, name
        self.ours = Runner(code_at(best, _BASE), self.contract, Stores.INSIDE, cpu)
        self.theirs = Runner(code(reference), self.contract, Stores.UNCHANGED, cpu)

    def traces(
        self, axes: Axes, every: int, wrong: list[str]
    ) -> Iterator[tuple[Mapping[str, int], list[Step], list[Step]]]:
        """What both do at each point where the reference does what it should."""
        for point in islice(combinations(axes), 0, None, every):
            case = self.contract.case(self.ours.arena, point)
            ours = self.ours.trace(case)
            try:
                theirs = self.theirs.trace(case)
            except Wrong as problem:
                wrong.append(f"{dict(point)}: {problem}")
            else:
                yield point, ours, theirs

    def grids(self, every: int) -> Iterator[Comparison]:
        """Warm, and where it matters cold in each machine."""
        name = self.contract.name
        yield self.compare(GRID[name], UP1000, warm=True, every=every)
        if name in COLD:
            for system in (UP1000, CS20):
                yield self.compare(COLD[name], system, warm=False)

    def compare(self, axes: Axes, system: System, warm: bool, every: int = 1) -> Comparison:
        """Both at every point of a grid."""
        samples: list[Sample] = []
        wrong: list[str] = []
        calls = []
        for point, ours, theirs in self.traces(axes, every, wrong):
            one, other = (
                runner.time(steps, system, warm)
                for runner, steps in ((self.ours, ours), (self.theirs, theirs))
            )
            samples.append(Sample(point, one, other))
            calls.append((ours, theirs))
        where = "warm" if warm else f"cold, {system.name}"
        mixed = self.mixed(calls, system) if warm else (0, 0)
        return Comparison(self.reference, where, tuple(samples), tuple(wrong), mixed)

    def mixed(
        self, calls: Sequence[tuple[list[Step], list[Step]]], system: System
    ) -> tuple[int, int]:
        """Cycles of calls in an order that no predictor can know, after as many to learn from."""
        if not calls:
            return 0, 0
        steps = sum(len(theirs) for _, theirs in calls) // len(calls)
        count = min(_MIXED, _STEPS // steps)
        order = Random(len(calls)).choices(calls, k=count)
        total = []
        for side, runner in enumerate((self.ours, self.theirs)):
            chip = runner.stream(system)
            cycles = [chip.run(call[side]).cycles for call in order]
            total.append(sum(cycles[count // 2 :]))
        return total[0], total[1]


def compare(name: str, every: int) -> Iterator[Comparison]:
    """Every comparison of one routine; `Missing` when an input is.

    Where both trees have the same code it is run once.
    """
    known: dict[tuple[object, ...], list[Comparison]] = {}
    for reference in REFERENCES:
        if reference.contract != name:
            continue
        pair = Pair(reference)
        key = (reference.cpu, pair.theirs.code.parts, pair.theirs.code.entry)
        if key not in known:
            known[key] = list(pair.grids(every))
        yield from (replace(comparison, reference=reference) for comparison in known[key])


def main(arguments: Sequence[str]) -> int:
    """Prints the table; status 1 when an input is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--points", action="store_true", help="print the points that are lost")
    parser.add_argument("--every", type=int, metavar="N", default=1, help="every Nth point")
    parser.add_argument("routines", nargs="*", metavar="ROUTINE", default=tuple(GRID))
    options = parser.parse_args(arguments)
    print("\n".join(HEAD), flush=True)
    for name in options.routines:
        try:
            found = list(compare(name, options.every))
        except Missing as missing:
            print(missing, file=sys.stderr)
            return 1
        for comparison in found:
            print(comparison.row(), flush=True)
            if options.points:
                for sample in comparison.samples:
                    if not sample.won:
                        print(f"  {dict(sample.point)}: {sample.ours} {sample.theirs}")
        for comparison in found:
            for problem in comparison.wrong[:1]:
                print(f"  {comparison.reference.name} fails its contract, first at {problem}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
