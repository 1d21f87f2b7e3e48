"""Mackerras' talk "Low-Level Optimizations in the PowerPC/Linux Kernels" as a suite.

What the talk measured is `MEASURED` and `SIZES`.  Of a file's functions those are called that have
the names of `FLUSHES`, as they are and as the pass `flush` leaves them, and the pairs of `PAIRS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rewriter.core.code.program import Function
from rewriter.core.readings.interpret import Step
from rewriter.elf.image import Image
from rewriter.suites.called import Caller

SOURCE = "Mackerras, Low-Level Optimizations in the PowerPC/Linux Kernels"


@dataclass(frozen=True)
class Measured:
    """A row of the talk: before and after, in a unit; `why` it is not reproduced, if it is not."""

    what: str
    machine: str
    before: float
    after: float
    unit: str
    why: str

    @property
    def ratio(self) -> float:
        """What is left."""
        return self.after / self.before


FLUSH, EXEC = "flush_dcache_icache", "LMBench exec"
_NO_CODE = "neither that kernel's code before the talk nor after it is in a file that is timed here"
MEASURED = (
    Measured(f"{FLUSH}, kernel compile", "750", 6763, 2974, "ticks", "flushes that are not made"),
    Measured("copy_page, kernel compile", "750", 537, 390, "ticks", _NO_CODE),
    Measured("copy_tofrom_user, kernel compile", "750", 356, 299, "ticks", _NO_CODE),
    Measured(
        "system time, kernel compile", "750", 46.0, 29.9, "s", "calls of these are not counted"
    ),
    Measured(EXEC, "750", 5065, 2254, "us", "flushes that are not made; faults are not seen"),
)
PAGE_COPY = 1 / 1.5
"""Of the simple loop's time, at most: the talk's page copy is more than 50 % faster."""

SIZES = (
    ("copy_tofrom_user", 0.84, 0.43),
    ("memcpy", 0.98, 0.13),
)
"""Calls of a kernel compile on a POWER4: below 128 bytes, and not aligned to 8, of one."""

POWER4 = ("copy work on a POWER4, system time", 0.013), ("copy work on a POWER4, wall", 0.0013)
"""What the talk's copies gained there, of one."""

FLUSHES = ("__flush_dcache_icache", "__flush_page_to_ram", "flush_icache_range")
"""Functions that flush from their first argument on, one page or up to their second argument."""

PAIRS = (
    ("page copy", "copy_page_simple", "copy_page_lines"),
    ("16 entries of the hash table", "invalidate_each", "invalidate_together"),
)
"""What is done, by a function and by another one."""

FLUSHED = "a page flushed"
COPIES, ENTRIES = (pair[0] for pair in PAIRS)
_PAGE, MANY = 4096, 16

UNSEEN = (
    "what a flush costs on the bus: a modified block on its way, another processor's answer",
    "flushes that are not made, because a page is clean already: the talk's gain on the 750",
    "the rest of fork and exec: page faults, translations that are loaded again",
    "what the caches hold when a kernel calls a routine: here they know the call",
)
"""What the model and these calls do not see."""


@dataclass(frozen=True)
class Row:
    """Modelled cycles of two ways to do something; no way takes fewer than `least`, if known."""

    what: str
    names: tuple[str, str]
    before: int
    after: int
    least: int | None = None

    @property
    def ratio(self) -> float:
        """What is left."""
        return self.after / self.before


def flushes(caller: Caller, old: Image, new: Image, functions: Sequence[Function]) -> Iterator[Row]:
    """A page flushed by each function that does it, as it is and as retuned."""
    named = {function.name: function for function in functions}
    for name in FLUSHES:
        if name in named:
            arguments = caller.room, caller.room + _PAGE
            steps = [caller.steps(image, named[name], arguments) for image in (old, new)]
            before, after = map(caller.cycles, steps)
            least = _least(caller, steps[1])
            yield Row(FLUSHED, (name, "retuned"), before, after, least)


def _least(caller: Caller, steps: Sequence[Step]) -> int | None:
    """Cycles that the pipe of blocks is taken by all that are flushed; None where no figure says.

    What is flushed must be: no order of the same instructions takes fewer.
    """
    known = caller.target.flushing
    if known is None:
        return None
    flushed = (step.insn for step in steps if known.flushed(step.insn) is not None)
    taken = [known.taken(caller.cpu, insn) for insn in flushed]
    each = [cycles for cycles in taken if cycles is not None]
    return sum(each) if each and len(each) == len(taken) else None


def pairs(caller: Caller, image: Image, functions: Sequence[Function]) -> Iterator[Row]:
    """What a file has two functions for."""
    named: Mapping[str, Function] = {function.name: function for function in functions}
    for what, first, second in PAIRS:
        if first in named and second in named:
            many = MANY if what == ENTRIES else caller.room + _PAGE
            arguments = caller.room, many, caller.room, 0
            both = (caller.steps(image, named[name], arguments) for name in (first, second))
            before, after = map(caller.again, both)
            yield Row(what, (first, second), before, after)


def by_banks(
    caller: Caller, image: Image, functions: Sequence[Function]
) -> Iterator[tuple[int, float]]:
    """The ratio of the page copies, by the cycles that a bank of the second cache takes a store."""
    known = caller.target.flushing
    for busy in (1, 2, 3):
        cpu = known.banked(caller.cpu, busy) if known is not None else None
        rows = pairs(replace(caller, cpu=cpu), image, functions) if cpu is not None else ()
        yield from ((busy, row.ratio) for row in rows if row.what == COPIES)
