"""Manifests of formats 2 and 3, which are read and no longer written.

    bytes 0..4    b"RTM1"
    bytes 4..36   SHA-256 of the rest
    the rest      xz streams of a JSON document, a line feed, the bytes of patches, and what stands
                  behind the original

Format 3 has each patch's old bytes and then its new ones; format 2 the old bytes of all patches,
then the new ones of all. Columns of the document name texts by their number. What is read may be
anything: what it should not be raises BadInput, ValueError, LookupError, or TypeError.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from rewriter.core.edit import Edit, Evidence, Grade
from rewriter.core.errors import BadInput
from rewriter.elf import compressed
from rewriter.elf.compressed import Wrapping
from rewriter.elf.emit import Patch
from rewriter.elf.manifest.checked import DOCUMENT, check_document
from rewriter.elf.manifest.record import FORMAT, Manifest
from rewriter.elf.manifest.streams import unpack

MAGIC = b"RTM1"
BY_TURNS, APART = 3, 2
"""Formats, by how old and new bytes follow each other."""

_TIMES = 16
"""Times its packed size that a document may have, if it has more than DOCUMENT."""

_Value = TypeVar("_Value")
_TEXTS = ("technique", "kind", "routine", "old", "new")


def parsed(packed: bytes) -> Manifest:
    """The manifest in xz streams."""
    text = unpack(packed)
    document, _, raw = text.partition(b"\n")
    del text
    largest = max(DOCUMENT, _TIMES * len(packed))
    return _manifest(json.loads(check_document(document, largest)), raw)


def _manifest(document: dict[str, Any], raw: bytes) -> Manifest:
    if document["format"] not in (BY_TURNS, APART):
        raise BadInput(
            f"the manifest has format {document['format']}, this retune reads {APART} to {FORMAT}",
            hint=f"it was written by retune {document.get('retune')}",
        )
    patches = _patches_apart if document["format"] == APART else _patches_by_turns
    strings = _all_of(str, document["strings"])
    texts = ("retune", "target", "cpu", "original", "patched")
    _all_of(str, [document[name] for name in texts] + list(document["skips"]))
    (appended,) = _all_of(int, [document["appended"]])
    if not 0 <= appended <= len(raw):
        raise ValueError("size of what is appended")
    _all_of(int, list(document["skips"].values()))
    return Manifest(
        **{name: document[name] for name in texts},
        edits=tuple(_edits(document["edits"], document["evidence"], strings)),
        patches=tuple(patches(document["patches"], raw[: len(raw) - appended])),
        options=dict(document["options"]),
        skips=document["skips"],
        appended=raw[len(raw) - appended :],
        wrapping=_wrapping(document.get("wrapping")),
        format=document["format"],
    )


def _wrapping(document: Any) -> Wrapping | None:
    return None if document is None else compressed.from_json(document)


def _edits(
    columns: dict[str, list[Any]], evidence: Iterable[list[Any]], strings: list[str]
) -> Iterator[Edit]:
    """Edits from columns, and their evidence from rows that they name by number."""
    shown = [_evidence(row, strings) for row in evidence]
    rows = zip(
        _all_of(str, columns["id"]),
        *([_at(strings, at) for at in columns[name]] for name in _TEXTS),
        _sums(columns["address"]),
        columns["evidence"],
        _all_of(int, columns["gain"]),
        strict=True,
    )
    for name, technique, kind, routine, old, new, address, which, gain in rows:
        yield Edit(name, technique, kind, routine, address, old, new, _at(shown, which), gain)


def _evidence(row: list[Any], strings: list[str]) -> Evidence:
    grade, preconditions, patterns, cases, detail = row
    return Evidence(
        Grade(grade),
        tuple(_at(strings, at) for at in preconditions),
        tuple(_at(strings, at) for at in patterns),
        cases,
        _at(strings, detail),
    )


def _patches_by_turns(columns: dict[str, list[Any]], raw: bytes) -> Iterator[Patch]:
    """Patches, with each one's old bytes and its new ones."""
    at = 0
    for offset, size in _places(columns):
        yield Patch(offset, raw[at : at + size], raw[at + size : at + 2 * size])
        at += 2 * size
    if at != len(raw):
        raise ValueError("sizes of patches")


def _patches_apart(columns: dict[str, list[Any]], raw: bytes) -> Iterator[Patch]:
    """Patches, with the old bytes of all and then the new ones of all."""
    at, new = 0, len(raw) // 2
    for offset, size in _places(columns):
        yield Patch(offset, raw[at : at + size], raw[new + at : new + at + size])
        at += size
    if 2 * at != len(raw):
        raise ValueError("sizes of patches")


def _places(columns: dict[str, list[Any]]) -> Iterator[tuple[int, int]]:
    return zip(_sums(columns["offset"]), _all_of(int, columns["size"]), strict=True)


def _all_of(kind: type[_Value], values: Iterable[Any]) -> list[_Value]:
    """Return the values, each of which must be of that very type (JSON has true beside 1)."""
    found = list(values)
    if any(type(value) is not kind for value in found):
        raise TypeError(f"not {kind.__name__}")
    return found


def _at(values: Sequence[_Value], number: Any) -> _Value:
    """The value of that number: not one that counts from the end."""
    if type(number) is not int or number < 0:
        raise ValueError("a number of a text")
    return values[number]


def _sums(distances: Iterable[int]) -> list[int]:
    total, numbers = 0, []
    for distance in _all_of(int, distances):
        total += distance
        numbers.append(total)
    return numbers
