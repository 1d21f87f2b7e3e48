"""What a manifest's values may be: a hostile one says nothing that programs cannot take.

Types first, then ranges. BadInput names the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rewriter.core.edit import Edit, Evidence, Skip
from rewriter.core.errors import BadInput
from rewriter.elf.manifest.record import Manifest

DOCUMENT = 4 << 20
"""Bytes of JSON that are read."""
_NESTED = 1 << 16
"""Lists and objects that a document may hold: each costs twenty times its two characters."""
_ADDRESS, _COUNT = 1 << 64, 1 << 53
"""Addresses have 64 bits; counts are exact in any reader of JSON."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


def check_document(text: bytes, largest: int = DOCUMENT, nested: int = _NESTED) -> bytes:
    """JSON text that may be read: BadInput for one that would take many times its size."""
    if len(text) > largest:
        raise BadInput(f"the manifest is malformed: its document has {len(text)} bytes")
    if text.count(b"[") + text.count(b"{") > nested:
        raise BadInput("the manifest is malformed: its document has too many lists")
    return text


def check(manifest: Manifest) -> None:
    """BadInput that names the field, where a value is none that `record` makes."""
    for name in ("retune", "target", "cpu"):
        _text(getattr(manifest, name), name)
        _must(getattr(manifest, name).isprintable(), name)
    for name in ("original", "patched"):
        _text(getattr(manifest, name), name)
        _must(_DIGEST.fullmatch(getattr(manifest, name)) is not None, name)
    _check_options(manifest.options)
    _must(isinstance(manifest.skips, Mapping), "skips")
    for reason, number in manifest.skips.items():
        _text(reason, "skips")
        _number(number, "skips", 0, _COUNT)
    check_edits(manifest.edits)
    reached = 0
    for patch in manifest.patches:
        _must(patch.offset >= reached, "offset of a patch")
        reached = patch.end


def _check_options(options: Any) -> None:
    """What a user chose: texts, numbers, and rows of texts."""
    _must(isinstance(options, Mapping), "options")
    for name, value in options.items():
        _text(name, "options")
        plain = value is None or type(value) in (str, bool)
        if type(value) is int:
            _number(value, "options", -_COUNT, _COUNT)
        elif not plain:
            _must(isinstance(value, list | tuple), "options")
            _texts(value, "options")


def check_edits(edits: Iterable[Edit]) -> None:
    """BadInput that names the field, where an edit says what no manifest may."""
    seen: set[int] = set()
    for edit in edits:
        texts = (edit.id, edit.technique, edit.kind, edit.routine, edit.old, edit.new)
        _texts(texts, "text of an edit")
        _must(edit.technique.isprintable(), "pass of an edit")
        _number(edit.address, "address of an edit", 0, _ADDRESS)
        _number(edit.gain, "gain of an edit", -_COUNT, _COUNT)
        if id(edit.evidence) not in seen:
            seen.add(id(edit.evidence))
            check_evidence(edit.evidence)


def check_skip(skip: Skip) -> None:
    """BadInput where what is said of a site that was left alone is no text, or its place none."""
    _texts((skip.technique, skip.kind, skip.routine, skip.reason), "text of a skip")
    _number(skip.address, "address of a skip", 0, _ADDRESS)


def check_evidence(evidence: Evidence) -> None:
    """BadInput that names the field, where evidence says what no manifest may."""
    _number(evidence.cases, "cases of an edit's evidence", 0, _COUNT)
    _text(evidence.detail, "detail of an edit's evidence")
    _texts(evidence.preconditions, "preconditions of an edit's evidence")
    _texts(evidence.patterns, "patterns of an edit's evidence")


def _number(value: Any, field: str, least: int, beyond: int) -> None:
    # JSON has true beside 1, and 1.0.
    _must(type(value) is int and least <= value < beyond, field)


def _text(value: Any, field: str) -> None:
    _must(type(value) is str, field)


def _texts(values: Iterable[Any], field: str) -> None:
    for value in values:
        _text(value, field)


def _must(holds: bool, field: str) -> None:
    if not holds:
        raise BadInput(f"the manifest is malformed: {field}")
