"""How strong trials are: one-bit mutants of the real Alpha libc's routines, killed and surviving.

    python benchmarks/trial_strength.py [--sample N] [ROUTINE...]

Every mutant of a routine is run on all cases of its contract (with `--sample`, N mutants of each,
drawn at random, the same ones every time).  A survivor is, in this order: of a nop; in the
hint of a jump; in an instruction that no case reaches; in bits that the instruction does not
have; in an instruction whose result no case needs; an instruction that does the same; not found.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from fixtures.inputs import Missing, find, tool
from rewriter.contracts import CONTRACTS
from rewriter.elf.image import Image, load
from rewriter.verify.trials.engines.sweep import Sweep
from rewriter.verify.trials.image import code_of, function_named
from targets.alpha import Alpha
from targets.alpha.trial_program import AlphaTrials
from tests.support.trial_mutants import Fate, Mutants, Strength

ROUTINES = (
    *("strlen", "strchr", "strrchr", "strcmp", "strncmp", "strcat", "rawmemchr"),
    *("memcpy", "memset", "memmove", "memchr", "memcmp", "ffsll"),
)
BASE = 0x300000000
PATIENCE = 60  # seconds for the cases of one mutant: some are system calls that wait
GP = 0x209688  # what every function of that libc makes $29
FATES = tuple(Fate)


def strength(image: Image, name: str, sample: int | None) -> Strength:
    """The mutants of one routine."""
    found = function_named(image, name)
    if found is None:
        raise Missing(name, "the libc has no such symbol")
    address, size = found
    target, contract = AlphaTrials(), CONTRACTS[name]
    code = code_of(image, name, address, BASE, Alpha().relocated, GP)
    with Sweep(target.program(contract.linkage), timeout=PATIENCE) as engine:
        return Mutants(code, (BASE + address, size), contract, target, engine).strength(sample)


def line(result: Strength) -> str:
    """One row of the table."""
    counts = "".join(f"{result.fates[fate]:>13}" for fate in FATES)
    share = result.fates[Fate.KILLED] / result.mutants
    return f"{result.routine:10}{result.mutants:>8}{share:>7.1%}{counts}"


def main(arguments: Sequence[str]) -> int:
    """Prints a row for each routine, then what was not found; status 1 when an input is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", type=int, metavar="N", help="so many mutants of each routine")
    parser.add_argument("routines", nargs="*", metavar="ROUTINE", default=ROUTINES)
    options = parser.parse_args(arguments)
    try:
        tool("qemu-alpha")
        image = load(find("alpha-libc"))
        print(f"{'routine':10}{'mutants':>8}{'':7}" + "".join(f"{f.value:>13}" for f in FATES))
        results = []
        for name in options.routines:
            results.append(strength(image, name, options.sample))
            print(line(results[-1]), flush=True)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 1
    print("\nnot found:")
    for result in results:
        for text in result.not_found:
            print(f"  {result.routine} {text}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
