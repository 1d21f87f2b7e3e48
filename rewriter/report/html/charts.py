"""What templates draw: bars as shares of the longest, a map of the text, curves as points."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewriter.core.code.program import Function, Refusal
from rewriter.core.edit import Edit
from rewriter.elf.headers import printable
from rewriter.identify.profiles import Heat
from rewriter.report.html.curves import Curve
from rewriter.report.html.sides import Sketch

BINS = 96
"""Columns of the map."""

CAUSES, HOTTEST = 12, 20
"""Bars that are drawn."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Two amounts and their shares, in percent, of the largest of all bars."""

    label: str
    before: int
    after: int
    shares: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Bin:
    """A piece of the text: edits by pass and instructions saved.

    `parts` are (pass, lower end, height) and `saved_height`, of 100.
    """

    start: int
    end: int
    edits: int
    saved: int
    parts: tuple[tuple[str, float, float], ...]
    saved_height: float


@dataclass(frozen=True, slots=True)
class Hot:
    """A function of a profile: `share` is its part in percent, `width` that of the hottest."""

    name: str
    share: float
    width: float
    edits: int
    reason: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """A curve on a field of 300 by 150: paths of both versions, and marks of the axes."""

    curve: Curve
    before: str
    after: str
    ticks: tuple[tuple[float, int], ...]
    levels: tuple[tuple[float, int], ...]


def stalls(sketches: Iterable[Sketch]) -> list[Bar]:
    """Modelled cycles that are lost, by cause, the most first."""
    before, after = Counter[str](), Counter[str]()
    for sketch in sketches:
        before.update(sketch.lost[0])
        after.update(sketch.lost[1])
    most = max((*before.values(), *after.values()), default=1)
    causes = sorted(before | after, key=lambda cause: (-before[cause] - after[cause], cause))
    return [
        Bar(c, before[c], after[c], (100 * before[c] / most, 100 * after[c] / most))
        for c in causes[:CAUSES]
    ]


def address_map(functions: Sequence[Function], edits: Sequence[Edit]) -> list[Bin]:
    """The text from its first function to its last in equal pieces; none without functions."""
    if not functions:
        return []
    start, end = functions[0].start, max(f.end for f in functions)
    size = max(1, -(-(end - start) // BINS))
    made = [Counter[str]() for _ in range(BINS)]
    saved = [0] * BINS
    for edit in edits:
        at = min(BINS - 1, max(0, (edit.address - start) // size))
        made[at][edit.technique] += 1
        saved[at] += edit.gain
    most = max(sum(counts.values()) for counts in made) or 1
    best = max((abs(amount) for amount in saved), default=0) or 1
    return [
        Bin(
            start + at * size,
            start + (at + 1) * size,
            sum(made[at].values()),
            saved[at],
            tuple(_stacked(made[at], most)),
            100 * max(0, saved[at]) / best,
        )
        for at in range(BINS)
    ]


def _stacked(counts: Mapping[str, int], most: int) -> Iterator[tuple[str, float, float]]:
    low = 0.0
    for name in sorted(counts):
        height = 100 * counts[name] / most
        yield name, low, height
        low += height


def hottest(heat: Heat, edits: Iterable[Edit], refusals: Iterable[Refusal]) -> list[Hot]:
    """The functions in which a profile spends most, and what became of them."""
    made = Counter(edit.routine for edit in edits)
    reasons = {refusal.function.name: refusal.reason for refusal in refusals}
    first = list(heat.share.items())[:HOTTEST]
    most = max((part for _, part in first), default=0) or 1
    return [
        Hot(
            printable(name),
            100 * part,
            100 * part / most,
            made[name],
            printable(reasons.get(name, "")),
        )
        for name, part in first
    ]


WIDTH, HEIGHT = 300, 150


def drawn(curve: Curve) -> Drawn:
    """A curve: sizes on a logarithmic scale, cycles from zero on."""
    xs = [_scaled(curve.axis, x) for x, _, _ in curve.points]
    low, span = min(xs), (max(xs) - min(xs)) or 1
    top = _round(max(max(before, after) for _, before, after in curve.points))

    def across(x: int) -> float:
        return (_scaled(curve.axis, x) - low) / span * WIDTH

    def up(cycles: float) -> float:
        return HEIGHT - cycles / top * HEIGHT

    before, after = (
        " ".join(f"{across(point[0]):.1f},{up(point[side]):.1f}" for point in curve.points)
        for side in (1, 2)
    )
    every = [x for x, _, _ in curve.points]
    ticks = every[:: max(1, math.ceil(len(every) / 6))]
    levels = (0, top / 2, top)
    return Drawn(
        curve,
        before,
        after,
        tuple((across(x), x) for x in ticks),
        tuple((up(level), round(level)) for level in levels),
    )


def _scaled(axis: str, x: int) -> float:
    return math.log2(x + 1) if axis == "count" else float(x)


def _round(most: int) -> int:
    """The next round number, of two digits, that is even."""
    unit = int(10 ** max(0, len(str(most)) - 2))
    return max(2, -(-most // (2 * unit)) * 2 * unit)
