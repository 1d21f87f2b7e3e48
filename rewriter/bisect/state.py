"""What was tested already, kept in a file so that a search can go on later."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewriter.bisect.search import Outcome
from rewriter.core.errors import BadInput, RetuneError
from rewriter.elf.headers import printable

_VERSION = 1


def key(candidate: bytes) -> str:
    """What a candidate is known by."""
    return hashlib.sha256(candidate).hexdigest()


def what(old: bytes, new: bytes, command: Sequence[str]) -> str:
    """What a search is about: two files and a command, as one digest."""
    parts = (key(old), key(new), *(key(os.fsencode(word)) for word in command))
    return key("\n".join(parts).encode("ascii"))


@dataclass
class State:
    """Outcomes by candidate, of one search; each is written to the file as it comes.

    Without a file nothing is kept.
    """

    path: Path | None
    outcomes: dict[str, Outcome]

    @classmethod
    def opened(cls, path: Path | None, about: str) -> State:
        """Goes on with the search in the file, or begins one; BadInput for that of another."""
        if path is None:
            return cls(None, {})
        shown = printable(str(path))
        if not path.exists():
            state = cls(path, {})
            state._add({"retune-bisect": _VERSION, "about": about})
            return state
        try:
            head, *lines = list(_documents(path))
            if head.get("retune-bisect") != _VERSION:
                raise ValueError
            found = {str(line["candidate"]): Outcome(line["outcome"]) for line in lines}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput(f"{shown}: is no state of a search", hint="name another file") from error
        if head.get("about") != about:
            raise BadInput(
                f"{shown}: is of a search with other files or another command",
                hint="remove it, or name another",
            )
        return cls(path, found)

    def add(self, candidate: str, outcome: Outcome) -> None:
        """One more outcome, on the disk when this returns."""
        self.outcomes[candidate] = outcome
        self._add({"candidate": candidate, "outcome": outcome.value})

    def _add(self, document: dict[str, object]) -> None:
        if self.path is None:
            return
        try:
            with self.path.open("ab") as file:
                file.write(json.dumps(document).encode("ascii") + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            shown = printable(str(self.path))
            raise RetuneError(f"{shown}: cannot be written: {error.strerror}") from error


def _documents(path: Path) -> Iterator[dict[str, object]]:
    lines: Iterable[bytes] = path.read_bytes().split(b"\n")
    # The last line may have been cut off by an end in the middle of it.
    *whole, _ = lines
    for line in whole:
        yield json.loads(line)
