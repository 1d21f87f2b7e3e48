"""Results by content and options, and proved patterns, in a folder that outlives a run.

    results/AB/CDEF...      one result: a line of JSON, then the bytes of the new file
    patterns/FINGERPRINT    decided patterns (`patterns`)
    functions/ABCD...       what the functions of one file became (`road/remembered`), asked for by
                            the file without its code, the options and the fingerprint

A result is asked for by the SHA-256 of the file, the options and the fingerprint of retune, and is
not believed alone: its checksum must fit, and its manifest lead back to the file. What is damaged
is worked out again. Who can write to the folder decides what is in the files: neither it nor a
folder in it may be open to everybody.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rewriter.api import choose, files
from rewriter.api.choose import Wanted
from rewriter.batch import patterns
from rewriter.batch.fingerprint import fingerprint
from rewriter.batch.outcome import BELOW, NOTHING, REFUSED, TUNED, Figures, Outcome
from rewriter.batch.task import Before
from rewriter.core.errors import BadInput, BadUsage
from rewriter.elf import manifest
from rewriter.elf.emit import unwritten
from rewriter.elf.headers import printable
from rewriter.elf.image import Image
from rewriter.road.remembered.keys import without_code
from rewriter.road.remembered.results import Results
from rewriter.verify.terms.remembered import Memory, remembering

_LASTING = frozenset({TUNED, NOTHING, BELOW, REFUSED})
"""What would be the same again."""

MOST = 1 << 30
"""Bytes of all files of the folder; what was written longest ago goes."""

Warn = Callable[[str], None]


class Cache:
    """A folder of results; `warn` is told of what is damaged."""

    def __init__(self, folder: Path, warn: Warn) -> None:
        self.folder, self.warn = folder, warn
        try:
            _make(folder)
            within = (folder, *folder.glob("*/"), *folder.glob("*/*/"))
            opened = [one for one in within if one.stat().st_mode & stat.S_IWOTH]
        except OSError as error:
            raise unwritten(f"cannot write {printable(str(folder))}", error) from error
        for one in opened:
            label = printable(str(one))
            raise BadUsage(f"{label}: everybody may write there", hint="chmod o-w, or another one")

    def get(self, data: bytes, wanted: Wanted, debug: bytes | None = None) -> Outcome | None:
        """What became of a file with such debug lines before; None where nobody knows."""
        path = self._path(data, wanted, debug)
        try:
            kept = files.read(path)
        except BadInput:
            return None
        try:
            return _result(kept, data)
        except (BadInput, LookupError, TypeError, ValueError):
            self.warn(f"{printable(str(path))}: damaged, and not used")
            return None

    def put(
        self, data: bytes, wanted: Wanted, outcome: Outcome, debug: bytes | None = None
    ) -> None:
        """Keeps what became of a file."""
        if outcome.status not in _LASTING:
            return
        new = outcome.data or b""
        head = {
            "status": outcome.status, "reason": outcome.reason,
            "figures": outcome.figures.as_json(),
        }  # fmt: skip
        rest = json.dumps(head).encode("ascii") + b"\n" + new
        digest = hashlib.sha256(rest).hexdigest().encode("ascii")
        self._write(self._path(data, wanted, debug), digest + b"\n" + rest)

    @contextmanager
    def reused(
        self, image: Image, wanted: Wanted, beside: Sequence[bytes] = ()
    ) -> Iterator[Results]:
        """Meanwhile one file is worked on: what is known of it already, and what is new is kept."""
        memory, before = self.remembered(), self.before(image, wanted, beside)
        results = Results.parse(before.results, before.salt)
        try:
            with remembering(memory):
                yield results
        finally:
            if results.damaged:
                path = printable(str(self._functions(before.name)))
                self.warn(f"{path}: {results.damaged} damaged, and not used")
        self.keep(before.name, results.dump())
        self.remember(memory)
        self.prune()

    def remembered(self) -> Memory:
        """The patterns that are kept; none where they are damaged."""
        memory, path = Memory(), self._patterns()
        try:
            memory.learn(patterns.parse(files.read(path)))
        except BadInput:
            pass
        except (patterns.Damaged, ValueError, IndexError):
            self.warn(f"{printable(str(path))}: damaged, and not used")
        return memory

    def remember(self, memory: Memory) -> None:
        """Keeps patterns, beside those that another run kept meanwhile."""
        path = self._patterns()
        with suppress(BadInput, ValueError, IndexError):
            memory.learn(patterns.parse(files.read(path)))
        self._write(path, patterns.dump(memory.decided))

    def before(self, image: Image, wanted: Wanted, beside: Sequence[bytes] = ()) -> Before:
        """What the functions of a file, or of one that hardly differs, became with such options.

        `beside` are other files that the run goes by.
        """
        salt = _hashed(_asked(wanted), *map(_hashed, beside), fingerprint().encode())
        name = _hashed(salt, without_code(image, image.executable_ranges())).hex()
        try:
            return Before(name, salt, files.read(self._functions(name)))
        except BadInput:
            return Before(name, salt, b"")

    def keep(self, name: str, results: bytes) -> None:
        """Keeps what functions became."""
        self._write(self._functions(name), results)

    def prune(self) -> None:
        """Takes away what was written longest ago, where all files are larger than `MOST`."""
        size = 0
        for _, bytes_, path in sorted(_files(self.folder), reverse=True):
            size += bytes_
            if size > MOST:
                with suppress(OSError):
                    path.unlink()

    def _functions(self, name: str) -> Path:
        return self.folder / "functions" / name

    def _path(self, data: bytes, wanted: Wanted, debug: bytes | None) -> Path:
        asked = _asked(wanted).decode()
        lines = "" if debug is None else hashlib.sha256(debug).hexdigest()
        parts = (hashlib.sha256(data).hexdigest(), lines, asked, fingerprint())
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self.folder / "results" / key[:2] / key[2:]

    def _patterns(self) -> Path:
        return self.folder / "patterns" / fingerprint()

    def _write(self, path: Path, data: bytes) -> None:
        """Writes a file that is whole or not there; a full disk only means that it is not kept."""
        aside = ""
        try:
            _make(path.parent)
            handle, aside = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(aside, path)
        except OSError as error:
            with suppress(OSError):
                os.unlink(aside)
            self.warn(f"{printable(str(path))}: not kept: {error.strerror}")


def _asked(wanted: Wanted) -> bytes:
    return json.dumps(asdict(choose.here(wanted)), sort_keys=True).encode()


def _make(folder: Path) -> None:
    """Makes a folder and those above it that are missing, in which others cannot write."""
    for one in reversed((folder, *folder.parents)):
        if not one.is_dir():
            one.mkdir(0o755, exist_ok=True)


def _hashed(*parts: bytes) -> bytes:
    return hashlib.sha256(b"\n".join(parts)).digest()


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """When each file below a folder was written, how large it is, and where; another run may take
    some away meanwhile."""
    for path in folder.rglob("*"):
        with suppress(OSError):
            about = path.lstat()
            if stat.S_ISREG(about.st_mode):
                yield about.st_mtime, about.st_size, path


def _result(kept: bytes, original: bytes) -> Outcome:
    """A kept result, checked."""
    digest, _, rest = kept.partition(b"\n")
    if hashlib.sha256(rest).hexdigest().encode("ascii") != digest:
        raise ValueError("checksum")
    head, _, new = rest.partition(b"\n")
    document: Mapping[str, Any] = json.loads(head)
    figures = Figures.from_json(document["figures"])
    status = document["status"]
    if status not in _LASTING or bool(new) != (status == TUNED):
        raise ValueError("status")
    if new and manifest.revert(new) != original:
        raise ValueError("original")
    return Outcome(status, document["reason"], figures, new or None)
