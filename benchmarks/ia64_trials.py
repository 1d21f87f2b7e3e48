"""Every region that the road reorders in real IA-64 files, proved and run beside the original.

`.venv/bin/python benchmarks/ia64_trials.py [--states N] [--funcs RE] [NAME...]` tunes the inputs
(the two libraries if none is named), compares the bytes before and after as `verify` does, and
runs both sides of each region that changed on the group-parallel machine, from N random states
(registers, NaT bits, memory).  Prints how many regions and states that were, and each difference.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

import targets
from fixtures.inputs import Missing, find
from passes import offered
from rewriter.elf.image import load
from rewriter.road.bundled.road import BundledRoad, prepared
from rewriter.road.options import Options
from rewriter.verify.regions.check import verify
from tests.verification.regions.region_trials import TrialRegions


def measure(name: str, states: int, funcs: tuple[str, ...]) -> bool:
    """One input; whether nothing was found."""
    image = load(find(name))
    target = targets.of(image).bundling
    assert target is not None, f"{name} is of another kind"
    options = Options(passes=offered(target), funcs=funcs)
    road = BundledRoad(prepared(image, target, target.cpus["itanium2"], options))
    new = replace(image, data=road.run(road.functions, lambda *progress: None))
    prover, start = TrialRegions(target.proving, states), time.process_time()
    verdict = verify(road.prepared.known, new, lambda *progress: None, prover=prover)
    spent, tried = time.process_time() - start, prover.tried
    print(
        f"{name}: {tried.regions} regions proved and tried from {tried.states} states, "
        f"{tried.silent} without a state that says anything; {spent:.0f} s of processor"
    )
    for found in (*verdict.findings, *tried.differences):
        print(f"  {found}")
    print(f"  differences: {len(tried.differences)}", flush=True)
    return verdict.ok and not tried.differences


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", default=["ia64-libsigar", "ia64-libjnidispatch"])
    parser.add_argument("--states", type=int, default=8)
    parser.add_argument("--funcs", action="append", default=[], metavar="RE")
    options = parser.parse_args()
    try:
        found = [measure(n, options.states, tuple(options.funcs)) for n in options.names]
    except Missing as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0 if all(found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
