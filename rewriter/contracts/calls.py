"""How often a kernel calls its known routines, with which sizes, and what they execute: counted.

The counts are data with their source (`calls.json`); `benchmarks/boot_calls.py` makes them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

KEPT = Path(__file__).with_name("calls.json")


@dataclass(frozen=True)
class Counted:
    """One recorded run of a kernel.

    `instructions` are the kernel's, without what only waits; `executed` says how many of them each
    routine took, the most first.  `calls` has (size in bytes, addresses mod 8 ..., number of calls)
    by routine, calls that are alike being one entry; pages have the number alone.
    """

    source: str
    instructions: int
    executed: Mapping[str, int]
    calls: Mapping[str, tuple[tuple[int, ...], ...]]

    @property
    def share(self) -> float:
        """Of the kernel's instructions, those of the routines whose calls are known."""
        return sum(self.executed.get(name, 0) for name in self.calls) / self.instructions


@functools.cache
def counted() -> Counted:
    """The run that is kept with the product."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    calls = {name: tuple(map(tuple, groups)) for name, groups in kept["calls"].items()}
    return Counted(kept["source"], kept["instructions"], kept["executed"], calls)
