"""Edits, their evidence, and patches as columns of a JSON document.

Columns are kept apart (all ids, all addresses as distances, ...) and every repeated text is stored
once: a libc has 10,000 edits. What is read may be anything: what it should not be raises
ValueError, LookupError, or TypeError.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from rewriter.core.edit import Edit, Evidence, Grade
from rewriter.elf.emit import Patch

_Value = TypeVar("_Value")
_TEXTS = ("technique", "kind", "routine", "old", "new")


class Strings:
    """Texts by number, in the order in which they are first met."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def of_edits(edits: Sequence[Edit], strings: Strings) -> tuple[dict[str, Any], list[list[Any]]]:
    """The columns of edits, and the rows of evidence that one of them names by number."""
    kinds = list(dict.fromkeys(edit.evidence for edit in edits))
    number = {evidence: at for at, evidence in enumerate(kinds)}
    columns: dict[str, Any] = {
        name: [strings(getattr(edit, name)) for edit in edits] for name in _TEXTS
    }
    # No two edits have the same id.
    columns["id"] = [edit.id for edit in edits]
    columns["address"] = _distances([edit.address for edit in edits])
    columns["gain"] = [edit.gain for edit in edits]
    columns["evidence"] = [number[edit.evidence] for edit in edits]
    return columns, [_evidence_row(evidence, strings) for evidence in kinds]


def _evidence_row(evidence: Evidence, strings: Strings) -> list[Any]:
    return [
        evidence.grade.value,
        [strings(text) for text in evidence.preconditions],
        [strings(text) for text in evidence.patterns],
        evidence.cases,
        strings(evidence.detail),
    ]


def of_patches(patches: Sequence[Patch]) -> dict[str, Any]:
    """Where patches are, and how long; their bytes are no JSON."""
    return {
        "offset": _distances([patch.offset for patch in patches]),
        "size": [len(patch.old) for patch in patches],
    }


def edits(
    columns: dict[str, list[Any]], evidence: Iterable[list[Any]], strings: list[str]
) -> Iterator[Edit]:
    """The edits that `of_edits` made columns and rows of."""
    shown = [_evidence(row, strings) for row in evidence]
    rows = zip(
        all_of(str, columns["id"]),
        *([strings[at] for at in columns[name]] for name in _TEXTS),
        _sums(columns["address"]),
        columns["evidence"],
        all_of(int, columns["gain"]),
        strict=True,
    )
    for name, technique, kind, routine, old, new, address, which, gain in rows:
        yield Edit(name, technique, kind, routine, address, old, new, shown[which], gain)


def _evidence(row: list[Any], strings: list[str]) -> Evidence:
    grade, preconditions, patterns, cases, detail = row
    return Evidence(
        Grade(grade),
        tuple(strings[at] for at in preconditions),
        tuple(strings[at] for at in patterns),
        cases,
        strings[detail],
    )


def patches(columns: dict[str, list[Any]], raw: bytes) -> Iterator[Patch]:
    """Patches, with each one's old bytes and its new ones."""
    at = 0
    for offset, size in _places(columns):
        yield Patch(offset, raw[at : at + size], raw[at + size : at + 2 * size])
        at += 2 * size
    if at != len(raw):
        raise ValueError("sizes of patches")


def patches_apart(columns: dict[str, list[Any]], raw: bytes) -> Iterator[Patch]:
    """Patches, with the old bytes of all and then the new ones of all."""
    at, new = 0, len(raw) // 2
    for offset, size in _places(columns):
        yield Patch(offset, raw[at : at + size], raw[new + at : new + at + size])
        at += size
    if 2 * at != len(raw):
        raise ValueError("sizes of patches")


def _places(columns: dict[str, list[Any]]) -> Iterator[tuple[int, int]]:
    return zip(_sums(columns["offset"]), all_of(int, columns["size"]), strict=True)


def all_of(kind: type[_Value], values: Iterable[Any]) -> list[_Value]:
    """Return the values, each of which must be of that very type (JSON has true beside 1)."""
    found = list(values)
    if any(type(value) is not kind for value in found):
        raise TypeError(f"not {kind.__name__}")
    return found


def _distances(numbers: Sequence[int]) -> list[int]:
    """Each number less the one before it: small, and alike."""
    return [here - before for before, here in zip((0, *numbers), numbers, strict=False)]


def _sums(distances: Iterable[int]) -> list[int]:
    total, numbers = 0, []
    for distance in all_of(int, distances):
        total += distance
        numbers.append(total)
    return numbers
