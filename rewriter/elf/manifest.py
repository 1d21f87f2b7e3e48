"""The manifest: what was changed in a file and on what evidence, and the way back.

A manifest is a checksummed, compressed JSON document with the bytes that changed behind it. It
rides in a note section that nothing loads (`attach`) or lies in a file beside.

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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewriter.core.edit import Edit, Skip
from rewriter.core.errors import BadInput, VerificationFailed
from rewriter.elf import compressed, emit, note
from rewriter.elf import manifest_columns as columns
from rewriter.elf.compressed import Wrapping
from rewriter.elf.emit import Patch
from rewriter.elf.streams import pack, unpack

FORMAT, _APART = 3, 2
MAGIC, DIGEST_SIZE = b"RTM1", 32
_DETAIL = re.compile(r"(.*?(?:differs?|is lost|is new)): ", re.DOTALL)
_MALFORMED = (lzma.LZMAError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


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

    None in place of the file when the note cannot be taken off; LaidOutAnew when that is because
    another tool laid the file out anew.
    """
    if note.find(new, label=label) is None:
        return new, ()
    try:
        bare, manifest = detach(new, label)
    except note.LaidOutAnew:
        raise
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


def _document(manifest: Manifest) -> dict[str, Any]:
    strings = columns.Strings()
    edits, evidence = columns.of_edits(manifest.edits, strings)
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
        "evidence": evidence,
        "patches": columns.of_patches(manifest.patches),
        "appended": len(manifest.appended),
        "strings": list(strings.numbers),
    } | ({"wrapping": compressed.as_json(manifest.wrapping)} if manifest.wrapping else {})


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
    patches = columns.patches_apart if document["format"] == _APART else columns.patches
    strings = columns.all_of(str, document["strings"])
    texts = ("retune", "target", "cpu", "original", "patched")
    columns.all_of(str, [document[name] for name in texts] + list(document["skips"]))
    (appended,) = columns.all_of(int, [document["appended"]])
    if not 0 <= appended <= len(raw):
        raise ValueError("size of what is appended")
    columns.all_of(int, list(document["skips"].values()))
    return Manifest(
        **{name: document[name] for name in texts},
        edits=tuple(columns.edits(document["edits"], document["evidence"], strings)),
        patches=tuple(patches(document["patches"], raw[: len(raw) - appended])),
        options=dict(document["options"]),
        skips=document["skips"],
        appended=raw[len(raw) - appended :],
        wrapping=_wrapping(document.get("wrapping")),
    )


def _wrapping(document: Any) -> Wrapping | None:
    return None if document is None else compressed.from_json(document)
