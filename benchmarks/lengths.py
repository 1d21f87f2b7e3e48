"""Whether any routine that `substitute` puts anywhere is slower at some length, by its model.

    python benchmarks/lengths.py [--file NAME]... [--cpu NAME]... [--routine NAME]... [--all]

For each file and each CPU of `retune cpus` that has tuned routines for it, each routine that
`substitute` takes there is timed beside the one that it replaces: at 0 to 32 bytes and at lengths
from 64 to 4,096, the sum over alignments of each (`passes/substitution/worth.py`).  A line a
routine: ours in parts of the original's cycles in the calls that programs make most, and at all
lengths together, then the lengths at which ours takes more.  `--all` also prints those that the
model refuses, with the reason.  Exit status 1 if a routine that is put somewhere takes more at any
length.
"""

from __future__ import annotations

import argparse
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
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import CannotMove, Sequential, suited
from rewriter.elf.image import Image, load
from rewriter.road.bundled.road import prepared
from rewriter.road.options import Options
from rewriter.verify.routines.replaceable import Known

FILES = (
    "alpha-libc",
    "alpha-vmlinux",
    "ppc-libc",
    "ppc64-libc",
    "ppc64el-libc",
    "ia64-libc",
    "ia64-vmlinux",
)
LONG = (64, 96, 128, 200, 256, 360, 512, 552, 768, 1024, 1500, 2048, 4096)
_ROW = "{:14} {:9} {:12} {:>6} {:>6}  {}"


@dataclass(frozen=True)
class Taken:
    """A routine that replaces another, or why none does."""

    name: str
    worth: Worth | str


def sequential(known: Known, cpu: Cpu, wanted: Collection[str]) -> Iterator[Taken]:
    """What becomes of the routines of a file, one instruction after another."""
    for named in known.named.values():
        if wanted and not set(wanted) & set(named.contracts):
            continue
        name = "/".join(named.contracts)
        try:
            _, _, worth = next(Substitute().behaving(known, named, cpu))
        except CannotMove as reason:
            yield Taken(name, str(reason))
        else:
            yield Taken(name, worth)


def bundled(image: Image, target: Bundling, cpu: Cpu, wanted: Collection[str]) -> Iterator[Taken]:
    """The same where instructions stand in groups."""
    road = prepared(image, target, cpu, Options(passes=(Substitute.name,)))
    replaced, skips = road.routines.run()
    for one in replaced:
        names = one.candidate.named.contracts
        if not wanted or set(wanted) & set(names):
            yield Taken("/".join(names), one.candidate.worth)
    for skip in skips:
        if not wanted or skip.routine in wanted:
            yield Taken(skip.routine, skip.reason)


def tuned_for(target: Sequential) -> list[str]:
    """The CPUs that have a tuned routine for files of a target."""
    return [
        name
        for name, cpu in target.cpus.items()
        if target.baseline <= cpu.features
        and any(next(suited(target, contract, cpu), None) for contract in CONTRACTS)
    ]


def row(file: str, cpu: str, taken: Taken, everything: bool) -> tuple[str, bool]:
    """A line, or nothing, and whether it says that ours is slower somewhere."""
    worth = taken.worth
    if isinstance(worth, str):
        said = worth.startswith("model: ") and everything
        return (_ROW.format(file, cpu, taken.name, "-", "-", worth) if said else "", False)
    every = list(worth.lengths(LONG))
    slower = [f"{one.size} ({one.new / one.old:.2f})" for one in every if one.new > one.old]
    old, new = sum(one.old for one in every), sum(one.new for one in every)
    mean = f"{new / old:.2f}" if old else "-"
    told = ", ".join(slower) or "none" if every else "has no lengths"
    line = _ROW.format(file, cpu, taken.name, f"{worth.new / worth.old:.2f}", mean, told)
    return line, bool(slower)


def compare(
    file: str, cpus: Collection[str], wanted: Collection[str]
) -> Iterator[tuple[str, Taken]]:
    """What becomes of a file's routines on each CPU."""
    image = load(find(file))
    target = targets.of(image)
    code = target.sequential
    if code is not None:
        known = Known(analyse(image, code))
        for name in tuned_for(code):
            for taken in sequential(known, code.cpus[name], wanted) if _asked(name, cpus) else ():
                yield name, taken
    elif target.bundling is not None:
        for name, cpu in target.cpus.items():
            for taken in bundled(image, target.bundling, cpu, wanted) if _asked(name, cpus) else ():
                yield name, taken


def _asked(name: str, cpus: Collection[str]) -> bool:
    """Whether a CPU is one of those that are asked for; all are where none is named."""
    return not cpus or name in cpus


def main(arguments: Sequence[str]) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--cpu", action="append", default=[])
    parser.add_argument("--routine", action="append", default=[])
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args(arguments)
    lost, count = 0, 0
    print(_ROW.format("file", "cpu", "routine", "calls", "all", "slower at"))
    for file in options.file or FILES:
        try:
            for cpu, taken in compare(file, options.cpu, options.routine):
                line, slower = row(file, cpu, taken, options.all)
                lost, count = lost + slower, count + (not isinstance(taken.worth, str))
                if line:
                    print(line, flush=True)
        except Missing as problem:
            print(f"{file}: {problem}", file=sys.stderr)
    print(f"{count} put somewhere, {lost} of them slower at some length")
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
