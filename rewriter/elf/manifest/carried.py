"""A manifest in a file: put there, found, taken off, and the way back to the original."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from rewriter.core.errors import BadInput, VerificationFailed
from rewriter.elf import compressed, emit, note
from rewriter.elf.emit import Patch
from rewriter.elf.manifest.record import Manifest
from rewriter.elf.manifest.stored import dump, parse


def attach(data: bytes, manifest: Manifest, label: str = "input") -> bytes:
    """Return the patched file `data` with its manifest in a note that nothing loads."""
    return note.attach(data, payload=dump(manifest, data), label=label)


def read(data: bytes, label: str = "input") -> Manifest | None:
    """Return the manifest that a file carries, None when it carries none.

    A file that was laid out anew (strip) still lists its edits; its patches are lost.
    """
    payload = note.find(data, label=label)
    if payload is None:
        return None
    try:
        before: bytes | None = note.detach(data, label=label)
    except BadInput:
        before = None
    return parse(payload, label, before)


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
    try:
        before = note.detach(data, label=label)
    except BadInput:
        parse(payload, label)  # what is wrong with the manifest itself is said first
        raise
    manifest = parse(payload, label, before)
    # note.detach believes the owner and the type that it finds.
    if note.attach(before, payload=payload, label=label) != data:
        raise BadInput(f"{label}: the note section is not as retune wrote it")
    return before, manifest


def revert(data: bytes, label: str = "input") -> bytes:
    """Return the original file, byte for byte, from the patched file alone."""
    return revert_with(*detach(data, label), label)


def revert_with(data: bytes, manifest: Manifest, label: str = "input") -> bytes:
    """Return the original file from a patched one without note and the manifest kept beside."""
    check_way_back(data, manifest, label)
    return b"".join(_taken_back(data, manifest))


def check_way_back(data: bytes, manifest: Manifest, label: str = "input") -> None:
    """That `revert_with` gives the original, which is not made: BadInput or VerificationFailed."""
    found = _sha256(data)
    if found == manifest.original:
        raise BadInput(f"{label}: is the original already; there is nothing to revert")
    if found != manifest.patched:
        raise BadInput(
            f"{label}: is not the file that the manifest describes",
            hint=f"SHA-256 {found[:16]}..., expected {manifest.patched[:16]}...",
        )
    digest = hashlib.sha256()
    for piece in _taken_back(data, manifest):
        digest.update(piece)
    if digest.hexdigest() != manifest.original:
        raise VerificationFailed(
            f"{label}: taking the edits back does not give the original",
            hint="the manifest contradicts itself",
        )


def _taken_back(data: bytes, manifest: Manifest) -> Iterator[bytes | memoryview]:
    """The original file, one piece after the other."""
    size = len(data) - len(manifest.appended) * data.endswith(manifest.appended)
    patches = (Patch(p.offset, p.new, p.old) for p in manifest.patches)
    return emit.pieces(memoryview(data)[:size], patches)


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
    return examine(old, new, label)[:2]


def examine(
    old: bytes, new: bytes, label: str = "input"
) -> tuple[bytes | None, tuple[str, ...], Manifest | None]:
    """What `compare` returns, and the manifest if nothing speaks against it."""
    if note.find(new, label=label) is None:
        return new, (), None
    try:
        bare, manifest = detach(new, label)
    except note.LaidOutAnew:
        raise
    except BadInput as error:
        return None, (str(error),), None
    try:
        same = revert_with(bare, manifest, label) == old
    except (BadInput, VerificationFailed) as error:
        return bare, (str(error),), None
    if not same:
        return bare, (f"{label}: its manifest leads back to another original",), None
    return bare, (), manifest


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
