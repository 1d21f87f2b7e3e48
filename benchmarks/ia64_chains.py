"""The longest chains of dependences in the superblocks of real IA-64 files, by their cycles.

`.venv/bin/python benchmarks/ia64_chains.py [NAME...]` prints, for the two libraries if none is
named, the chains on which most cycles are spent: how many superblocks each decides, what these
take as they are on the Itanium 2's model, and that in parts of all cycles.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.ia64_bounds import chain
from benchmarks.ia64_superblocks import superblocks
from fixtures.inputs import Missing
from passes.scheduling.bundled_model import Model
from rewriter.core.code.superblock import Superblock
from targets.ia64.cpus import CPUS
from targets.ia64.schedule.bundler import Scheduling

_SHOWN = 12


def measure(name: str) -> None:
    """Prints the chains of a file."""
    scheduling = Scheduling(Model(CPUS["itanium2"]))
    regions: Counter[str] = Counter()
    cycles: Counter[str] = Counter()
    for slots in superblocks(name):
        names = " ".join(chain(Superblock(slots), scheduling))
        regions[names] += 1
        cycles[names] += scheduling.cycles(slots)
    total = cycles.total()
    print(f"{name}: {regions.total()} superblocks, {total} cycles")
    for names, spent in cycles.most_common(_SHOWN):
        share = 100 * spent / total
        print(f"  {regions[names]:5}  {spent:6} cycles  {share:4.1f} %  {names or 'none'}")


def main() -> None:
    """All files."""
    for name in sys.argv[1:] or ("ia64-libsigar", "ia64-libjnidispatch"):
        try:
            measure(name)
        except Missing as missing:
            print(missing)


if __name__ == "__main__":
    main()
