"""What a 21264 does in the time of a 21164 at the same clock: table 1 of the article of 2001.

    python benchmarks/generations.py [--old ev5] [--new ev6] [--machine up1000] [PROGRAM...]

The article has a 21264 twice as fast.  The same code runs on the models of both chips in one
machine, and so at one clock: what the libc executes first for programs of `fixtures/programs.py`,
once the caches know it, and what the Alpha kernel executes between programs while some are compiled
(as `system_time.py`, a smaller part), with one state of the caches.  Neither is retuned.  Printed
are cycles, and how many of the old chip go to one of the new.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import traced, traced_boot
from fixtures import building
from fixtures.inputs import Missing, find
from fixtures.trace import Recording, record
from targets.alpha.systems import SYSTEMS

ARTICLE = 2.0
PROGRAMS = ("bits", "options", "databases")
_FIRST = 200_000  # records of a program
_EVERY, _LENGTH = 1600, 5


def recordings(names: Sequence[str]) -> Iterator[tuple[str, Path, Recording, int]]:
    """(what it is, the file, what was executed, how often it is run until it counts)."""
    libc, kernel = find("alpha-libc"), find("alpha-vmlinux")
    for name in names:
        whole = record(name, libc, "ev5")
        yield f"libc, {name}", libc, replace(whole, records=whole.records[:_FIRST]), 2
    found = traced_boot.system_time(kernel, building.build(), _EVERY, _LENGTH, building.DONE)
    yield "kernel, system time of a build", kernel, found, 1


def table(old: str, new: str, machine: str, names: Sequence[str]) -> Iterator[str]:
    """A row for each recording, and the geometric mean of their ratios beside the article's."""
    yield f"both in a {machine}: {SYSTEMS[machine].clock.value} MHz"
    yield f"| code | instructions | {old} | {new} | ratio |"
    yield "|---|---:|---:|---:|---:|"
    ratios = list[float]()
    for what, path, recording, times in recordings(names):
        before, after = (
            traced.time(recording, path, cpu, SYSTEMS[machine], times)[-1].cycles
            for cpu in (old, new)
        )
        ratios.append(before / after)
        yield f"| {what} | {recording.executed:,} | {before:,} | {after:,} | {ratios[-1]:.2f} |"
    mean = prod(ratios) ** (1 / len(ratios))
    yield f"geometric mean {mean:.2f}; the article: {ARTICLE:.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be measured, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--old", default="ev5")
    parser.add_argument("--new", default="ev6")
    parser.add_argument("--machine", default="up1000", choices=sorted(SYSTEMS))
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    options = parser.parse_args(arguments)
    try:
        for line in table(options.old, options.new, options.machine, options.programs):
            print(line, flush=True)
    except (Missing, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
