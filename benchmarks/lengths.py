"""Whether any routine that `substitute` puts anywhere is slower at some length, by its model.

    python benchmarks/lengths.py [--file NAME]... [--cpu NAME]... [--routine NAME]... [--all]
                                 [--jobs N]

For each file and each CPU of `retune cpus` that has tuned routines for it, each routine that
`substitute` takes there is timed beside the one that it replaces: at 0 to 32 bytes and at
lengths from 64 to 4,096, the sum over alignments of each (`passes/substitution/worth.py`), the
original's only as far as it takes to know which is less.  A line a routine: ours in parts of the
original's cycles in the calls that programs make most, then the lengths at which ours takes
more.  `--all` also prints those that the model refuses, with the reason.  At the end for each CPU
how many routines are put somewhere, and which gains least in those calls.  Exit status 1 if a
routine that is put somewhere takes more at any length.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import targets
from fixtures.inputs import Missing, find
from passes.substitute import Substitute
from passes.substitution.worth import Worth
from rewriter.analysis.program import analyse
from rewriter.contracts import CONTRACTS
from rewriter.core.run import workers
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import CannotMove, Sequential, suited
from rewriter.elf.image import Image, load
from rewriter.road.bundled.road import prepared
from rewriter.road.options import Options
from rewriter.verify.routines.replaceable import Known, Named

FILES = (
    "alpha-libc",
    "alpha-vmlinux",
    "ppc-libc",
    "ppc64-libc",
    "ppc64el-libc",
    "ppc32-vmlinux",
    "ppc64el-vmlinux",
    "ia64-libc",
    "ia64-vmlinux",
)
LONG = (64, 96, 128, 200, 256, 360, 512, 552, 768, 1024, 1500, 2048, 4096)
_ROW = "{:15} {:9} {:12} {:>6}  {}"


@dataclass(frozen=True)
class Slower:
    """A length at which ours takes more, in parts of the original's cycles."""

    size: int
    part: float


@dataclass(frozen=True)
class Taken:
    """What becomes of a routine on a CPU: ours replaces it, or why it stays (`reason`).

    `calls` is what ours takes, in parts of the original's cycles, in the calls that programs make
    most; `slower` are those of so many `lengths` at which it takes more.
    """

    file: str
    cpu: str
    name: str
    reason: str = ""
    calls: float = 0
    lengths: int = 0
    slower: tuple[Slower, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether it stays because the model says so."""
        return self.reason.startswith("model: ")

    @property
    def row(self) -> str:
        """Its line of the table."""
        head = self.file, self.cpu, self.name
        if self.reason:
            return _ROW.format(*head, "-", self.reason)
        told = ", ".join(f"{one.size} ({one.part:.2f})" for one in self.slower) or "none"
        return _ROW.format(*head, f"{self.calls:.2f}", told if self.lengths else "has no lengths")


def weighed(file: str, cpu: str, name: str, worth: Worth) -> Taken:
    """A routine that is put into a file, at all lengths."""
    every = list(worth.lengths(LONG))
    slower = tuple(Slower(one.size, one.new / one.old) for one in every if one.loses)
    return Taken(file, cpu, name, "", worth.new / worth.old, len(every), slower)


@dataclass(frozen=True)
class Asked:
    """Which routines and CPUs are asked for, all where none is named; in how many processes."""

    cpus: Collection[str]
    routines: Collection[str]
    jobs: int

    def cpu(self, name: str) -> bool:
        """Whether a CPU is."""
        return not self.cpus or name in self.cpus

    def routine(self, names: Collection[str]) -> bool:
        """Whether a routine of some names is."""
        return not self.routines or not set(names).isdisjoint(self.routines)


def sequential(file: str, image: Image, target: Sequential, asked: Asked) -> Iterator[Taken]:
    """What becomes of the routines of a file, one instruction after another."""
    known = Known(analyse(image, target))
    cpus = [target.cpus[name] for name in tuned_for(target) if asked.cpu(name)]

    def taken(named: Named) -> list[Taken]:
        return [_taken(file, known, named, cpu) for cpu in cpus]

    wanted = [named for named in known.named.values() if asked.routine(named.contracts)]
    for some in workers.each(taken, wanted, asked.jobs, workers.Apart()):
        yield from some


def _taken(file: str, known: Known, named: Named, cpu: Cpu) -> Taken:
    name = "/".join(named.contracts)
    try:
        _, _, worth = next(Substitute().behaving(known, named, cpu))
    except CannotMove as reason:
        return Taken(file, cpu.name, name, str(reason))
    return weighed(file, cpu.name, name, worth)


def bundled(file: str, image: Image, target: Bundling, cpu: Cpu, asked: Asked) -> Iterator[Taken]:
    """The same where instructions stand in groups."""
    road = prepared(image, target, cpu, Options(passes=(Substitute.name,)))
    replaced, skips = road.routines.run()
    for one in replaced:
        names = one.candidate.named.contracts
        if asked.routine(names):
            yield weighed(file, cpu.name, "/".join(names), one.candidate.worth)
    for skip in skips:
        if asked.routine((skip.routine,)):
            yield Taken(file, cpu.name, skip.routine, skip.reason)


def tuned_for(target: Sequential) -> list[str]:
    """The CPUs that have a tuned routine for files of a target."""
    return [
        name
        for name, cpu in target.cpus.items()
        if target.baseline <= cpu.features
        and any(next(suited(target, contract, cpu), None) for contract in CONTRACTS)
    ]


def compare(file: str, asked: Asked) -> Iterator[Taken]:
    """What becomes of a file's routines on each CPU."""
    image = load(find(file))
    target = targets.of(image)
    if target.sequential is not None:
        yield from sequential(file, image, target.sequential, asked)
    elif target.bundling is not None:
        for name, cpu in target.cpus.items():
            if asked.cpu(name):
                yield from bundled(file, image, target.bundling, cpu, asked)


def summary(every: Sequence[Taken]) -> Iterator[str]:
    """For each CPU how many routines are put somewhere, which of them gains least, and how many the
    model refuses; and of all how many are slower somewhere."""
    for cpu in dict.fromkeys(one.cpu for one in every):
        own = [one for one in every if one.cpu == cpu]
        put = [one for one in own if not one.reason]
        refused = sum(one.refused for one in own)
        least = max(put, key=lambda one: one.calls, default=None)
        told = f"; at least {least.calls:.2f}: {least.name}, {least.file}" if least else ""
        yield f"{cpu}: {len(put)} put somewhere, {refused} refused by the model{told}"
    put = [one for one in every if not one.reason]
    slower = sum(bool(one.slower) for one in put)
    yield f"{len(put)} put somewhere, {slower} of them slower at some length"


def main(arguments: Sequence[str]) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--cpu", action="append", default=[])
    parser.add_argument("--routine", action="append", default=[])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    asked, every = Asked(options.cpu, options.routine, options.jobs), list[Taken]()
    print(_ROW.format("file", "cpu", "routine", "calls", "slower at"))
    for file in options.file or FILES:
        try:
            for taken in compare(file, asked):
                every.append(taken)
                if not taken.reason or (options.all and taken.refused):
                    print(taken.row, flush=True)
        except Missing as problem:
            print(f"{file}: {problem}", file=sys.stderr)
    print(*summary(every), sep="\n")
    return 1 if any(one.slower for one in every) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
