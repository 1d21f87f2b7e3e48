"""The IA-64 table against objdump, in full: every selection of an instruction, every real file.

The test suite takes samples of the same; this prints how much was compared, and each difference.
The exit status is 1 if there is one.
"""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fixtures.inputs import Missing, find, tool
from targets.ia64.isa.fields import BUNDLE, Unit
from tests.targets.ia64 import ia64_files, ia64_objdump, ia64_sweep

OBJDUMP = "ia64-linux-gnu-objdump"
PART = 40_000 * BUNDLE
FILLINGS = 40  # random operands for each row, besides those of the selections
Task = tuple[Unit | str, int, Any]


def tasks() -> Iterator[Task]:
    """Parts of the work of some seconds each."""
    for unit in ia64_sweep.SELECTING:
        yield unit, -1, ()
        for major, ranges in ia64_sweep.selections(unit):
            yield unit, major, ranges
    for name in ia64_files.NAMES:
        try:
            path = find(name)
        except Missing as missing:
            print(missing)
            continue
        for address, data in ia64_files.texts(path):
            for start in range(0, len(data), PART):
                yield name, address + start, data[start : start + PART]


def work(task: Task) -> tuple[str, int, list[str]]:
    """What was compared, how much of it, and the differences."""
    name, start, content = task
    if isinstance(name, Unit):
        return f"slot {name.name}, words", *sweep(name, start, content)
    found = list(ia64_files.differences(tool(OBJDUMP), find(name), start, content))
    if ia64_files.encoded(content) != content:
        found.append(f"{name} {start:#x}: encodes otherwise")
    return f"{name}, bundles", len(content) // BUNDLE, found


def sweep(unit: Unit, major: int, ranges: ia64_sweep.Ranges) -> tuple[int, list[str]]:
    """Every selection below a major opcode; every row where `major` is -1."""
    source = random.Random(major)
    if major < 0:
        rows = ia64_sweep.rows_of(unit)
        words = [w for op in rows for w in ia64_sweep.filled(op, unit, source, FILLINGS)]
        words += [w for op in rows for w in ia64_sweep.one_bits(op, unit)]
    else:
        words = list(ia64_sweep.enumerated(unit, major, ranges, source))
    with tempfile.TemporaryDirectory() as folder:
        found = ia64_objdump.differences(tool(OBJDUMP), unit.name, words, Path(folder))
        return len(words), list(found)


def main() -> int:
    """Runs everything and prints a table."""
    began = time.monotonic()
    compared: Counter[str] = Counter()
    different: Counter[str] = Counter()
    # A process for each task: the table remembers every word that it decoded.
    with multiprocessing.get_context("fork").Pool(maxtasksperchild=1) as pool:
        for what, count, found in pool.imap_unordered(work, tasks()):
            compared[what] += count
            different[what] += len(found)
            for line in found[:10]:
                print(line)
    for what, count in sorted(compared.items()):
        print(f"{what}: {count} compared, {different[what]} differences")
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if different.total() else 0


if __name__ == "__main__":
    raise SystemExit(main())
