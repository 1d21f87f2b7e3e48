"""Hostile inputs: small real files, damaged where their structure says what is where.

    python scripts/fuzz_inputs.py [N] [--seed S] [--kinds A,B] [--jobs J] [--keep DIR]

N counts cases; each is one command that reads one damaged file.  None may end in a traceback, with
a status that is not documented or with more than one line on standard error, take more than its
share of time or memory, leave a file behind, or verify what loads something else.  Progress goes
to stderr, a table of the kinds to stdout.  Exit status 1 when something is wrong: the smallest
case is then kept with its command.  The same seed gives the same cases.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures.hostile.campaign import Chunk, Tally, campaign, chunks, report
from fixtures.hostile.kinds import BY_NAME
from fixtures.hostile.running import STATUSES
from fixtures.inputs import Missing, cache_dir


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when nothing is wrong, 1 when something is, 2 when a tool is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=100_000, help="cases to run")
    parser.add_argument("--seed", type=int, default=1, help="another gives other cases")
    parser.add_argument("--kinds", default="", help="only these, with commas between")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=cache_dir() / "hostile")
    parser.add_argument("--chunk", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.chunk:
        report(Chunk(*json.loads(options.chunk)))
        return 0
    kinds = tuple(filter(None, options.kinds.split(",")))
    unknown = [name for name in kinds if name not in BY_NAME]
    if unknown:
        parser.error(f"no kind {unknown[0]!r}; known: {', '.join(BY_NAME)}")
    try:
        for name in kinds or BY_NAME:
            BY_NAME[name].cases.validate()
    except Missing as missing:
        print(f"not run: {missing}", file=sys.stderr)
        return 2
    begun = time.monotonic()
    chosen = list(chunks(options.count, options.seed * 10_000, kinds))
    tallies = campaign(chosen, options.jobs, options.keep, _said)
    print("\n".join(_lines(tallies)))
    cases = sum(tally.cases for tally in tallies.values())
    print(f"{cases} cases in {time.monotonic() - begun:.0f} s")
    bad = any(tally.problems for tally in tallies.values())
    if bad:
        print(f"the smallest cases: {options.keep}")
    return 1 if bad else 0


def _said(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _lines(tallies: Mapping[str, Tally]) -> list[str]:
    """A line a kind: cases, statuses, problems by sort, CPU seconds of the slowest case."""
    sorts = ("traceback", "standard error", "hangs", "left behind", "verified", "other")
    wide = max(map(len, tallies), default=0)
    statuses = "".join(f"{f'status {status}':>10}" for status in sorted(STATUSES))
    found = [f"{'kind':{wide}}  {'cases':>7}{statuses}  " + "  ".join(sorts) + "  slowest"]
    for name, tally in tallies.items():
        counts = dict.fromkeys(sorts, 0)
        for problem, times in tally.problems.items():
            sort = next((one for one in sorts if one in problem.split(":")[0]), "other")
            counts[sort] += times
        ended = "".join(f"{tally.statuses[status]:>10}" for status in sorted(STATUSES))
        wrong = "  ".join(f"{counts[sort]:>{len(sort)}}" for sort in sorts)
        found.append(f"{name:{wide}}  {tally.cases:>7}{ended}  {wrong}  {tally.slowest:5.2f} s")
        found += [f"  {times} x {problem}" for problem, times in tally.problems.most_common()]
    return found


if __name__ == "__main__":
    raise SystemExit(main())
