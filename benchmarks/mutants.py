"""Mutants of real files: changes in one place, of any instruction, and what `verify` says of each.

`--number N` mutants are shared out over the files; which mutant is which follows from its file, the
seed and its number, and `--one FILE NUMBER` makes one again and says what the verifier found.
With `--passes LIST` all are drawn where edits of these passes are, as many for each pass; with
`--ordered` they change the order in which a profile put blocks.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures import inputs
from rewriter.core.run.workers import Apart, each
from tests.support.mutants import mutants
from tests.support.mutants.changes import Outcome
from tests.support.mutants.table import page, page_of_order, table
from tests.support.mutants.tuned import ordered, tuned

CPUS = {
    "alpha-libc": "ev67", "alpha-libm": "ev67", "alpha-vmlinux": "ev67", "ia64-libc": "itanium2",
    "ppc-libc": "7450", "ppc64-libc": "970", "ppc64el-libc": "power9",
}  # fmt: skip
SEED = 17


ORDERED = tuple(name for name in CPUS if name.endswith(("libc", "libm")) and "ia64" not in name)
"""Of code in bundles blocks keep their order; a kernel's profile is that of a boot."""


def of_order(name: str) -> mutants.Mutants:
    """The mutants of an input whose blocks stand in the order of a profile."""
    return mutants.of_order(name, str(inputs.find(name)), str(ordered(name, CPUS[name])))


def of(name: str, passes: Sequence[str], given: Path | None) -> mutants.Mutants:
    """The mutants of an input, and of what it became, which may be `given`.

    Of the original alone where nothing is and no CPU is named for it, as of PowerPC's kernels,
    which take minutes to tune.
    """
    grown = str(given or (tuned(name, CPUS[name]) if name in CPUS else ""))
    if passes:
        return mutants.at_edits(name, str(inputs.find(name)), grown, passes)
    return mutants.of(name, str(inputs.find(name)), grown)


def tried(
    name: str, made: mutants.Mutants, seed: int, numbers: range, jobs: int, out: list[Outcome]
) -> None:
    """Tries some mutants of a file and prints those that nothing explains."""
    started = time.monotonic()
    for outcome in each(lambda n: made.outcome(seed, n), numbers, jobs, Apart()):
        out.append(outcome)
        if outcome.what == "UNEXPLAINED":
            print(outcome, flush=True)
    print(f"{name}: {len(numbers)} mutants in {time.monotonic() - started:.0f} s", file=sys.stderr)


def one(made: mutants.Mutants, seed: int, number: int) -> None:
    """Prints what becomes of one mutant."""
    outcome = made.outcome(seed, number)
    print(outcome)
    print(f"{outcome.what}: {outcome.finding or outcome.reason or 'accepted'}")


def main() -> None:
    """Mutants of all files, or one again."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--number", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", type=Path, help="put the table into a page")
    parser.add_argument("--passes", type=lambda names: names.split(","), default=())
    parser.add_argument("--ordered", action="store_true", help="of blocks in another order")
    parser.add_argument("--tuned", type=Path, help="what the file became; else it is tuned here")
    parser.add_argument("--one", nargs=2, metavar=("FILE", "NUMBER"))
    chosen = parser.parse_args()
    make = of_order if chosen.ordered else partial(of, passes=chosen.passes, given=chosen.tuned)
    if chosen.one:
        one(make(chosen.one[0]), chosen.seed, int(chosen.one[1]))
        return
    outcomes, names = list[Outcome](), chosen.files or (ORDERED if chosen.ordered else [*CPUS])
    for name in names:
        numbers = range(chosen.number // len(names))
        tried(name, make(name), chosen.seed, numbers, chosen.processes, outcomes)
    print(table(outcomes))
    if chosen.write:
        written = page_of_order if chosen.ordered else page
        chosen.write.write_text(written(outcomes, chosen.seed), encoding="utf-8")
    sys.exit(any(outcome.what == "UNEXPLAINED" for outcome in outcomes))


if __name__ == "__main__":
    main()
