"""Random programs, built, retuned, and run before and after under qemu-alpha.

    python scripts/fuzz_programs.py [N] [--seed S] [--start K] [--shapes A,B] [--keep DIR]
    python scripts/fuzz_programs.py --reduce S/K

N counts shapes, some eight of which make a program; for 20 of them a program of csmith is run, and
a library of random functions for IA-64, on the machine that runs it by instruction group.
Progress goes to stderr, tables of what became of the shapes to stdout.  Exit status 1 when a
retuned program does something else, verify does not accept it, or the product dies.  A program is
known by its seed and number: the same ones give the same one again, and `--reduce` drops whatever
its failure does not need.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures.fuzz import csmith
from fixtures.fuzz.campaign import IA64, OWN, Campaign
from fixtures.fuzz.outcome import Fate, Outcome
from fixtures.fuzz.program import PIECES
from fixtures.fuzz.reduce import reduced, told
from fixtures.fuzz.shapes import BY_NAME
from fixtures.fuzz.table import lines
from fixtures.inputs import Missing, find_headers, tool

CSMITH = 20
"""Shapes of ours for each program of csmith, which is some 20 times as long."""

LIBRARY = 20
"""Shapes of ours for each library of random functions for IA-64."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when nothing is wrong, 1 when something is, 2 when a tool is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=500, help="shapes to run")
    parser.add_argument("--seed", default="programs")
    parser.add_argument("--csmith", type=int, help="programs of csmith; default: N / 20")
    parser.add_argument("--ia64", type=int, help="libraries for IA-64; default: N / 20")
    parser.add_argument("--start", type=int, default=0, help="the first program's number")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--shapes", default="", help="only these, with commas between")
    parser.add_argument("--keep", type=Path, help="a folder for what fails")
    parser.add_argument("--reduce", metavar="S/K", help="a failing program made small")
    options = parser.parse_args(arguments)
    shapes = tuple(filter(None, options.shapes.split(",")))
    unknown = [name for name in shapes if name not in BY_NAME]
    if unknown:
        parser.error(f"no shape {unknown[0]!r}; known: {', '.join(sorted(BY_NAME))}")
    try:
        for name in ("alpha-linux-gnu-gcc", "alpha-linux-gnu-g++", "qemu-alpha", "csmith"):
            tool(name)
        for name in ("ia64-linux-gnu-as", "ia64-linux-gnu-ld"):
            tool(name)
        for name in ("alpha-linux-headers", "csmith-headers"):
            find_headers(name)
    except Missing as missing:
        print(f"not run: {missing}", file=sys.stderr)
        return 2
    if options.reduce:
        return _reduce(options.reduce, shapes)
    own = Campaign(options.seed, shapes, keep=options.keep)
    others = Campaign(options.seed, generator=csmith.NAME, keep=options.keep)
    foreign = options.count // CSMITH if options.csmith is None else options.csmith
    grouped = Campaign(options.seed, generator=IA64, keep=options.keep)
    libraries = options.count // LIBRARY if options.ia64 is None else options.ia64
    outcomes: list[Outcome] = []
    runs = ((own, -(-options.count // PIECES)), (others, foreign), (grouped, libraries))
    for campaign, count in runs:
        numbers = range(options.start, options.start + count)
        outcomes += _watched(campaign.run(numbers, options.jobs), len(numbers))
    outcomes.sort(key=lambda one: (one.name.rpartition("/")[0], int(one.name.rpartition("/")[2])))
    print("\n".join(lines(outcomes)))
    return 1 if any(one.is_bad for one in outcomes) else 0


def _reduce(name: str, shapes: Sequence[str]) -> int:
    """Prints the failing program `seed/number` made small; 0 if it does not fail."""
    seed, _, number = name.rpartition("/")
    foreign, _, of = seed.rpartition(":")
    campaign = Campaign(of, tuple(shapes), foreign or OWN)
    found = reduced(campaign.program(int(number)))
    print("\n".join(told(found)) if found is not None else f"{name} does not fail")
    return 0 if found is None else 1


def _watched(outcomes: Iterable[Outcome], count: int) -> Iterator[Outcome]:
    """The same outcomes, with a line on stderr now and then, and one for each failure."""
    begun, shown, cases = time.monotonic(), 0.0, 0
    for done, outcome in enumerate(outcomes, 1):
        cases += len(outcome.fates)
        for number in outcome.bad():
            what = f"{outcome.name}: {outcome.shapes[number]} {outcome.fates[number].value}"
            print(what, file=sys.stderr, flush=True)
        if Fate.BROKEN in outcome.fates.values():
            print(f"{outcome.name}: broken: {outcome.detail}", file=sys.stderr, flush=True)
        spent = time.monotonic() - begun
        if spent - shown > 10 or done == count:
            shown = spent
            rate = cases / spent
            print(f"{done} of {count} programs, {rate:.1f} shapes/s", file=sys.stderr, flush=True)
        yield outcome


if __name__ == "__main__":
    raise SystemExit(main())
