"""At which byte comparisons of programs end: `passes/substitution/worth.py` weighs calls by it.

    python benchmarks/comparisons.py [PROGRAM...]

Every call of strcmp by programs of `fixtures.programs` on Debian's Alpha libc, its own calls
included, is recorded; the routine there takes a byte of both strings at a time, with two loads.
Printed: calls of each program, and which part of them in a hundred ends at the first byte, at the
second, and so on; last the mean over the programs, each counting as much as another.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures.inputs import find
from fixtures.trace import INSIDE, NO_ACCESS, Recording, record
from rewriter.elf.image import load

PROGRAMS = ("sort", "options", "iconv", "databases", "stdio", "locale", "network", "bench-sort")
_ROUTINE = "strcmp"


def ends(recording: Recording, start: int, end: int) -> Counter[int]:
    """By the number of the byte, counted from 0, how many calls of [start, end) end there."""
    records = recording.records
    places = records["place"]
    inside = (records["kind"] == INSIDE) & (places >= start) & (places < end)
    begins = np.flatnonzero(inside & ~np.r_[False, inside[:-1]])
    loads = np.r_[0, np.cumsum(inside & (records["access"] != NO_ACCESS))]
    stops = np.flatnonzero(inside & ~np.r_[inside[1:], False]) + 1
    return Counter(((loads[stops] - loads[begins]) // 2 - 1).tolist())


def main(programs: Sequence[str]) -> int:
    """Prints the table."""
    library = find("alpha-libc")
    (routine,) = {
        (s.st_value, s.st_value + s.st_size)
        for s in load(library).symbols
        if s.name == _ROUTINE and s.st_value
    }
    every = list[Counter[int]]()
    for program in programs or PROGRAMS:
        found = ends(record(program, library), *routine)
        print(f"{program}: {found.total()} calls; {_told(_parts(found))}")
        every += [found] if found else []
    parts = list(map(_parts, every))
    mean = {at: sum(one.get(at, 0) for one in parts) / len(parts) for at in set().union(*parts)}
    print(f"mean of {len(parts)} programs: {_told(mean)}")
    return 0


def _parts(found: Counter[int]) -> dict[int, float]:
    """In a hundred."""
    return {at: 100 * often / found.total() for at, often in found.items()}


def _told(parts: Mapping[int, float]) -> str:
    """Those that are half a hundredth at least."""
    return ", ".join(f"{at}: {part:.0f}" for at, part in sorted(parts.items()) if part >= 0.5)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
