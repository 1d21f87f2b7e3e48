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
from rewriter.core.varints import Numbers, packed, packed_signed, unpacked, unpacked_signed

CLASSES, GAINS, ROUTINES, NAMES, STARTS, OFFSETS, TEXTS, ODD, IDS = range(9)
NUMBER = 9
"""How many columns `of_edits` gives."""

_OFFSET = re.compile(r"\+([0-9a-f]{1,16})\Z")
_SPECIAL = re.compile(r"[\\\n]")
_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)
_PLAIN = {"\\": "\\", "n": "\n", "e": ""}
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
    columns[CLASSES] = packed(_row(classes[key] for key in keys))
    columns[GAINS] = packed_signed(_row(edit.gain for edit in edits))
    columns[ROUTINES] = _differences(numbers[edit.routine] for edit in edits)
    columns[NAMES] = _lines(
        "" if name == _made(at) else _escaped(name) or r"\e" for name, at in starts.items()
    )
    columns[STARTS] = _differences(starts.values())
    columns[OFFSETS] = packed_signed(_row(edit.address - starts[edit.routine] for edit in edits))
    columns[TEXTS] = _lines(_escaped(text) for edit in edits for text in (edit.old, edit.new))
    columns[ODD] = _differences(odd)
    columns[IDS] = _lines(_escaped(edits[n].id) for n in odd)
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
        _unescaped(line) if line else _made(at)
        for line, at in zip(_lines_of(columns[NAMES]), starts, strict=True)
    ]
    texts = map(_unescaped, _lines_of(columns[TEXTS]))
    ids = dict(zip(_sums(columns[ODD]).tolist(), _lines_of(columns[IDS]), strict=True))
    found: list[Edit] = []
    for at, which, offset, gain, old, new in zip(
        unpacked(columns[CLASSES]).tolist(), _sums(columns[ROUTINES]).tolist(),
        unpacked_signed(columns[OFFSETS]).tolist(), unpacked_signed(columns[GAINS]).tolist(),
        texts, texts, strict=True,
    ):  # fmt: skip
        (technique, kind, shown), start = kinds[at], starts[_number(which)]
        routine, address = names[which], start + offset & _MASK
        odd = ids.get(len(found))
        name = _named(technique, routine, address, start) if odd is None else _unescaped(odd)
        found.append(Edit(name, technique, kind, routine, address, old, new, shown, gain))
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


def _differences(numbers: Iterable[int]) -> bytes:
    return packed_signed(np.diff(_row(numbers), prepend=np.int64(0)))


def _sums(column: bytes) -> Numbers:
    return np.cumsum(unpacked_signed(column))


def _escaped(text: str) -> str:
    """A text as one line: a backslash becomes two, a line feed a backslash and an n."""
    return _SPECIAL.sub(lambda found: r"\n" if found[0] == "\n" else r"\\", text)


def _unescaped(line: str) -> str:
    return _ESCAPE.sub(lambda found: _PLAIN[found[1]], line) if "\\" in line else line


def _lines(lines: Iterable[str]) -> bytes:
    """Lines as UTF-8; names that are none are kept as lone surrogates."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def _lines_of(column: bytes) -> Iterator[str]:
    lines = column.decode("utf-8", "surrogatepass").split("\n")
    if lines.pop():
        raise ValueError("a line that does not end")
    return iter(lines)
