"""Random programs of branches by random profiles: their blocks change places, and they do the same.

    python benchmarks/random_orders.py [--number 1000] [--functions 10] [--seed NAME]

So many programs, of so many functions each, are drawn for each machine in turn
(`tests/support/branching_programs.py`), compiled at levels that are drawn too, retuned by all
passes with a profile that nobody counted, verified, and run before and after.  Exit status 1 where
one is refused or a function prints something else.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures.inputs import Missing
from tests.support.branching_programs import SETTINGS, Compared, compared

_ROW = "{:8} {:>8} {:>9} {:>9} {:>9} {:>9}"
HEAD = ("machine", "programs", "functions", "ordered", "refused", "different")


def row(machine: str, counts: Counter[str]) -> str:
    """What became of the programs of a machine."""
    return _ROW.format(machine, *(counts[name] for name in HEAD[1:]))


def counted(found: Compared) -> Counter[str]:
    """One program."""
    return Counter(
        programs=1,
        functions=len(found.before),
        ordered=found.ordered,
        refused=not found.verified,
        different=len(found.different),
    )


def main() -> int:
    """Exit status 0 where every function prints the same."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--number", type=int, default=1000, help="programs")
    parser.add_argument("--functions", type=int, default=10, help="of each")
    parser.add_argument("--seed", default="orders")
    options = parser.parse_args()
    total = {machine: Counter[str]() for machine in SETTINGS}
    try:
        for number in range(options.number):
            machine = [*SETTINGS][number % len(SETTINGS)]
            with tempfile.TemporaryDirectory() as folder:
                found = compared(machine, options.seed, number, options.functions, Path(folder))
            total[machine] += counted(found)
            if found.different or not found.verified:
                print(f"{machine}: program {number}, functions {found.different}", flush=True)
    except Missing as missing:
        print(f"not run: {missing}", file=sys.stderr)
        return 1
    print(_ROW.format(*HEAD))
    for machine, counts in total.items():
        print(row(machine, counts))
    return int(any(c["refused"] or c["different"] for c in total.values()))


if __name__ == "__main__":
    sys.exit(main())
