"""What `patch` expects of the Alpha libc, and what programs execute in it, fewer or more.

    python benchmarks/expected.py [PROGRAM...]

The libc is retuned for EV67 with all passes that are weighed (`rewriter/report/summary/expected`).
Then each program runs on the original and on the retuned file under our plugin `fixtures/icount.c`,
which counts instructions inside the library.  Printed are the expectation, without a profile, and
each program's figure, both in per cent fewer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures import programs
from fixtures.inputs import Missing, find
from rewriter.api.choose import Wanted
from rewriter.api.files import load
from rewriter.api.patch import patch
from rewriter.api.progress import quiet

CPU, PASSES = "ev67", "bytes,bitscan,combine,dead,cmov,sink,align"
PROGRAMS = ("bench-string", "bench-stdio", "bench-sort", "bench-number", "regex", "iconv")


def report(names: Sequence[str]) -> Iterator[str]:
    """The expectation, and a line for each program."""
    libc = find("alpha-libc")
    patched = patch(load(libc), Wanted(cpu=CPU, passes=PASSES), quiet, jobs=2)
    yield f"expected: {patched.report.expected}"
    with tempfile.TemporaryDirectory() as folder:
        tuned = Path(folder) / libc.name
        tuned.write_bytes(patched.data())
        for name in names:
            before, after = (programs.count(name, path, CPU).libc for path in (libc, tuned))
            yield f"{name}: {100 * (1 - after / before):.1f} % fewer"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0, or 1 where something is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    options = parser.parse_args(arguments)
    try:
        for line in report(options.programs or PROGRAMS):
            print(line, flush=True)
    except Missing as missing:
        print(f"not run: {missing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
