"""What a run did in a few lines: what a person wants to know who asked for no more.

A line a pass, those that did most first; what was left alone by kind; and how it ended.  Where
there is more to say than lines, the passes that did least share one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rewriter.core.plural import counted
from rewriter.core.run.guard import INTERNAL
from rewriter.elf.headers import printable
from rewriter.report.edits import amounts
from rewriter.report.grid import in_order
from rewriter.report.summary.tallies import Tally

LINES = 15
"""Lines that a summary has at most."""
DEBUG = 2
"""Lines of them that may speak of debug information."""
_PARTS = 3
_REASON = 60


@dataclass(frozen=True)
class Done:
    """What one pass did at sites of all kinds."""

    technique: str
    rewritten: int
    sites: int
    saved: int
    cycles: Fraction

    def __str__(self) -> str:
        gains = ", ".join(amounts(self.saved, self.cycles))
        of = f"{self.rewritten} of {counted(self.sites, 'site')}"
        return f"{self.technique}: {of}{', ' if gains else ''}{gains}"


def by_pass(tallies: Iterable[Tally]) -> list[Done]:
    """What each pass did that did anything, the one with the most rewritten sites first."""
    kinds: dict[str, list[Tally]] = {}
    for tally in tallies:
        kinds.setdefault(tally.technique, []).append(tally)
    every = (
        Done(
            technique,
            sum(t.rewritten for t in of),
            sum(t.sites for t in of),
            sum(t.saved for t in of),
            sum((t.cycles for t in of if t.cycles is not None), Fraction(0)),
        )
        for technique, of in kinds.items()
    )
    return sorted((d for d in every if d.rewritten), key=lambda d: (-d.rewritten, d.technique))


def passes(done: Sequence[Done], most: int) -> Iterator[str]:
    """A line for each pass, `most` lines together."""
    shown = done if len(done) <= most else done[: most - 1]
    yield from map(str, shown)
    rest = [f"{one.technique} {one.rewritten}" for one in done[len(shown) :]]
    if rest:
        yield f"also: {', '.join(rest)}"


def left_alone(tallies: Iterable[Tally], refusals: Mapping[str, int]) -> Iterator[str]:
    """Functions and sites that were left alone: a line for each of the two."""
    if refusals:
        functions = counted(sum(refusals.values()), "function")
        yield f"left alone: {functions}: {listed(refusals)}"
    sites = Counter[str]()
    for tally in tallies:
        sites[tally.technique] += sum(tally.left.values())
    if sites.total():
        kinds = ", ".join(f"{n} {name}" for name, n in in_order(+sites).items())
        yield f"left alone: {counted(sites.total(), 'site')} (-v says why): {kinds}"


def errors(tallies: Iterable[Tally], refusals: Mapping[str, int]) -> Iterator[str]:
    """Errors in retune, which a person is to report, however few they are."""
    reasons = Counter(refusals)
    for tally in tallies:
        reasons.update(tally.left)
    found = {said: number for said, number in reasons.items() if INTERNAL in said}
    if found:
        yield f"{INTERNAL}{counted(sum(found.values()), 'place')}, please report: {listed(found)}"


def listed(counts: Mapping[str, int], most: int = _PARTS) -> str:
    """The most frequent of some sentences with their numbers, and how many more there are."""
    first = list(in_order(counts).items())
    if len(first) == 1:
        return printable(first[0][0])
    shown = first if len(first) <= most else first[: most - 1]
    parts = [f"{number} {_short(said)}" for said, number in shown]
    rest = sum(number for _, number in first[len(shown) :])
    return "; ".join([*parts, *([f"{rest} others (-v says why)"] if rest else [])])


def assumed(edits: int, preconditions: Mapping[str, int]) -> Iterator[str]:
    """All that the proofs of so many edits assume, in one line."""
    if preconditions:
        said = listed(preconditions, len(preconditions))
        yield f"assumed by {counted(edits, 'edit')}: {said}"


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _REASON else f"{shown[: _REASON - 3]}..."
