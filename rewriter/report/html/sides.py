"""A function before and after, side by side, as compact data that a page draws.

A side is columns: `a` the address of the first row in hexadecimal and `d` the distance of each row
from the one before (one number where it is always the same), `x` numbers of texts, `s` a letter of
the slot for each row; with a model `p` numbers of pipes, `c` issue cycles (-1: never issued), `w`
triples of row, cycles waited and the number of the cause, `k` pairs of a stretch's first row and
its cycles.  `o` tells how rows of the two sides belong together: `=5-2+1` are five rows that are
the same, two that went and one that came; `.9` are nine that are the same, far from any change, and
in no column.  In the new side's `x` -1 stands for the text of the row that is the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

from rewriter.core.code.program import Function
from rewriter.report.html.text import Row, Stretch, Text

_RUN = re.compile(r"([=+-])([0-9]+)")

KEPT = 12
"""Rows that are the same and stay beside each one that is not."""

_LONG = 6000
"""Rows of a function in which finding the best match would take seconds."""


class Strings:
    """Texts by number, in the order in which they came."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        return self._numbers.setdefault(text, len(self._numbers))

    def every(self) -> list[str]:
        """All texts by number."""
        return list(self._numbers)


@dataclass(frozen=True, slots=True)
class Line:
    """A row; the first of a stretch has its cycles, -1 where it was not timed."""

    row: Row
    cycles: int | None


@dataclass(frozen=True, slots=True)
class Sketch:
    """The figures of a function: modelled cycles before and after, and those lost by cause.

    Each straight stretch counts once; the cycles are None where nothing was timed.
    """

    cycles: tuple[int, int] | None = None
    lost: tuple[Counter[str], Counter[str]] = field(default_factory=lambda: (Counter(), Counter()))


NOTHING: dict[str, Any] = {
    "o": "",
    "l": {"a": "0", "d": [], "x": []},
    "r": {"a": "0", "d": [], "x": []},
}
"""The data of a function that cannot be read."""


def side_by_side(
    text: Text, function: Function, elsewhere: Sequence[range], timed: bool, strings: Strings
) -> tuple[dict[str, Any], Sketch]:
    """A function's data and figures; `elsewhere` are ranges where new code of it stands."""
    old = text.before(function.start, function.end, timed)
    new = list(text.after(function.start, function.end, timed))
    for part in elsewhere:
        new += text.after(part.start, part.stop, timed)
    sides = [list(_lines(side)) for side in (old, new)]
    pairs = matches([line.row.key for line in sides[0]], [line.row.key for line in sides[1]])
    pairs, *sides = cut(pairs, *sides)
    left, right = (_columns(side, strings) for side in sides)
    right["x"] = _same(pairs, left["x"], right["x"])
    return {"o": pairs, "l": left, "r": right}, _sketch(old, new)


def _lines(side: Sequence[Stretch]) -> Iterator[Line]:
    for stretch in side:
        for number, row in enumerate(stretch.rows):
            yield Line(row, None if number else stretch.cycles)


def cut(pairs: str, old: list[Line], new: list[Line]) -> tuple[str, list[Line], list[Line]]:
    """The same without rows that are the same and far from any that is not."""
    kept: tuple[list[Line], list[Line]] = [], []
    found = []
    left = right = 0
    for mark, digits in _RUN.findall(pairs):
        count = int(digits)
        far = count - 2 * KEPT if mark == "=" else 0
        parts = [(mark, KEPT), (".", far), (mark, KEPT)] if far > KEPT else [(mark, count)]
        for one, rows in parts:
            found.append(f"{one}{rows}")
            if one in "=-":
                kept[0].extend(old[left : left + rows])
            if one in "=+":
                kept[1].extend(new[right : right + rows])
            left += rows if one != "+" else 0
            right += rows if one != "-" else 0
    return "".join(found), *kept


def matches(old: Sequence[Hashable], new: Sequence[Hashable]) -> str:
    """Which rows of two sides belong together."""
    ends = min(len(old), len(new))
    first = next((n for n in range(ends) if old[n] != new[n]), ends)
    last = next((n for n in range(ends - first) if old[-1 - n] != new[-1 - n]), ends - first)
    middle = old[first : len(old) - last], new[first : len(new) - last]
    # Long functions are matched by what is rare in them.
    matcher = SequenceMatcher(None, *middle, autojunk=len(middle[0]) > _LONG)
    runs = [("=", first)]
    for tag, i, j, m, n in matcher.get_opcodes():
        runs += [("=", j - i)] if tag == "equal" else [("-", j - i), ("+", n - m)]
    return "".join(f"{mark}{count}" for mark, count in (*runs, ("=", last)) if count)


def _same(pairs: str, old: Sequence[int], new: Sequence[int]) -> list[int]:
    """The new side's texts, -1 where the row is the same and says the same."""
    found = list(new)
    left = right = 0
    for mark, digits in _RUN.findall(pairs):
        count = int(digits)
        if mark == "=":
            for at in range(count):
                if old[left + at] == new[right + at]:
                    found[right + at] = -1
        left += count if mark in "=-" else 0
        right += count if mark in "=+" else 0
    return found


def _columns(lines: Sequence[Line], strings: Strings) -> dict[str, Any]:
    rows = [line.row for line in lines]
    columns: dict[str, Any] = {
        "a": f"{rows[0].address:x}" if rows else "0",
        "d": _steps(rows),
        "x": [strings.number(row.text) for row in rows],
    }
    if any(row.slot for row in rows):
        columns["s"] = "".join(row.slot or " " for row in rows)
    if any(row.cycle >= 0 for row in rows):
        columns["p"] = [strings.number(row.pipe) for row in rows]
        columns["c"] = [row.cycle for row in rows]
        waits = ((n, row) for n, row in enumerate(rows) if row.waited)
        columns["w"] = [f for n, row in waits for f in (n, row.waited, strings.number(row.cause))]
        starts = ((n, line.cycles) for n, line in enumerate(lines) if line.cycles is not None)
        columns["k"] = [figure for pair in starts for figure in pair]
    return columns


def _steps(rows: Sequence[Row]) -> list[int] | int:
    steps = [after.address - row.address for row, after in pairwise(rows)]
    return steps[0] if len(set(steps)) == 1 else steps


def _sketch(old: Sequence[Stretch], new: Sequence[Stretch]) -> Sketch:
    if all(stretch.cycles < 0 for stretch in (*old, *new)):
        return Sketch()
    before, after = (sum(max(0, stretch.cycles) for stretch in side) for side in (old, new))
    lost = [Counter[str](), Counter[str]()]
    for counts, side in zip(lost, (old, new), strict=True):
        for stretch in side:
            counts.update(stretch.lost)
    return Sketch((before, after), (lost[0], lost[1]))
