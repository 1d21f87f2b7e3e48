"""`retune batch` on some 300 real files: verified or not, how fast, a second run, kills, Dask.

.venv/bin/python benchmarks/batch.py                # up to 1 MB a file: about 300
.venv/bin/python benchmarks/batch.py --limit 30     # of these, thirty over all sizes
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import targets

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.spending import spend
from fixtures.cross import SMALL, elf_files, libraries
from fixtures.inputs import Missing
from rewriter.batch.find import known_ident
from tests.support.batch.dask import cluster
from tests.support.batch.killed import entries, kill_after, tree_digests

RETUNE = Path(sys.executable).with_name("retune")
CPUS = ("--cpu", "ev67", "--cpu", "madison")
ENDS = (0, 1)
"""Exit statuses of a run that came to its end."""


def chosen(largest: int, limit: int | None, left_out: str = "") -> list[Path]:
    """The real files of at most so many bytes; with a limit that many, over all sizes."""
    small = (path for path in elf_files(libraries(300)) if path.stat().st_size <= largest)
    every = [path for path in small if not left_out or left_out not in path.name]
    if limit is None or limit >= len(every):
        return every
    by_size = sorted(every, key=lambda path: (path.stat().st_size, path))
    return [by_size[number * len(by_size) // limit] for number in range(limit)]


def copied(files: Sequence[Path], folder: Path) -> Path:
    """A new tree of these files."""
    top = libraries(300)
    for path in files:
        place = folder / path.relative_to(top)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
    return folder


def machines(files: Sequence[Path]) -> str:
    """How many files of which machine."""
    idents = (known_ident(path.read_bytes()) for path in files)
    found = Counter(targets.of_ident(ident).name for ident in idents if ident is not None)
    return ", ".join(f"{count} {name}" for name, count in sorted(found.items()))


def lines_of(journal: Path) -> list[dict[str, Any]]:
    """What a journal says of each file."""
    return [json.loads(line) for line in journal.read_bytes().splitlines()[1:]]


def text_of(journal: Path) -> int:
    """Bytes of text of all files of a journal."""
    return sum(line["figures"]["text"] for line in lines_of(journal))


def rows(files: Sequence[Path], kills: int, scratch: Path) -> Iterator[tuple[str, str]]:
    """What is measured, each with its figure, as soon as it is known."""
    tree, journal = copied(files, scratch / "tree"), scratch / "journal"
    size = sum(path.stat().st_size for path in files)
    yield "files", f"{len(files)} ({machines(files)}), {size / 1e6:.1f} MB"
    command = [*run_of(tree, journal), "--json"]
    first = spend(command, ENDS)
    lines = lines_of(journal)
    yield "became", ", ".join(f"{n} {s}" for s, n in Counter(x["status"] for x in lines).items())
    for reason, number in Counter(x["reason"] for x in lines if x["reason"]).most_common(5):
        yield f"  {number} of them", reason[:100]
    text = text_of(journal) / 1e6
    worked = sum(line["figures"]["seconds"] for line in lines)
    yield "text", f"{text:.2f} MB, {worked:.0f} s of processor in the files alone"
    yield "MB of text a second and core", f"{text / first.processor:.4f}"
    cores = len(os.sched_getaffinity(0))
    spent = f"{first.seconds:.0f} s on {cores} cores, {first.processor:.0f} s"
    yield "wall, processor, peak memory", f"{spent}, {first.peak / 1e6:.0f} MB"
    wanted = tree_digests(tree)
    again = spend(command, ENDS)
    same = tree_digests(tree) == wanted and len(journal.read_bytes().splitlines()) == len(lines) + 1
    yield "second run", f"{again.processor:.1f} s of processor, {'no' if same else 'SOME'} work"
    if kills:
        yield "killed", killed(files, kills, wanted, first.seconds, scratch)
    yield "Dask, two workers", clustered(files, wanted, scratch)


def run_of(tree: Path, journal: Path) -> list[str | Path]:
    """The command that tunes a tree in place, and goes on from a journal."""
    return [RETUNE, "batch", tree, "--in-place", *CPUS, "--journal", journal]


def killed(
    files: Sequence[Path], kills: int, wanted: dict[str, str], whole: float, scratch: Path
) -> str:
    """A run killed at so many random moments, and let go on after each."""
    moments, done, ends, twice = random.Random(1), 0, 0, 0
    tree, journal = scratch / "killed", scratch / "killed.journal"
    copied(files, tree)
    command = [*run_of(tree, journal), "-q"]
    while done < kills:
        if kill_after(command, moments.uniform(0.2, max(3.0, 2 * whole / kills))):
            done += 1
            continue
        ends += 1
        _same(tree, wanted)
        for path in (tree, journal):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        copied(files, tree)
    spend(command, ENDS)
    _same(tree, wanted)
    twice = sum(number - 1 for number in entries(journal).values())
    return f"{done} times, {ends + 1} runs came to their end: same bytes, {twice} lines twice"


def _same(tree: Path, wanted: dict[str, str]) -> None:
    found = tree_digests(tree)
    if found != wanted:
        names = sorted(n for n in found.keys() | wanted.keys() if found.get(n) != wanted.get(n))
        raise RuntimeError(f"not the same: {', '.join(names[:5])}")


def clustered(files: Sequence[Path], wanted: dict[str, str], scratch: Path) -> str:
    """The same tree on a cluster of this machine."""
    tree, logs = copied(files, scratch / "far"), scratch / "logs"
    logs.mkdir()
    begun = time.monotonic()
    with cluster(logs, 2) as address:
        spend([RETUNE, "batch", tree, "--in-place", *CPUS, "--scheduler", address, "-q"], ENDS)
    _same(tree, wanted)
    return f"same bytes, {time.monotonic() - begun:.0f} s"


def main() -> int:
    """Exit status 0 when everything is as it must be, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--limit", type=int, help="so many files, over all sizes")
    parser.add_argument("--largest", type=int, default=SMALL, help="bytes of a file")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--skip", default="", help="no file whose name has this in it")
    options = parser.parse_args()
    try:
        files = chosen(options.largest, options.limit, options.skip)
        with tempfile.TemporaryDirectory() as scratch:
            for what, figure in rows(files, options.kills, Path(scratch)):
                print(what, figure, sep="\t", flush=True)
    except (Missing, RuntimeError) as reason:
        print(f"not as it must be: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
