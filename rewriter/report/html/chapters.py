"""The changed functions of a page in packed parts, each read by itself when somebody looks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rewriter.core.code.program import Function
from rewriter.core.edit import Edit
from rewriter.core.run.guard import guarded
from rewriter.core.run.workers import Apart, each
from rewriter.elf.image import Image
from rewriter.elf.unwind import entries as unwind
from rewriter.report.html.render import packed
from rewriter.report.html.sides import NOTHING, Sketch, Strings, side_by_side
from rewriter.report.html.subject import Subject
from rewriter.report.html.text import Text

Progress = Callable[[str, int, int], None]

SIZE = 64
"""Functions of a chapter: a browser unpacks it in a few milliseconds."""

TIMED = 100_000
"""Instructions, before and after together, that are timed when nobody asks for more."""

_PLACED = re.compile(r" at 0x([0-9a-f]+), from ")


@dataclass(frozen=True, slots=True)
class Entry:
    """A changed function: its edits by number, its part of a profile and where new code stands."""

    function: Function
    edits: tuple[int, ...]
    saved: int
    heat: float
    elsewhere: tuple[range, ...]


def entries(subject: Subject, functions: Iterable[Function]) -> list[Entry]:
    """The functions with an edit, by address."""
    inside: dict[str, list[int]] = {}
    for number, edit in enumerate(subject.edits):
        inside.setdefault(edit.routine, []).append(number)
    places = {f.start: range(f.start, f.end) for f in functions}
    ranges = places | _described(subject.after)
    heat = subject.heat
    return [
        Entry(
            function,
            tuple(inside[function.name]),
            sum(subject.edits[number].gain for number in inside[function.name]),
            heat.of(function.name) if heat is not None else 0.0,
            tuple(_elsewhere((subject.edits[n] for n in inside[function.name]), ranges)),
        )
        for function in functions
        if function.name in inside
    ]


def _described(image: Image) -> dict[int, range]:
    return {f.start: range(f.start, f.end) for f in unwind.frames(image) if f.end > f.start}


def _elsewhere(edits: Iterable[Edit], ranges: Mapping[int, range]) -> Iterator[range]:
    """Where a tuned routine stands that found no room in its function."""
    for edit in edits:
        found = _PLACED.search(edit.new)
        if found and (place := ranges.get(int(found[1], 16))):
            yield place


def modelled(found: Sequence[Entry], limit: int | None, size: int) -> frozenset[int]:
    """The entries that are timed: the hottest first, then those with most done in few bytes.

    `limit` counts instructions of `size` bytes; None is no limit.
    """
    order = sorted(range(len(found)), key=lambda at: (-found[at].heat, -_dense(found[at]), at))
    chosen: set[int] = set()
    left = limit
    for at in order:
        function = found[at].function
        cost = 2 * (function.end - function.start) // size
        if left is None or cost <= left:
            chosen.add(at)
            left = None if left is None else left - cost
    return frozenset(chosen)


def _dense(entry: Entry) -> float:
    """Edits and instructions saved, of each byte."""
    function = entry.function
    return (len(entry.edits) + max(0, entry.saved)) / (function.end - function.start)


def chapters(
    text: Text,
    found: Sequence[Entry],
    timed: frozenset[int],
    progress: Progress,
    jobs: int,
) -> Iterator[tuple[str, list[Sketch]]]:
    """Each chapter, packed, and the figures of its functions."""
    numbers = range(len(found))
    parts = [numbers[at : at + SIZE] for at in numbers[::SIZE]]
    work = partial(_chapter, text, found, timed)
    for done, chapter in enumerate(each(work, parts, jobs, Apart())):
        progress("side by side", done, len(parts))
        yield chapter
    progress("side by side", len(parts), len(parts))


def _chapter(
    text: Text, found: Sequence[Entry], timed: frozenset[int], part: Sequence[int]
) -> tuple[str, list[Sketch]]:
    strings = Strings()
    sides: list[dict[str, Any]] = []
    sketches: list[Sketch] = []
    for number in part:
        entry = found[number]
        shown = partial(side_by_side, text, entry.function, entry.elsewhere)
        data, sketch = guarded(
            "report", partial(shown, number in timed, strings), lambda reason: (NOTHING, Sketch())
        )
        sides.append(data)
        sketches.append(sketch)
    return packed({"x": strings.every(), "f": sides}), sketches
