"""What `prefetch` finds in 32-bit PowerPC libraries: loops, hints made, why others have none.

`.venv/bin/python benchmarks/ppc_prefetch.py [--cpu NAME]... [INPUT...]` writes each file with
`prefetch` and `align`, verified as `patch` does, and prints sites by kind with what became of them,
and of each hint the modelled cycles of a pass out of memory.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import targets
from fixtures.inputs import Missing, find
from rewriter.elf.image import load
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from targets.ppc.cpus import CPUS

INPUTS = ("ppc-libc", "ppc-libm", "ppc-libgomp")
CHIPS = ("750", "7450")
_PASS = "prefetch"


def lines(name: str, cpu: str) -> Iterator[str]:
    """What became of the sites of a file."""
    image = load(find(name))
    options = Options(passes=(_PASS, "align"))
    made = tune(image, targets.of(image), CPUS[cpu], options, lambda *_: None)
    edits = [edit for edit in made.edits if edit.technique == _PASS]
    skips = Counter(skip.reason for skip in made.skips if skip.technique == _PASS)
    yield f"{name} for {cpu}: {len(edits) + sum(skips.values())} sites, {len(edits)} hints"
    yield from (f"  {count:4} {reason}" for reason, count in skips.most_common())
    yield from (f"    {e.routine} at {e.address:#x}: {e.evidence.detail}" for e in edits)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="INPUT")
    parser.add_argument("--cpu", action="append", choices=("603e", "750", "7400", "7450"))
    options = parser.parse_args()
    try:
        for name in options.names or INPUTS:
            for cpu in options.cpu or CHIPS:
                for line in lines(name, cpu):
                    print(line, flush=True)
    except Missing as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
