"""Every ELF file of the PowerPC cross packages: left as it is, retuned, verified, taken back.

    python benchmarks/ppc_files.py [--jobs 2] [--cpu ABI=NAME ...] [INPUT...]

A file patched with no pass must be the same bytes.  Retuned with all passes (32-bit files for the
7450, big-endian ones for the 970, little-endian ones for POWER9, unless said otherwise) `verify`
must accept it and `revert` give back the same bytes.  The exit status is 1 if one of this fails.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.whole_programs import retuned
from fixtures import powerpc
from fixtures.inputs import Missing, find
from rewriter.api import facade
from rewriter.elf import manifest

CPUS = {"ppc": "7450", "ppc64": "970", "ppc64el": "power9"}


@dataclass(frozen=True)
class Found:
    """What one file came to; `edits` of none where nothing was to do."""

    name: str
    null: bool
    edits: int
    accepted: bool
    taken_back: bool

    @property
    def ok(self) -> bool:
        """Whether all of it is as it must be."""
        return self.null and self.accepted and self.taken_back


def tried(name: str, cpus: dict[str, str]) -> Found:
    """One file."""
    path, cpu = find(name), cpus[name.partition("-")[0]]
    original = path.read_bytes()
    unpatched = facade.patch(path, cpu, passes=()).data()
    new = retuned(path, cpu)
    if new.read_bytes() == original:
        return Found(name, unpatched == original, 0, accepted=True, taken_back=True)
    comparison = facade.verify(path, new)
    taken_back = facade.revert(new) == original
    record = manifest.read(new.read_bytes())
    edits = len(record.edits) if record else 0
    return Found(name, unpatched == original, edits, comparison.ok, taken_back)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cpu", action="append", default=[], metavar="ABI=NAME")
    every = [name for abi in powerpc.ABIS for name in powerpc.names(abi)]
    parser.add_argument("inputs", nargs="*", default=every)
    options = parser.parse_args()
    cpus = CPUS | dict(word.split("=", 1) for word in options.cpu)
    sums: dict[str, Counter[str]] = {abi: Counter() for abi in powerpc.ABIS}
    wrong = 0
    try:
        with ProcessPoolExecutor(options.jobs, max_tasks_per_child=1) as pool:
            for found in pool.map(partial(tried, cpus=cpus), options.inputs):
                count = sums[found.name.partition("-")[0]]
                count.update(files=1, null=found.null, edits=found.edits, retuned=found.edits > 0)
                count.update(accepted=found.edits > 0 and found.accepted)
                count.update(reverted=found.edits > 0 and found.taken_back)
                wrong += not found.ok
                if not found.ok:
                    print(found, flush=True)
    except Missing as missing:
        print(missing)
        return 1
    print("| ABI | CPU | files | the same with no pass | retuned | edits | verified | taken back |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for abi, count in sums.items():
        kinds = ("files", "null", "retuned", "edits", "accepted", "reverted")
        print(f"| {abi} | {cpus[abi]} | {' | '.join(f'{count[kind]:,}' for kind in kinds)} |")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
