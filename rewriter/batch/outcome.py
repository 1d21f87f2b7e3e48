"""What became of one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

TUNED = "tuned"
NOTHING = "nothing to do"
BELOW = "gain too small"
ALREADY = "tuned before"
DENIED = "left alone"
REFUSED = "refused"
FAILED = "failed"
LOST = "lost"

STATUSES = (TUNED, ALREADY, NOTHING, BELOW, DENIED, REFUSED, FAILED, LOST)
"""`tuned before` carries the note of an earlier run; `gain too small` is one that could be tuned
and promises less than is wanted, and stays as it was; `left alone` is by the policy; `refused` is
a file that retune cannot work on; `failed` one whose output was not verified or not written;
`lost` one whose process ended or took too much memory: the only one that is tried again on
resuming."""


@dataclass(frozen=True)
class Figures:
    """What was counted in one file; `text` is bytes of code, `seconds` of processor time.

    `machine` and `cpu` are those that it was tuned for, `size` its bytes.  `passes` counts edits by
    pass, `left` functions that were left alone, by reason.  `expected` are executed instructions
    fewer in per cent, and `basis` what that rests on.  `apart` is 1 where the file has another
    build-id than its original, because a debug file of that would no longer fit.
    """

    machine: str = ""
    cpu: str = ""
    size: int = 0
    text: int = 0
    functions: int = 0
    instructions: int = 0
    edits: int = 0
    saved: int = 0
    changed: int = 0
    apart: int = 0
    expected: float | None = None
    basis: str = ""
    seconds: float = 0.0
    passes: Mapping[str, int] = field(default_factory=dict)
    grades: Mapping[str, int] = field(default_factory=dict)
    left: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For journals and programs."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Figures:
        """What `as_json` gave; TypeError or ValueError for anything else."""
        names = {one.name for one in fields(cls)}
        if not names >= document.keys():
            raise ValueError("figures")
        return cls(**document)


@dataclass(frozen=True)
class Outcome:
    """What became of one file, `reason` in one line; `data` is the new file where there is one.

    `kept` is what its functions became, with the name of the file that keeps it.
    """

    status: str
    reason: str = ""
    figures: Figures = Figures()
    data: bytes | None = field(default=None, repr=False)
    kept: tuple[str, bytes] | None = field(default=None, repr=False, compare=False)
