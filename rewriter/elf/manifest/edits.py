"""Edits and their evidence as columns.

What repeats is stored once: technique, kind and evidence together are a class. What follows from
something else is not stored: names of routines that are made of their address, and ids that are
made of technique, routine and offset. What is read may be anything: ValueError, LookupError or
TypeError then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rewriter.core.edit import Edit, Evidence, Grade
from rewriter.core.varints import Numbers, packed_signed, unpacked, unpacked_signed
from rewriter.elf.manifest import texts
from rewriter.elf.manifest.texts import escaped, lines, lines_of, unescaped

CLASSES, GAINS, ROUTINES, NAMES, STARTS, OFFSETS, ODD, IDS, TEXTS = range(9)
NUMBER = TEXTS + texts.NUMBER_OF_COLUMNS
"""How many columns `of_edits` gives."""

_OFFSET = re.compile(r"\+([0-9a-f]{1,16})\Z")
_EMPTY = "\t"
"""Line of a name that is empty."""
_MASK = (1 << 64) - 1

Row = list[Any]


def of_edits(edits: Sequence[Edit]) -> tuple[list[bytes], list[Row], list[Row]]:
    """The columns of edits, the classes, and the rows of evidence that classes name by number."""
    evidence = {e: n for n, e in enumerate(dict.fromkeys(edit.evidence for edit in edits))}
    keys = [(edit.technique, edit.kind, evidence[edit.evidence]) for edit in edits]
    classes = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    starts: dict[str, int] = {}
    for edit in edits:
        starts.setdefault(edit.routine, _start(edit))
    numbers = {name: n for n, name in enumerate(starts)}
    odd = [n for n, edit in enumerate(edits) if edit.id != _id(edit, starts[edit.routine])]
    columns = [b""] * NUMBER
    columns[TEXTS:] = texts.of_pairs((edit.old, edit.new) for edit in edits)
    which = unpacked(columns[TEXTS + texts.WHICH]).tolist()
    columns[CLASSES] = _since(which, [classes[key] for key in keys])
    columns[GAINS] = _since(which, [edit.gain for edit in edits])
    routines = [numbers[edit.routine] for edit in edits]
    columns[ROUTINES] = _differences(routines)
    columns[NAMES] = lines(
        "" if name == _made(at) else escaped(name) or _EMPTY for name, at in starts.items()
    )
    columns[STARTS] = _differences(starts.values())
    columns[OFFSETS] = _since(routines, [edit.address - starts[edit.routine] for edit in edits])
    columns[ODD] = _differences(odd)
    columns[IDS] = lines(escaped(edits[n].id) for n in odd)
    rows: list[Row] = [
        [e.grade.value, e.preconditions, e.patterns, e.cases, e.detail] for e in evidence
    ]
    return columns, [list(key) for key in classes], rows


def edits_of(columns: Sequence[bytes], classes: Sequence[Row], rows: Sequence[Row]) -> list[Edit]:
    """The edits that `of_edits` made columns of."""
    evidence = [_evidence(row) for row in rows]
    kinds = [(technique, kind, evidence[_number(at)]) for technique, kind, at in classes]
    starts = [at & _MASK for at in _sums(columns[STARTS]).tolist()]
    names = [
        (unescaped(line) if line != _EMPTY else "") if line else _made(at)
        for line, at in zip(lines_of(columns[NAMES]), starts, strict=True)
    ]
    pairs = texts.pairs_of(columns[TEXTS:])
    ids = dict(zip(_sums(columns[ODD]).tolist(), lines_of(columns[IDS]), strict=True))
    which = unpacked(columns[TEXTS + texts.WHICH]).tolist()
    routines = _sums(columns[ROUTINES]).tolist()
    found: list[Edit] = []
    for at, routine, offset, gain, (old, new) in zip(
        _since_of(which, columns[CLASSES]), routines, _since_of(routines, columns[OFFSETS]),
        _since_of(which, columns[GAINS]), pairs, strict=True,
    ):  # fmt: skip
        (technique, kind, shown), start = kinds[_number(at)], starts[_number(routine)]
        name, address, odd = names[routine], start + offset & _MASK, ids.get(len(found))
        known = _named(technique, name, address, start) if odd is None else unescaped(odd)
        found.append(Edit(known, technique, kind, name, address, old, new, shown, gain))
    return found


def _start(edit: Edit) -> int:
    """Where a routine starts, by the offset that an edit's id ends with."""
    offset = _OFFSET.search(edit.id)
    return edit.address - (int(offset[1], 16) if offset else 0) & _MASK


def _made(start: int) -> str:
    """The name of a routine that has none."""
    return f"sub_{start:x}"


def _id(edit: Edit, start: int) -> str:
    return _named(edit.technique, edit.routine, edit.address, start)


def _named(technique: str, routine: str, address: int, start: int) -> str:
    return f"{technique}:{routine}+{address - start:x}"


def _evidence(row: Row) -> Evidence:
    grade, preconditions, patterns, cases, detail = row
    return Evidence(Grade(grade), tuple(preconditions), tuple(patterns), cases, detail)


def _number(at: Any) -> int:
    """A number of a row: not one that counts from the end."""
    if type(at) is not int or at < 0:
        raise ValueError("a number of a row")
    return at


def _row(numbers: Iterable[int]) -> Numbers:
    """Numbers of 64 bits, with a sign or without."""
    return np.array([number & _MASK for number in numbers], np.uint64).astype(np.int64)


def _since(keys: Sequence[int], values: Sequence[int]) -> bytes:
    """Each value less the one before it with the same key."""
    last: dict[int, int] = {}
    differences = []
    for key, value in zip(keys, values, strict=True):
        differences.append(value - last.get(key, 0))
        last[key] = value
    return packed_signed(_row(differences))


def _since_of(keys: Sequence[int], column: bytes) -> Iterator[int]:
    """The values that `_since` told by their differences."""
    last: dict[int, int] = {}
    for key, difference in zip(keys, unpacked_signed(column).tolist(), strict=True):
        last[key] = last.get(key, 0) + difference
        yield last[key]


def _differences(numbers: Iterable[int]) -> bytes:
    return packed_signed(np.diff(_row(numbers), prepend=np.int64(0)))


def _sums(column: bytes) -> Numbers:
    return np.cumsum(unpacked_signed(column))
