"""The manifest: what was changed in a file and on what evidence, and the way back.

A manifest is a checksummed, compressed JSON document with the bytes that changed behind it. It
rides in a note section that nothing loads (`attach`) or lies in a file beside. Its columns are kept
apart (all ids, all addresses as distances, ...) and every repeated text is stored once: a libc has
10,000 edits.

    bytes 0..4    b"RTM1"
    bytes 4..36   SHA-256 of the rest
    the rest      xz streams of the canonical document (ASCII, sorted keys, no spaces), a line
                  feed, each patch's old bytes and its new ones, and what stands behind the original

Format 2, which is still read, has the old bytes of all patches, then the new ones of all.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rewriter.core.edit import Edit, Evidence, Grade, Skip
from rewriter.core.errors import BadInput, VerificationFailed
from rewriter.elf import compressed, emit, note
from rewriter.elf.compressed import Wrapping
from rewriter.elf.emit import Patch
from rewriter.elf.streams import pack, unpack

FORMAT, _APART = 3, 2
MAGIC, DIGEST_SIZE = b"RTM1", 32
_DETAIL = re.compile(r"(.*?(?:differs?|is lost|is new)): ", re.DOTALL)
_MALFORMED = (lzma.LZMAError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
_Value = TypeVar("_Value")
_EDIT_TEXTS = ("technique", "kind", "routine", "old", "new")


@dataclass(frozen=True)
class Manifest:
    """What a patched file says of itself.

    `original` and `patched` are SHA-256 in hexadecimal: of the file as it was, and as it is
    before the note is attached. `options` are what the user chose, as JSON values; `skips` counts
    the sites that were left alone, by pass and reason. `appended` is what stands behind the
    original's last byte. `wrapping` is the gzip file that was around the original, if one was:
    `original` and `patched` are then of its content.
    """

    retune: str
    target: str
    cpu: str
    original: str
    patched: str
    edits: tuple[Edit, ...]
    patches: tuple[Patch, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    skips: Mapping[str, int] = field(default_factory=dict)
    appended: bytes = b""
    wrapping: Wrapping | None = None
    format: int = FORMAT

    @property
    def file_digest(self) -> str:
        """SHA-256 of the original file as it lay on the disk."""
        return self.wrapping.sha256 if self.wrapping else self.original


def record(
    original: bytes,
    patched: bytes,
    *,
    target: str,
    cpu: str,
    edits: Iterable[Edit],
    patches: Iterable[Patch],
    skips: Iterable[Skip] = (),
    options: Mapping[str, Any] | None = None,
) -> Manifest:
    """Return the manifest of a change from `original` to `patched` by this version of retune."""
    return Manifest(
        retune=version(),
        target=target,
        cpu=cpu,
        original=_sha256(original),
        patched=_sha256(patched),
        edits=tuple(edits),
        patches=tuple(patches),
        options=dict(options or {}),
        skips=_counted(skips),
        appended=patched[len(original) :],
    )


def _counted(skips: Iterable[Skip]) -> dict[str, int]:
    """How many sites were left alone, by pass and cause: they have few reasons."""
    found: Counter[str] = Counter()
    for (technique, reason), number in Counter((s.technique, s.reason) for s in skips).items():
        found[f"{technique}: {cause(reason)}"] += number
    return dict(found)


def version() -> str:
    """Return the version of retune that runs."""
    try:
        return importlib.metadata.version("retune")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def cause(reason: str) -> str:
    """Return the part of a skip's reason that other sites share: not the terms that differed."""
    found = _DETAIL.match(reason)
    return found[1] if found else reason


def dump(manifest: Manifest) -> bytes:
    """Return the manifest as bytes; the same manifest, the same bytes."""
    packed = pack(b"\n".join((_canonical(_document(manifest)), _raw(manifest))))
    return MAGIC + hashlib.sha256(packed).digest() + packed


def is_manifest(data: bytes) -> bool:
    """Whether `data` starts as `dump` does."""
    return data.startswith(MAGIC)


def parse(data: bytes, label: str = "manifest") -> Manifest:
    """Return the manifest that `dump` made; BadInput says what is wrong with anything else."""
    if not is_manifest(data):
        raise BadInput(f"{label}: not a manifest of retune: it starts with {data[:4].hex()!r}")
    start = len(MAGIC) + DIGEST_SIZE
    packed = data[start:]
    if hashlib.sha256(packed).digest() != data[len(MAGIC) : start]:
        raise BadInput(f"{label}: the manifest is damaged: its checksum does not fit")
    try:
        document, _, raw = unpack(packed).partition(b"\n")
        return _manifest(json.loads(document), raw)
    except BadInput as error:
        raise BadInput(f"{label}: {error.message}", hint=error.hint) from error
    except _MALFORMED as error:
        raise BadInput(f"{label}: the manifest is malformed: {type(error).__name__}") from error


def attach(data: bytes, manifest: Manifest, label: str = "input") -> bytes:
    """Return the patched file `data` with its manifest in a note that nothing loads."""
    return note.attach(data, payload=dump(manifest), label=label)


def read(data: bytes, label: str = "input") -> Manifest | None:
    """Return the manifest that a file carries, None when it carries none."""
    payload = note.find(data, label=label)
    return None if payload is None else parse(payload, label)


def detach(data: bytes, label: str = "input") -> tuple[bytes, Manifest]:
    """Return a patched file without its note, and the manifest that was in it.

    BadInput when there is none, or when note and headers are not exactly what `attach` makes.
    """
    payload = note.find(data, label=label)
    if payload is None:
        raise BadInput(
            f"{label}: carries no manifest",
            hint="it was not made by retune, or was stripped of its notes; use --manifest FILE",
        )
    manifest = parse(payload, label)
    before = note.detach(data, label=label)
    # note.detach believes the owner and the type that it finds.
    if note.attach(before, payload=payload, label=label) != data:
        raise BadInput(f"{label}: the note section is not as retune wrote it")
    return before, manifest


def revert(data: bytes, label: str = "input") -> bytes:
    """Return the original file, byte for byte, from the patched file alone."""
    return revert_with(*detach(data, label), label)


def revert_with(data: bytes, manifest: Manifest, label: str = "input") -> bytes:
    """Return the original file from a patched one without note and the manifest kept beside."""
    found = _sha256(data)
    if found == manifest.original:
        raise BadInput(f"{label}: is the original already; there is nothing to revert")
    if found != manifest.patched:
        raise BadInput(
            f"{label}: is not the file that the manifest describes",
            hint=f"SHA-256 {found[:16]}..., expected {manifest.patched[:16]}...",
        )
    whole = data.removesuffix(manifest.appended)
    original = emit.apply(whole, (Patch(p.offset, p.new, p.old) for p in manifest.patches))
    if _sha256(original) != manifest.original:
        raise VerificationFailed(
            f"{label}: taking the edits back does not give the original",
            hint="the manifest contradicts itself",
        )
    return original


def original_file(original: bytes, manifest: Manifest, label: str = "input") -> bytes:
    """Return the original file as it lay on the disk: `original`, or the gzip file around it."""
    if manifest.wrapping is None:
        return original
    return compressed.restore(original, manifest.wrapping, label)


def compare(old: bytes, new: bytes, label: str = "input") -> tuple[bytes | None, tuple[str, ...]]:
    """Return the file `new` without its note, if it has one, and what speaks against the note.

    None in place of the file when the note cannot be taken off.
    """
    if note.find(new, label=label) is None:
        return new, ()
    try:
        bare, manifest = detach(new, label)
    except BadInput as error:
        return None, (str(error),)
    try:
        same = revert_with(bare, manifest, label) == old
    except (BadInput, VerificationFailed) as error:
        return bare, (str(error),)
    return bare, () if same else (f"{label}: its manifest leads back to another original",)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _canonical(document: Mapping[str, Any]) -> bytes:
    # ASCII: a name may hold bytes that are no UTF-8, kept as surrogates.
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return text.encode("ascii")


class _Strings:
    """Texts by number, in the order in which they are first met."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def _document(manifest: Manifest) -> dict[str, Any]:
    strings = _Strings()
    kinds = list(dict.fromkeys(edit.evidence for edit in manifest.edits))
    number = {evidence: at for at, evidence in enumerate(kinds)}
    edits: dict[str, Any] = {
        name: [strings(getattr(edit, name)) for edit in manifest.edits] for name in _EDIT_TEXTS
    }
    # No two edits have the same id.
    edits["id"] = [edit.id for edit in manifest.edits]
    edits["address"] = _distances([edit.address for edit in manifest.edits])
    edits["gain"] = [edit.gain for edit in manifest.edits]
    edits["evidence"] = [number[edit.evidence] for edit in manifest.edits]
    return {
        "format": manifest.format,
        "retune": manifest.retune,
        "target": manifest.target,
        "cpu": manifest.cpu,
        "options": dict(manifest.options),
        "original": manifest.original,
        "patched": manifest.patched,
        "skips": dict(manifest.skips),
        "edits": edits,
        "evidence": [_evidence_row(evidence, strings) for evidence in kinds],
        "patches": _patch_columns(manifest.patches),
        "appended": len(manifest.appended),
        "strings": list(strings.numbers),
    } | ({"wrapping": compressed.as_json(manifest.wrapping)} if manifest.wrapping else {})


def _evidence_row(evidence: Evidence, strings: _Strings) -> list[Any]:
    return [
        evidence.grade.value,
        [strings(text) for text in evidence.preconditions],
        [strings(text) for text in evidence.patterns],
        evidence.cases,
        strings(evidence.detail),
    ]


def _patch_columns(patches: Sequence[Patch]) -> dict[str, Any]:
    return {
        "offset": _distances([patch.offset for patch in patches]),
        "size": [len(patch.old) for patch in patches],
    }


def _raw(manifest: Manifest) -> bytes:
    # Old code is near the new code that is like it: less is left for the compression to do.
    sides = (side for patch in manifest.patches for side in (patch.old, patch.new))
    return b"".join((*sides, manifest.appended))


def _manifest(document: dict[str, Any], raw: bytes) -> Manifest:
    if document["format"] not in (FORMAT, _APART):
        raise BadInput(
            f"the manifest has format {document['format']}, this retune reads {_APART} to {FORMAT}",
            hint=f"it was written by retune {document.get('retune')}",
        )
    strings = _all(str, document["strings"])
    evidence = [_evidence(row, strings) for row in document["evidence"]]
    texts = ("retune", "target", "cpu", "original", "patched")
    _all(str, [document[name] for name in texts] + list(document["skips"]))
    (appended,) = _all(int, [document["appended"]])
    if not 0 <= appended <= len(raw):
        raise ValueError("size of what is appended")
    _all(int, list(document["skips"].values()))
    return Manifest(
        **{name: document[name] for name in texts},
        edits=tuple(_edits(document["edits"], strings, evidence)),
        patches=tuple(_patches(document, raw[: len(raw) - appended])),
        options=dict(document["options"]),
        skips=document["skips"],
        appended=raw[len(raw) - appended :],
        wrapping=_wrapping(document.get("wrapping")),
    )


def _wrapping(document: Any) -> Wrapping | None:
    return None if document is None else compressed.from_json(document)


def _evidence(row: list[Any], strings: list[str]) -> Evidence:
    grade, preconditions, patterns, cases, detail = row
    return Evidence(
        Grade(grade),
        tuple(strings[at] for at in preconditions),
        tuple(strings[at] for at in patterns),
        cases,
        strings[detail],
    )


def _edits(
    columns: dict[str, list[Any]], strings: list[str], evidence: list[Evidence]
) -> Iterable[Edit]:
    rows = zip(
        _all(str, columns["id"]),
        *([strings[at] for at in columns[name]] for name in _EDIT_TEXTS),
        _sums(columns["address"]),
        columns["evidence"],
        _all(int, columns["gain"]),
        strict=True,
    )
    for name, technique, kind, routine, old, new, address, shown, gain in rows:
        yield Edit(name, technique, kind, routine, address, old, new, evidence[shown], gain)


def _patches(document: dict[str, Any], raw: bytes) -> Iterable[Patch]:
    columns, apart = document["patches"], document["format"] == _APART
    at = 0
    for offset, size in zip(_sums(columns["offset"]), _all(int, columns["size"]), strict=True):
        new = at + len(raw) // 2 if apart else at + size
        yield Patch(offset, raw[at : at + size], raw[new : new + size])
        at += size if apart else 2 * size
    if at * (2 if apart else 1) != len(raw):
        raise ValueError("sizes of patches")


def _all(kind: type[_Value], values: Iterable[Any]) -> list[_Value]:
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
    for distance in _all(int, distances):
        total += distance
        numbers.append(total)
    return numbers
