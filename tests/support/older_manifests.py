"""A writer of manifests of format 3, kept as it was when that format was written."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterator, Sequence
from typing import Any

from rewriter.elf import compressed
from rewriter.elf.manifest import Manifest

MAGIC = b"RTM1"
_TEXTS = ("technique", "kind", "routine", "old", "new")


def document(manifest: Manifest) -> tuple[dict[str, Any], bytes]:
    """The document of a manifest, and the bytes behind it."""
    strings: dict[str, int] = {}

    def number(text: str) -> int:
        return strings.setdefault(text, len(strings))

    kinds = list(dict.fromkeys(edit.evidence for edit in manifest.edits))
    edits: dict[str, Any] = {
        name: [number(getattr(edit, name)) for edit in manifest.edits] for name in _TEXTS
    }
    edits["id"] = [edit.id for edit in manifest.edits]
    edits["address"] = list(_distances([edit.address for edit in manifest.edits]))
    edits["gain"] = [edit.gain for edit in manifest.edits]
    edits["evidence"] = [kinds.index(edit.evidence) for edit in manifest.edits]
    evidence = [
        [
            e.grade.value, [number(text) for text in e.preconditions],
            [number(text) for text in e.patterns], e.cases, number(e.detail),
        ]
        for e in kinds
    ]  # fmt: skip
    found = {
        "format": 3,
        "edits": edits,
        "evidence": evidence,
        "patches": {
            "offset": list(_distances([patch.offset for patch in manifest.patches])),
            "size": [len(patch.old) for patch in manifest.patches],
        },
        "appended": len(manifest.appended),
        "strings": list(strings),
        "options": dict(manifest.options),
        "skips": dict(manifest.skips),
    }
    for name in ("retune", "target", "cpu", "original", "patched"):
        found[name] = getattr(manifest, name)
    if manifest.wrapping:
        found["wrapping"] = compressed.as_json(manifest.wrapping)
    sides = b"".join(side for patch in manifest.patches for side in (patch.old, patch.new))
    return found, sides + manifest.appended


def packed(document: dict[str, Any], raw: bytes) -> bytes:
    """A document and the bytes behind it as a manifest with the right checksum."""
    return checked(lzma.compress(json.dumps(document).encode() + b"\n" + raw))


def checked(stream: bytes) -> bytes:
    """A stream as a manifest with the right checksum."""
    return MAGIC + hashlib.sha256(stream).digest() + stream


def _distances(numbers: Sequence[int]) -> Iterator[int]:
    for before, here in zip((0, *numbers), numbers, strict=False):
        yield here - before
