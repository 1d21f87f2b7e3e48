"""The PowerPC table against binutils and Capstone, over all files of the three ABIs.

    python benchmarks/ppc_table.py [--jobs 2] [INPUT...]

Every word of the text of every file of the cross packages and of the kernels that are there: what
is decoded is encoded again (the same word?), its text is compared with objdump's letter by letter
and with Capstone's.  Prints how much was compared, each difference, the list of what Capstone is
known to say otherwise with how often it does, the processor time, and how many rows the table has.
The exit status is 1 if there is a difference.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures.inputs import NAMES, Missing, find, tool
from targets.ppc.isa import table
from tests.targets.ppc import ppc_capstone
from tests.targets.ppc.ppc_objdump import (
    ALSO_DATA,
    Text,
    differences,
    is_old_hint,
    listing,
    text_of,
)

OBJDUMP = "powerpc64le-linux-gnu-objdump"


@dataclass
class Found:
    """What one file, or all, came to."""

    files: int = 0
    words: int = 0
    decoded: int = 0
    data: Counter[str] = field(default_factory=Counter)
    round_trip: list[str] = field(default_factory=list)
    objdump: Counter[str] = field(default_factory=Counter)
    old_hints: int = 0
    capstone: ppc_capstone.Compared = field(default_factory=ppc_capstone.Compared)
    seconds: float = 0

    def __iadd__(self, other: Found) -> Found:
        """Another file's."""
        self.files += other.files
        self.words += other.words
        self.decoded += other.decoded
        self.data += other.data
        self.round_trip += other.round_trip
        self.objdump += other.objdump
        self.old_hints += other.old_hints
        self.capstone.same += other.capstone.same
        self.capstone.listed += other.capstone.listed
        self.capstone.different += other.capstone.different
        self.seconds += other.seconds
        return self


def looked_at(name: str) -> Found:
    """One file."""
    began, path = time.process_time(), find(name)
    text = text_of(path)
    found = Found(files=1, words=len(text.words))
    _round_trip(name, text, found)
    wrong, unknown = differences(text.table, listing(tool(OBJDUMP), text, "-d", path))
    for line, count in wrong.items():
        if is_old_hint(line):
            found.old_hints += count
        else:
            found.objdump[f"{name}: {line}"] += count
    for what, count in unknown.items():
        if what == ".long" or what in ALSO_DATA:
            found.data[what] += count
        else:
            found.objdump[f"{name}: {what} is no instruction here"] += count
    found.capstone = ppc_capstone.compared(text)
    found.seconds = time.process_time() - began
    return found


def _round_trip(name: str, text: Text, found: Found) -> None:
    distinct, counts = np.unique(text.words, return_counts=True)
    for word, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        insn = text.table.decode(word)
        if insn is None:
            continue
        found.decoded += count
        if (again := text.table.encode(insn)) != word:
            found.round_trip.append(f"{name}: {word:#x} becomes {again:#x}")


def said(found: Found) -> str:
    """All of it as text."""
    different = found.objdump.total(), found.capstone.different.total()
    data = ", ".join(f"{what} {count}" for what, count in found.data.most_common())
    wide, narrow = (len(table(bits, "big").rows) for bits in (64, 32))
    shown = [
        f"{wide:,} rows of the table, {narrow:,} of them for 32 bits",
        f"{found.files} files, {found.words:,} words, {found.decoded:,} decoded",
        f"decoded and encoded: {len(found.round_trip)} differences",
        f"objdump's text: {different[0]} differences; data to both: {data}; "
        f"branches with the hints of old processors, data to objdump: {found.old_hints}",
        f"Capstone: {different[1]} differences, {found.capstone.same:,} words the same; "
        "of them known to be said otherwise there:",
        *(f"    {count:8,} {what}" for what, count in found.capstone.listed.most_common()),
        *found.round_trip, *found.objdump, *found.capstone.different,
        f"processor time without objdump's own: {found.seconds:.0f} s",
    ]  # fmt: skip
    return "\n".join(shown)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("inputs", nargs="*", default=[n for n in NAMES if n.startswith("ppc")])
    options, total = parser.parse_args(), Found()
    try:
        # A process for each file: the table remembers every word that it decoded.
        with ProcessPoolExecutor(options.jobs, max_tasks_per_child=1) as pool:
            for found in pool.map(looked_at, options.inputs):
                total += found
    except Missing as missing:
        print(missing)
        return 1
    print(said(total))
    return bool(total.round_trip or total.objdump or total.capstone.different)


if __name__ == "__main__":
    raise SystemExit(main())
