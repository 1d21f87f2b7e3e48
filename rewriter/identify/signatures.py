"""Signatures of known routines: what identifies one, and the text that a database is kept as.

A signature holds no code.  Of a routine it has the number of words, a hash of its first words in
the target's coarse form (which finds candidates), and the SHA-256 of all words in the target's
normal form (which decides).  The normal form follows from the words themselves, so no mask needs
to be kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewriter.core.errors import BadInput
from rewriter.core.isa.operands import Words
from rewriter.core.target.protocol import Sequential

FORMAT = 1
LONGEST_START = 8  # words of a routine that the search looks at first
SHORTEST = 3  # words: less says nothing
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no word is lost modulo 2**64


@dataclass(frozen=True, slots=True, order=True)
class File:
    """A file that signatures came from; `note` is what the user says of it."""

    name: str
    sha256: str
    compiler: str
    note: str

    @property
    def key(self) -> str:
        """What tells it from other files of a database."""
        return self.sha256[:16]


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Where a routine was seen: in a file, in what inside it (a member), under which symbol."""

    file: File
    inside: str
    symbol: str

    @property
    def place(self) -> str:
        """The file and what inside it."""
        apart = ":" if self.inside and not self.inside.startswith("(") else ""
        return f"{self.file.name}{apart}{self.inside}"

    def __str__(self) -> str:
        return f"{self.place} {self.symbol}"


@dataclass(frozen=True, slots=True)
class Signature:
    """One routine; `routine` is the name of its contract, `words` its length."""

    routine: str
    words: int
    start: int
    digest: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Database:
    """Signatures for one target, in one order whatever order they were made in."""

    target: str
    signatures: tuple[Signature, ...]

    @classmethod
    def of(cls, target: str, signatures: Iterable[Signature]) -> Database:
        """The same routine from several sources becomes one signature."""
        found: dict[tuple[str, int, int, str], set[Source]] = {}
        for s in signatures:
            found.setdefault((s.routine, s.words, s.start, s.digest), set()).update(s.sources)
        return cls(
            target,
            tuple(
                Signature(*key, tuple(sorted(sources))) for key, sources in sorted(found.items())
            ),
        )

    @classmethod
    def merged(cls, target: str, databases: Iterable[Database]) -> Database:
        """All signatures of several; BadInput when one is for another target."""
        parts = list(databases)
        for part in parts:
            if part.target != target:
                raise BadInput(f"signatures for {part.target} do not fit a file for {target}")
        return cls.of(target, (s for part in parts for s in part.signatures))

    def routines(self) -> tuple[str, ...]:
        """The routines that it knows."""
        return tuple(sorted({s.routine for s in self.signatures}))

    def text(self) -> str:
        """The database as it is kept: JSON, a signature an entry."""
        files = {source.file.key: source.file for s in self.signatures for source in s.sources}
        document = {
            "format": FORMAT,
            "target": self.target,
            "files": {
                key: {"name": f.name, "sha256": f.sha256, "compiler": f.compiler, "note": f.note}
                for key, f in sorted(files.items(), key=lambda item: item[1])
            },
            "signatures": [_entry(s) for s in self.signatures],
        }
        return json.dumps(document, indent=1) + "\n"


def _entry(signature: Signature) -> dict[str, Any]:
    return {
        "routine": signature.routine,
        "words": signature.words,
        "start": f"{signature.start:016x}",
        "normal": signature.digest,
        "from": [f"{s.file.key} {s.inside} {s.symbol}" for s in signature.sources],
    }


NO_FILE = File("", "", "", "")
"""Where a signature was seen, as long as the file is still being read."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A function that carries a routine's name and gave no signature."""

    inside: str
    symbol: str
    reason: str


def shipped(target: Sequential) -> Database:
    """The signatures that come with retune."""
    return parse(target.signatures.read_text(encoding="utf-8"), target.signatures.name)


def parse(text: str | bytes, name: str) -> Database:
    """A database from its text; BadInput says what is wrong."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{name}: no signature database: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        found = document.get("format") if isinstance(document, dict) else None
        raise BadInput(f"{name}: no signature database: format is {found!r}, expected {FORMAT}")
    try:
        files = {key: File(**entry) for key, entry in document["files"].items()}
        target = str(document["target"])
        return Database.of(target, [_signature(entry, files) for entry in document["signatures"]])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"{name}: damaged signature database: {error!r}") from error


def _signature(entry: Mapping[str, Any], files: Mapping[str, File]) -> Signature:
    words, digest = int(entry["words"]), str(entry["normal"])
    if words < SHORTEST or len(bytes.fromhex(digest)) != 32:
        raise ValueError(f"{words} words, SHA-256 {digest}")
    sources = tuple(
        Source(files[key], inside, symbol)
        for key, inside, symbol in (text.split(" ", 2) for text in entry["from"])
    )
    return Signature(str(entry["routine"]), words, int(entry["start"], 16), digest, sources)


def digest(normal: Words) -> str:
    """SHA-256 of words in normal form, little-endian whatever the file is."""
    return hashlib.sha256(normal.astype(normal.dtype.newbyteorder("<")).tobytes()).hexdigest()


def starts(coarse: Words) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """For each length up to the longest start, its hash at every position where it fits."""
    words = coarse.astype(np.uint64)
    hashes = np.zeros(len(words) + 1, dtype=np.uint64)
    for length in range(1, LONGEST_START + 1):
        if length > len(words):
            return
        hashes = hashes[: len(words) - length + 1] * _FACTOR + words[length - 1 :]
        yield length, hashes


def start_of(coarse: Words) -> int:
    """The hash of a routine's first words."""
    found = 0
    for _, hashes in starts(coarse[:LONGEST_START]):
        found = int(hashes[0])
    return found
