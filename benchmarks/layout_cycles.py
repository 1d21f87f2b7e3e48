"""What ways through a library take on a CPU's model, of runs before and after `layout`.

Of a run about `PASSED` instructions are timed: each Nth way through the library, from where it is
entered until it is left, N being the same for both files, which are entered equally often.  They
follow one another on one chip, that begins with empty caches and predictors that know nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from benchmarks import traced
from fixtures.trace import ENTERED, parse
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image

PASSED = 100_000


class Timed(NamedTuple):
    """The modelled cycles of some ways, and how many ways these are."""

    cycles: int
    ways: int


def every(executed: int) -> int:
    """One way in how many is timed of a run that executes so many instructions: an odd number."""
    return executed // PASSED | 1


def timed(contents: Iterable[bytes], image: Image, target: Sequential, cpu: Cpu) -> Timed:
    """What the plugin's recordings of a run took, those of one process after another's."""
    big = image.byteorder == "big"
    recordings = [parse(content, big) for content in contents if content]
    spent = traced.spent(recordings, image, target.table, cpu, target.system(cpu))
    ways = sum(int((one.records["kind"] == ENTERED).sum()) for one in recordings)
    return Timed(sum(one.cycles for one in spent), ways)


def told(before: Timed, after: Timed) -> str:
    """The cycles after as a part of those before; RuntimeError where other ways were timed."""
    if before.ways != after.ways:
        raise RuntimeError(f"{before.ways} ways were timed, and {after.ways}")
    return f"{after.cycles / before.cycles:.4f}"
