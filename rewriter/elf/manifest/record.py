"""What was changed in a file and on what evidence: a record, made when the file is patched."""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewriter.core.edit import Edit, Skip
from rewriter.elf.compressed import Wrapping
from rewriter.elf.emit import Patch

FORMAT = 4
"""The format that is written; docs/format.md has them all."""
_DETAIL = re.compile(r"(.*?(?:differs?|is lost|is new)): ", re.DOTALL)


@dataclass(frozen=True)
class Manifest:
    """What a patched file says of itself.

    `original` and `patched` are SHA-256 in hexadecimal: of the file as it was, and as it is
    before the note is attached. `options` are what the user chose, as JSON values; `skips` counts
    the sites that were left alone, by pass and reason. `appended` is what stands behind the
    original's last byte. `wrapping` is the gzip file that was around the original, if one was:
    `original` and `patched` are then of its content. `unread` are the patches that cannot be read
    because the file that carries the manifest was changed afterwards: `patches` is then empty.
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
    unread: int = 0

    @property
    def places(self) -> int:
        """How many patches there are, also where they cannot be read."""
        return self.unread or len(self.patches)

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


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
