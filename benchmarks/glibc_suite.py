"""glibc's own test programs on the retuned libc, and how fast a broken edit of it is found.

    python benchmarks/glibc_suite.py [--cpu ev67] [--jobs 2]

Compiles the tests of `fixtures/glibc_tests.py` once, runs them with the original and with the
retuned library under qemu-user, prints a line for each folder of the source, then breaks single
edits of the library and prints how many runs of a command `retune bisect` takes to find them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.whole_programs import retuned
from fixtures import glibc_tests, programs
from fixtures.broken import REACHED, halting
from fixtures.inputs import Missing, cache_dir, find


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when every test does the same, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cpu", default="ev67")
    parser.add_argument("--jobs", type=int, default=2, help="tests that run at a time")
    options = parser.parse_args(arguments)
    try:
        old, new = find("alpha-libc"), retuned(find("alpha-libc"), options.cpu)
        folder = glibc_tests.suite(glibc_tests.TESTS, cache_dir("glibc-tests", "suite"))
    except Missing as missing:
        print(f"not measured: {missing}", file=sys.stderr)
        return 1
    command = ("difftest", "suite", old, new, folder, "-j", options.jobs, "--json")
    document = _retune(*command)
    print("\n".join(_table(document)))
    for function, program in REACHED.items():
        print(_found(old, new, function, program), flush=True)
    return 0 if document["same"] else 1


def _table(document: dict[str, object]) -> Iterator[str]:
    cases = document["cases"]
    assert isinstance(cases, list)
    counts: Counter[tuple[str, str]] = Counter()
    for case in cases:
        counts[case["name"].partition(".")[0], case["verdict"]] += 1
    yield f"{'folder':16}{'same':>8}{'differs':>10}{'unusable':>10}"
    for folder in sorted({folder for folder, _ in counts}):
        same, differs, unusable = (counts[folder, v] for v in ("same", "differs", "unusable"))
        yield f"{folder:16}{same:8}{differs:10}{unusable:10}"
    same, differs, unusable = (
        sum(case["verdict"] == v for case in cases) for v in ("same", "differs", "unusable")
    )
    yield f"{'all':16}{same:8}{differs:10}{unusable:10}"
    yield from (f"{c['name']}: {c['detail']}" for c in cases if c["verdict"] != "same")


def _found(old: Path, new: Path, function: str, program: str) -> str:
    """How many runs it takes to find the broken edit of a function."""
    made = halting(old, new, function)
    with tempfile.TemporaryDirectory() as name:
        bad = Path(name) / old.name
        bad.write_bytes(made.data)
        document = _retune("bisect", old, bad, "--json", "--", programs.build(program))
    culprit = document["culprit"]
    assert isinstance(culprit, list)
    right = [unit["function"] for unit in culprit] == [function]
    said = f"{document['runs']} runs among {document['edits']} edits"
    return f"an edit of {function}, broken: {'found' if right else 'NOT found'} in {said}"


def _retune(*arguments: object) -> dict[str, object]:
    command = (sys.executable, "-m", "rewriter", *map(str, arguments))
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    document: dict[str, object] = json.loads(done.stdout)
    return document


if __name__ == "__main__":
    raise SystemExit(main())
