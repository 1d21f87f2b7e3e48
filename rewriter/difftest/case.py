"""What every differential test finds: cases, and for each whether both files did the same."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


class Verdict(enum.Enum):
    """What a case says of the new file."""

    SAME = "same"
    DIFFERS = "differs"
    UNUSABLE = "unusable"  # the original does not serve as a measure


@dataclass(frozen=True)
class Case:
    """One comparison.

    `detail` is one line: the first difference, or why the case is unusable; `difference` shows it
    line by line. `unstable` names what varies between runs of the original and was not compared.
    `seconds` are the host's, `executed` are instructions: of the old file and of the new one.
    """

    name: str
    verdict: Verdict
    detail: str = ""
    difference: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()
    seconds: tuple[float, float] = (0.0, 0.0)
    executed: tuple[int, int] | None = None


@dataclass(frozen=True)
class Comparison:
    """All cases of one differential test of `kind`; `notes` are lines on how it was done."""

    kind: str
    old: str
    new: str
    cases: tuple[Case, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """How many cases came out how."""
        return Counter(case.verdict for case in self.cases)

    @property
    def same(self) -> bool:
        """Whether no case differs."""
        return not self.counts.get(Verdict.DIFFERS)

    @property
    def first(self) -> Case | None:
        """The first case that differs."""
        return next((case for case in self.cases if case.verdict is Verdict.DIFFERS), None)
