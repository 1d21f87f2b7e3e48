"""Random programs of idioms, compiled for three PowerPC ABIs, retuned, and run before and after.

    python benchmarks/ppc_random.py [--number 2000] [--seed NAME] [--passes all] [--cpu NAME]
                                    [--idioms all]

`--number` functions are drawn (`tests/support/ppc_programs.py`), in files of 50 that are compiled
at levels that are drawn too, for each ABI and CPU in turn, or for one CPU: each is called with 265
pairs of numbers from the edges and of all sizes.  The table says how many print the same, and how
many edits each pass made in them; `--jobs` files are made at once.  Exit status 1 where one prints
something else.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures.inputs import Missing
from tests.support.ppc_programs import IDIOMS, LEVELS, SETTINGS, Compared, Setting, compared, text

FUNCTIONS = 50  # of a program
_ROW = "{:8} {:8} {:>9} {:>9} {:>9}  {}"


def drawn(
    seed: str, idioms: str, settings: Sequence[Setting], files: int, passes: str, jobs: int
) -> Iterator[tuple[Setting, int, Compared]]:
    """So many files, in order."""

    def one(what: tuple[int, Setting]) -> tuple[Setting, int, Compared]:
        number, setting = what
        source, level = (
            text(seed, number, FUNCTIONS, idioms),
            Random(f"{seed} {number}").choice(LEVELS),
        )
        with tempfile.TemporaryDirectory() as folder:
            return setting, number, compared(setting, source, level, Path(folder), passes)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(one, islice(enumerate(cycle(settings)), files))


def main() -> int:
    """Exit status 0 where every function prints the same."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--number", type=int, default=2000, help="functions")
    parser.add_argument("--seed", default="random")
    parser.add_argument("--passes", default="all")
    parser.add_argument("--idioms", choices=IDIOMS, default="all")
    parser.add_argument("--cpu", choices=sorted({setting.cpu for setting in SETTINGS}))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    settings = [one for one in SETTINGS if options.cpu in (None, one.cpu)]
    total, same = Counter[Setting](), Counter[Setting]()
    edits = {setting: Counter[str]() for setting in settings}
    try:
        files = -(-options.number // FUNCTIONS)
        made = drawn(options.seed, options.idioms, settings, files, options.passes, options.jobs)
        for setting, number, found in made:
            total[setting] += FUNCTIONS
            same[setting] += FUNCTIONS - len(found.different)
            edits[setting] += found.edits
            for function in found.different:
                print(f"{setting}: file {number}, function {function} prints something else")
    except Missing as missing:
        print(f"not run: {missing}", file=sys.stderr)
        return 1
    print(_ROW.format("ABI", "CPU", "functions", "same", "different", "edits"))
    for setting in settings:
        by_pass = ", ".join(f"{name} {count}" for name, count in edits[setting].most_common())
        counts = total[setting], same[setting], total[setting] - same[setting]
        print(_ROW.format(setting.abi, setting.cpu, *counts, by_pass))
    return 0 if same == total else 1


if __name__ == "__main__":
    sys.exit(main())
