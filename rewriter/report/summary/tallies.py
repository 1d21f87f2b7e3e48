"""The sites of each pass by kind: rewritten, saved, and left alone by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from rewriter.core.edit import Edit, Skip
from rewriter.core.plural import counted
from rewriter.elf.headers import printable
from rewriter.elf.manifest import cause
from rewriter.report.edits import gain
from rewriter.report.grid import in_order


@dataclass(frozen=True)
class Tally:
    """One kind of site of one pass; `saved` counts instructions, `left` sites by reason.

    `cycles` are modelled ones, each of the `timed` sites once; None where none was timed.
    """

    technique: str
    kind: str
    rewritten: int
    saved: int
    cycles: Fraction | None
    timed: int
    left: Mapping[str, int]

    @property
    def sites(self) -> int:
        """How many were found."""
        return self.rewritten + sum(self.left.values())

    def lines(self) -> Iterator[str]:
        """What was done, then a line for each reason why some were left alone."""
        done = f"{self.rewritten} rewritten, {gain(self.saved, self.cycles)}"
        if 0 < self.timed < self.rewritten:
            done += f" ({self.timed} timed)"
        yield f"{self.technique}, {self.kind}: {counted(self.sites, 'site')}, {done}"
        for reason, number in self.left.items():
            yield f"{self.technique}, {self.kind}: {number} left alone: {printable(reason)}"


def tallied(edits: Iterable[Edit], skips: Iterable[Skip]) -> Iterator[Tally]:
    """Tallies by the name of the pass, then by kind."""
    made: dict[tuple[str, str], list[Edit]] = {}
    left: dict[tuple[str, str], Counter[str]] = {}
    for edit in edits:
        made.setdefault((edit.technique, edit.kind), []).append(edit)
    every = Counter((skip.technique, skip.kind, skip.reason) for skip in skips)
    for (technique, kind, reason), number in every.items():
        left.setdefault((technique, kind), Counter())[cause(reason)] += number
    for key in sorted({*made, *left}):
        done = made.get(key, [])
        saved = sum(edit.gain for edit in done)
        cycles = [edit.cycles for edit in done if edit.cycles is not None]
        total = sum(cycles, Fraction(0)) if cycles else None
        reasons = in_order(left.get(key, Counter()))
        yield Tally(*key, len(done), saved, total, len(cycles), reasons)
