"""How often a kernel calls its known routines, with which sizes, and what they take: counted.

The counts are data with their source: `calls.json` is of a boot, made by
`benchmarks/boot_calls.py`, and `compiling.json` of one in which programs are compiled, made by
`benchmarks/system_time.py`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

KEPT = Path(__file__).with_name("calls.json")
COMPILING = Path(__file__).with_name("compiling.json")


@dataclass(frozen=True)
class Recorded:
    """Modelled cycles of a recorded part of system time in one machine, and of them each
    routine's."""

    cycles: int
    routines: Mapping[str, int]


@dataclass(frozen=True)
class Counted:
    """One recorded run of a kernel.

    `instructions` are the kernel's, without what only waits; `executed` says how many of them each
    routine took, the most first.  `calls` has (size in bytes, addresses mod 8 ..., number of calls)
    by routine, calls that are alike being one entry; pages have the number alone.

    Where only a part of the run was recorded, `recorded` says which; then instructions are that
    part's, `called` says how often each routine was called in it, and `machines` what it takes.
    """

    source: str
    instructions: int
    executed: Mapping[str, int]
    calls: Mapping[str, tuple[tuple[int, ...], ...]]
    recorded: str = ""
    called: Mapping[str, int] = field(default_factory=dict)
    machines: Mapping[str, Recorded] = field(default_factory=dict)


@functools.cache
def counted() -> Counted:
    """The boot that is kept with the product."""
    return _read(KEPT)


@functools.cache
def compiling() -> Counted:
    """The boot in which programs are compiled."""
    return _read(COMPILING)


def _read(path: Path) -> Counted:
    kept = json.loads(path.read_text(encoding="utf-8"))
    calls = {name: tuple(map(tuple, groups)) for name, groups in kept["calls"].items()}
    machines = {name: Recorded(**one) for name, one in kept.get("machines", {}).items()}
    return Counted(
        kept["source"],
        kept["instructions"],
        kept["executed"],
        calls,
        kept.get("recorded", ""),
        kept.get("called", {}),
        machines,
    )
