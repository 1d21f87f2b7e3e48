"""Manifests as bytes (format 4; `older` has the formats before).

    bytes 0..4     b"RTM4"
    bytes 4..36    SHA-256 of the rest
    bytes 36..68   SHA-256 of the original
    bytes 68..100  SHA-256 of the patched file, without its note
    the rest       a block of columns

What stands in the patched file is not stored: the original is told by that file (`former`). Where
no such file is at hand, as for a manifest that lies beside, the changed bytes are stored.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from rewriter.core.errors import BadInput
from rewriter.core.varints import packed, unpacked
from rewriter.elf import compressed, emit
from rewriter.elf.compressed import Wrapping
from rewriter.elf.emit import APART, Patch, difference
from rewriter.elf.manifest import columns, edits, former, older
from rewriter.elf.manifest.checked import check, check_document
from rewriter.elf.manifest.record import FORMAT, Manifest

MAGIC = b"RTM4"
_DIGEST = hashlib.sha256().digest_size
_CONTENT = len(MAGIC) + _DIGEST
BLOCK = _CONTENT + 2 * _DIGEST

HEAD = 0
EDITS = 1
FORMER = EDITS + edits.NUMBER
PATCHES = FORMER + former.NUMBER
PLACES, CHANGED, APPENDED, WRAPPED = range(PATCHES, PATCHES + 4)

EDITS_AT_LEAST = 1 << 17
"""Edits that may be there, or as many as the manifest has bytes: each costs five bytes or more."""

MALFORMED = (
    lzma.LZMAError, zlib.error, ValueError, LookupError, TypeError, AttributeError, RecursionError,
    OverflowError,
)  # fmt: skip
"""What comes of reading bytes that `dump` did not write."""


def is_manifest(data: bytes) -> bool:
    """Whether `data` starts as a manifest of any format does."""
    return data.startswith((MAGIC, older.MAGIC))


def dump(manifest: Manifest, patched: bytes | None = None) -> bytes:
    """Return the manifest as bytes; the same manifest, the same bytes.

    With the patched file, which the manifest will ride in, what stands there is left out.
    """
    with columns.Packing() as packing:
        made, classes, evidence = edits.of_edits(manifest.edits)
        packing.add(dict(enumerate(made, EDITS)))
        document: dict[str, Any] = {
            "retune": manifest.retune,
            "target": manifest.target,
            "cpu": manifest.cpu,
            "options": dict(manifest.options),
            "skips": dict(manifest.skips),
            "classes": classes,
            "evidence": evidence,
        }
        told = None if patched is None else _told(manifest, patched)
        if told is not None:
            document["patches"] = len(manifest.patches)
            document["appended"] = len(manifest.appended)
            packing.add(dict(enumerate(told, FORMER)))
        else:
            packing.add(_spelled(manifest))
        if manifest.wrapping is not None:
            document["wrapping"] = compressed.as_json(manifest.wrapping) | {"stream": ""}
            packing.add({WRAPPED: manifest.wrapping.recipe.stream})
        packing.add({HEAD: _canonical(document)})
        digests = bytes.fromhex(manifest.original) + bytes.fromhex(manifest.patched)
        content = digests + packing.block()
    return MAGIC + hashlib.sha256(content).digest() + content


def _spelled(manifest: Manifest) -> dict[int, bytes]:
    """What changed, as it was and as it is."""
    edges = [0, *(edge for p in manifest.patches for edge in (p.offset, p.end))]
    return {
        PLACES: packed(np.array(edges[1:], np.int64) - np.array(edges[:-1], np.int64)),
        CHANGED: b"".join(side for p in manifest.patches for side in (p.new, p.old)),
        APPENDED: manifest.appended,
    }


def _told(manifest: Manifest, patched: bytes) -> list[bytes] | None:
    """The original told by the patched file; None where the two do not say all of the patches."""
    if hashlib.sha256(patched).hexdigest() != manifest.patched:
        return None
    whole = patched.removesuffix(manifest.appended)
    try:
        old = emit.apply(whole, (Patch(p.offset, p.new, p.old) for p in manifest.patches))
    except BadInput:
        return None
    if difference(old, whole, APART) != manifest.patches:
        return None
    return former.told(old, whole)


def parse(data: bytes, label: str = "manifest", patched: bytes | None = None) -> Manifest:
    """Return the manifest that `dump` made; BadInput says what is wrong with anything else.

    `patched` is the file that it rides in, without the note; without it the patches of a manifest
    that needs it are left out.
    """
    if not is_manifest(data):
        raise BadInput(f"{label}: not a manifest of retune: it starts with {data[:4].hex()!r}")
    magic = data[: len(MAGIC)]
    if hashlib.sha256(data[_CONTENT:]).digest() != data[len(MAGIC) : _CONTENT]:
        raise BadInput(f"{label}: the manifest is damaged: its checksum does not fit")
    try:
        found = older.parsed(data[_CONTENT:]) if magic == older.MAGIC else _parsed(data, patched)
        check(found)
        return found
    except BadInput as error:
        raise BadInput(f"{label}: {error.message}", hint=error.hint) from error
    except MALFORMED as error:
        raise BadInput(f"{label}: the manifest is malformed: {type(error).__name__}") from error


def _parsed(data: bytes, patched: bytes | None) -> Manifest:
    original, after = data[_CONTENT : _CONTENT + _DIGEST], data[_CONTENT + _DIGEST : BLOCK]
    found = columns.unpack(data[BLOCK:])
    document = json.loads(check_document(found.get(HEAD, b"")))
    taken = [found.get(number, b"") for number in range(PATCHES)]
    if len(taken[EDITS + edits.CLASSES]) > max(EDITS_AT_LEAST, len(data)):
        raise ValueError("number of edits")
    patches, appended, unread = _patches(document, found)
    if unread and patched is not None and hashlib.sha256(patched).digest() == after:
        end = len(patched) - document["appended"]
        whole, appended = patched[:end], patched[end:]
        old = former.untold(taken[FORMER:PATCHES], whole)
        patches, unread = difference(old, whole, APART), 0
    return Manifest(
        retune=document["retune"],
        target=document["target"],
        cpu=document["cpu"],
        original=original.hex(),
        patched=after.hex(),
        edits=tuple(edits.edits_of(taken[EDITS:FORMER], document["classes"], document["evidence"])),
        patches=patches,
        options=document["options"],
        skips=document["skips"],
        appended=appended,
        wrapping=_wrapping(document.get("wrapping"), found.get(WRAPPED, b"")),
        format=FORMAT,
        unread=unread,
    )


def _patches(
    document: Mapping[str, Any], found: Mapping[int, bytes]
) -> tuple[tuple[Patch, ...], bytes, int]:
    """The patches that are stored, what is appended, and how many patches the file itself has."""
    if "patches" in document:
        for name in ("patches", "appended"):
            if type(document[name]) is not int or document[name] < 0:
                raise ValueError(name)
        return (), b"", document["patches"]
    edges = np.cumsum(unpacked(found.get(PLACES, b""))).reshape(-1, 2).tolist()
    changed, at, patches = found.get(CHANGED, b""), 0, []
    for start, end in edges:
        size = end - start
        if size < 0 or at + 2 * size > len(changed):
            raise ValueError("sizes of patches")
        patches.append(Patch(start, changed[at + size : at + 2 * size], changed[at : at + size]))
        at += 2 * size
    if at != len(changed):
        raise ValueError("sizes of patches")
    return tuple(patches), found.get(APPENDED, b""), 0


def _canonical(document: Mapping[str, Any]) -> bytes:
    # ASCII: a name may hold bytes that are no UTF-8, kept as surrogates.
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return text.encode("ascii")


def _wrapping(document: Any, stream: bytes) -> Wrapping | None:
    if document is None:
        return None
    return compressed.from_json({**document, "stream": stream.hex()})
