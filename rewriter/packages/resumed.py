"""What the journal of an earlier run says of packages and of the files in them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rewriter.batch.files.journal import Entry, Journal, NoJournal
from rewriter.batch.outcome import TUNED, Outcome
from rewriter.batch.summary import Line

PACKED = "a package"
"""The reason in a line of the journal that is about a package, not about a file in one."""


def made(log: Journal | NoJournal, path: Path, original: str) -> bool:
    """Whether a file is what the journal says that the original with this SHA-256 became."""
    entry = log.before.get(os.fspath(path))
    return entry is not None and (entry.old, entry.new) == (original, digest(path))


def written(log: Journal | NoJournal, source: Path, target: Path) -> bool:
    """Whether a package was made of this source, and is there as it was written."""
    return target.is_file() and made(log, target, digest(source))


def note(log: Journal | NoJournal, source: Path, target: Path, data: bytes) -> None:
    """Writes down that a package has its name."""
    new = hashlib.sha256(data).hexdigest()
    log.add(Entry((os.fspath(target),), digest(source), new, Outcome(TUNED, PACKED)))


def finished(log: Journal | NoJournal, sources: Sequence[Path]) -> dict[Path, Path] | None:
    """The package that was made of each source, where all of them were and are there still."""
    packed = {e.old: Path(e.path) for e in log.before.values() if e.outcome.reason == PACKED}
    found: dict[Path, Path] = {}
    for source in sources if packed else ():
        target = packed.get(digest(source)) if source.is_file() else None
        if target is None or not written(log, source, target):
            return None
        found[source] = target
    return found or None


def lines(log: Journal | NoJournal, work: Path, packages: Mapping[str, str]) -> tuple[Line, ...]:
    """What became of the files below a folder, which has one of each package by its file's name.

    `packages` has the name of each package by the name of its file.
    """
    found = []
    for path, entry in sorted(log.before.items()):
        if Path(path).is_relative_to(work):
            file, _, inside = os.fspath(Path(path).relative_to(work)).partition("/")
            name, outcome = f"{packages.get(file, file)}:{inside}", entry.outcome
            found.append(Line(name, outcome.status, outcome.reason, outcome.figures, "journal"))
    return tuple(found)


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
