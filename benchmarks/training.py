"""The profile of a libc's branches that comes with retune for `layout`, counted anew.

    python benchmarks/training.py [--library ppc64el-libc] [--cpu power9]...

Runs the programs of `fixtures/programs/ordinary.c` on each CPU, counts which way the branches of
the libc go, and writes `rewriter/identify/profiles/known/HASH-branches.txt`.  No figure is measured
with one of these programs.  Each run counts as much as another.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.layout import counted_with, known_branches
from fixtures import programs
from fixtures.inputs import Missing, find
from rewriter.elf.image import load
from rewriter.identify.profiles.directions import Directions, alike, merged


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be counted, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--library", default="ppc64el-libc")
    parser.add_argument("--cpu", action="append", default=[])
    options = parser.parse_args(arguments)
    try:
        path = find(options.library)
        profile = made(path, options.library, options.cpu or ["power9"])
    except Missing as missing:
        print(f"not counted: {missing}", file=sys.stderr)
        return 1
    known_branches(load(path)).write_text(profile.written(), encoding="ascii")
    return 0


def made(path: Path, library: str, cpus: Sequence[str]) -> Directions:
    """The profile of a library from all programs on some CPUs."""
    counted = (one for cpu in cpus for one in counted_with(path, [*programs.ORDINARY], cpu))
    whole = merged(alike(counted))
    how = " ".join(("--library", library, *(f"--cpu {cpu}" for cpu in cpus)))
    notes = (
        f"{path.name} of Debian's cross libraries, made by benchmarks/training.py {how}",
        "from these programs of fixtures/programs.py, each run counting as much as another:",
        " ".join(programs.ORDINARY),
    )
    return Directions(whole.text, whole.counts, notes)


if __name__ == "__main__":
    sys.exit(main())
