"""What is done, on the disk before anything is replaced: a run that was killed goes on from it.

A journal is a file of JSON documents, one a line. The first says which run it is: version and
digest of retune, policy, places. Each further one is about one file, by the SHA-256 of what it
was (`old`) and, where it became another, of what it is to be (`new`). The line is on the disk
before the new file takes its name, so that after a kill at any moment the file's own bytes say
which of the two was reached.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rewriter.batch.outcome import LOST, STATUSES, Figures, Outcome
from rewriter.core.errors import BadInput, BadUsage
from rewriter.elf.emit import sync_folder, unwritten
from rewriter.elf.headers import printable

FORMAT = 1
_BEGINNING = b'{"format":'


@dataclass(frozen=True)
class Entry:
    """One file's line; digests are SHA-256 in hexadecimal, `new` is empty where nothing changes.

    `names` are all names that the result takes, the first one first.
    """

    names: tuple[str, ...]
    old: str
    new: str
    outcome: Outcome

    @property
    def path(self) -> str:
        """The name that the file is known by."""
        return self.names[0]

    def as_json(self) -> dict[str, Any]:
        """The line's document."""
        return {
            "names": list(self.names), "old": self.old, "new": self.new,
            "status": self.outcome.status, "reason": self.outcome.reason,
            "figures": self.outcome.figures.as_json(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Entry:
        """What `as_json` gave; LookupError, TypeError or ValueError for anything else."""
        old, new, status, reason = (document[n] for n in ("old", "new", "status", "reason"))
        names = tuple(document["names"])
        if not names or not all(isinstance(t, str) for t in (*names, old, new, status, reason)):
            raise ValueError("entry")
        if status not in STATUSES:
            raise ValueError("status")
        figures = Figures.from_json(document["figures"])
        return cls(names, old, new, Outcome(status, reason, figures))


class Journal:
    """An open journal, locked so that no two runs write it.

    `run` is what files written aside are named by; `before` are the lines of earlier runs, the last
    one of each file, by path; `again` says that there was such a run, however early it ended.
    """

    def __init__(self, file: IO[bytes], run: str, before: dict[str, Entry], again: bool) -> None:
        self.file, self.run, self.before, self.again = file, run, before, again

    def add(self, entry: Entry) -> None:
        """Writes a line; it is on the disk when this returns."""
        _append(self.file, entry.as_json())

    def close(self) -> None:
        """Lets go of the file."""
        self.file.close()


class NoJournal:
    """Nothing is kept."""

    def __init__(self) -> None:
        self.run = secrets.token_hex(8)
        self.before: dict[str, Entry] = {}

    def add(self, entry: Entry) -> None:
        """Keeps nothing."""

    def close(self) -> None:
        """Nothing to close."""


def opened(path: Path, about: Mapping[str, Any]) -> Journal:
    """The journal at `path`, begun if there is none; `about` is which run it is, as JSON values.

    BadUsage where it is of a run with other options or in use; BadInput where it is damaged.
    """
    label = printable(str(path))
    try:
        file = open(path, "a+b")  # noqa: SIM115  # closed with the journal
    except OSError as error:
        raise unwritten(f"cannot write {label}", error) from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BadUsage(f"{label}: another run is writing this journal") from error
        return _resumed(file, label, about) or _begun(file, path, about)
    except BaseException:
        file.close()
        raise


def _begun(file: IO[bytes], path: Path, about: Mapping[str, Any]) -> Journal:
    run = secrets.token_hex(8)
    file.truncate(0)
    _append(file, {"format": FORMAT, "run": run, **about})
    sync_folder(path.parent)
    return Journal(file, run, {}, again=False)


def _resumed(file: IO[bytes], label: str, about: Mapping[str, Any]) -> Journal | None:
    """The journal as far as it was written; None where its first line was not."""
    file.seek(0)
    whole = file.read()
    kept = whole[: whole.rfind(b"\n") + 1]  # the last line of a killed run may lack its end
    if not kept:
        if not whole.startswith(_BEGINNING[: len(whole)]):
            raise BadInput(f"{label}: not a journal of retune")
        return None
    first, *lines = kept.splitlines()
    head = _document(first, f"{label}:1")
    _check(head, about, label)
    before: dict[str, Entry] = {}
    for number, line in enumerate(lines, 2):
        place = f"{label}:{number}"
        try:
            entry = Entry.from_json(_document(line, place))
        except (LookupError, TypeError, ValueError) as error:
            raise BadInput(f"{place}: not a line of a journal") from error
        before[entry.path] = entry
    file.truncate(len(kept))
    return Journal(file, head["run"], before, again=True)


def _document(line: bytes, place: str) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place}: the journal is damaged") from error
    if not isinstance(document, dict):
        raise BadInput(f"{place}: not a line of a journal")
    return document


def _check(head: Mapping[str, Any], about: Mapping[str, Any], label: str) -> None:
    """Refuses a journal of another run."""
    run = head.get("run")
    if head.get("format") != FORMAT or not isinstance(run, str) or not _is_run(run):
        raise BadInput(f"{label}: not a journal of this version of retune")
    wanted = json.loads(json.dumps(about))
    for key in wanted:
        if head.get(key) != wanted[key]:
            hint = "finish it with the same options, or name another journal"
            raise BadUsage(f"{label}: the journal is of a run with another {key}", hint=hint)


def _is_run(text: str) -> bool:
    return len(text) == 16 and all(c in "0123456789abcdef" for c in text)


def _append(file: IO[bytes], document: Mapping[str, Any]) -> None:
    line = json.dumps(document, separators=(",", ":")).encode("ascii")
    try:
        file.write(line + b"\n")
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:  # without a journal nothing more may be replaced
        raise unwritten("the journal cannot be written", error) from error


def settled(entry: Entry, found: str) -> bool:
    """Whether a file whose SHA-256 is `found` needs nothing more after this line."""
    return entry.outcome.status != LOST and found == (entry.new or entry.old)
