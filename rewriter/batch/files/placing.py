"""How a result takes the name of its file: in one step, and all that belongs to the file stays.

The bytes go to a file aside in the same folder, with owner, mode, extended attributes and times,
and to the disk; then that file takes the name. Further names of the same file (hard links) become
names of the new one. What cannot be kept is an error, and then nothing was replaced.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewriter.batch.find import ASIDE, walk
from rewriter.core.errors import BadUsage
from rewriter.elf.emit import CannotWrite, sync_folder
from rewriter.elf.headers import printable


@dataclass(frozen=True)
class Times:
    """Which times a new file gets: those of the file that it replaces, or its own.

    `latest` is the latest time of modification that it may have, in seconds since 1970.
    """

    kept: bool = False
    latest: int | None = None

    @classmethod
    def asked(cls, keep: bool) -> Times:
        """What an option and the environment (SOURCE_DATE_EPOCH) ask for."""
        said = os.environ.get("SOURCE_DATE_EPOCH", "")
        if said and not (said.isascii() and said.isdigit()):
            raise BadUsage(f"SOURCE_DATE_EPOCH={said}: not a number of seconds")
        return cls(keep, int(said) if said else None)

    def of(self, like: os.stat_result) -> tuple[int, int]:
        """Times of access and modification, in nanoseconds."""
        if self.kept:
            return like.st_atime_ns, like.st_mtime_ns
        now = time.time_ns()
        latest = now if self.latest is None else min(now, self.latest * 10**9)
        return now, latest


class Placer:
    """Writes files for one run; what it writes aside is named by the run."""

    def __init__(self, run: str, times: Times) -> None:
        self.run, self.times = run, times
        self.numbers = itertools.count()

    def place(
        self, data: bytes, source: Path, names: Sequence[Path], times: Times | None = None
    ) -> None:
        """Writes `data` under all of `names`, with what belongs to `source`; or CannotWrite."""
        first, *others = names
        aside = self._aside(first.parent)
        try:
            like = source.stat()
            try:
                self._write(aside, data, source, like, times or self.times)
                os.replace(aside, first)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(aside)
                raise
            sync_folder(first.parent)
            self.link(first, others)
        except OSError as error:
            said = error.strerror or str(error)
            raise CannotWrite(f"{printable(str(first))}: cannot be replaced: {said}") from error

    def link(self, first: Path, others: Iterable[Path]) -> None:
        """Makes each of `others` a name of the file `first`."""
        for other in others:
            aside = self._aside(other.parent)
            os.link(first, aside)
            try:
                os.replace(aside, other)
            finally:  # where `other` was a name of the file already, both names would stay
                with contextlib.suppress(OSError):
                    os.unlink(aside)
            sync_folder(other.parent)

    def _aside(self, folder: Path) -> Path:
        return folder / f".retune-{self.run}-{next(self.numbers)}"

    def _write(
        self, aside: Path, data: bytes, source: Path, like: os.stat_result, times: Times
    ) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(aside, flags, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            keep_belongings(file.fileno(), source, like)
            os.utime(file.fileno(), ns=times.of(like))
            os.fsync(file.fileno())


def keep_belongings(handle: int, source: Path, like: os.stat_result) -> None:
    """Gives an open file the owner, mode and extended attributes of another; OSError if not all."""
    here = os.fstat(handle)
    if (here.st_uid, here.st_gid) != (like.st_uid, like.st_gid):
        os.fchown(handle, like.st_uid, like.st_gid)
    os.fchmod(handle, stat.S_IMODE(like.st_mode))  # after the owner, which takes set-user-ID away
    for name, value in attributes(source):
        try:
            os.setxattr(handle, name, value)
        except OSError as error:
            if _has(handle, name, value):
                continue
            raise OSError(error.errno, f"attribute {name}: {error.strerror}") from error


def attributes(path: Path) -> Iterator[tuple[str, bytes]]:
    """The extended attributes of a file, by name; none where the file system has none."""
    try:
        names = sorted(os.listxattr(path))
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.ENOSYS):
            return
        raise
    for name in names:
        yield name, os.getxattr(path, name)


def _has(handle: int, name: str, value: bytes) -> bool:
    try:
        return os.getxattr(handle, name) == value
    except OSError:
        return False


def clean(run: str, folders: Iterable[Path]) -> int:
    """Removes what a killed run left aside in some folders (not below them); how many files."""
    removed = 0
    for folder in sorted(set(folders)):
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if ASIDE.fullmatch(name) and name.startswith(f".retune-{run}-"):
                    os.unlink(folder / name)
                    removed += 1
    return removed


def folders_below(top: Path) -> Iterator[Path]:
    """A folder and all folders below it."""
    yield top
    for entry in walk(top):
        if entry.is_dir(follow_symlinks=False):
            yield Path(entry.path)
